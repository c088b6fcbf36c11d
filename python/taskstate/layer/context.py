"""What a layer is: hooks around an agent's turns, and the state that they keep."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from .. import core
from ..errors import ConfigurationError
from ..types import JSON, OUTCOMES, SCOPES, Budget, Outcome, Scope, Slot

if TYPE_CHECKING:
    from .functions import LayerFunction

BudgetOption: TypeAlias = "float | Budget | Literal['auto']"
"""Tokens wanted: at most a number, from min to max, or whatever is left over (`auto`)."""

InitErrorOption: TypeAlias = Literal["raise", "disable", "set_aside"]

DEFAULT_TIMEOUTS: Mapping[str, float] = {
    "init": 10_000,
    "recall": 5_000,
    "store": 30_000,
    "on_spawn": 10_000,
    "on_return": 10_000,
    "on_complete": 30_000,
    "dispose": 5_000,
}
"""Milliseconds that each hook may take where its layer sets no other limit."""

HOOKS = tuple(DEFAULT_TIMEOUTS)
"""The hooks that a layer may have, each called with keyword arguments."""


@dataclass(frozen=True)
class ExecutionContext:
    """Which execution a hook is called for.

    `depth` is 0 for a root and one more for each spawn; `max_state_bytes` is the largest state that will be kept.
    """

    execution_id: str
    thread_id: str
    resource_id: str | None = None
    depth: int = 0
    parent_id: str | None = None
    max_state_bytes: int = core.DEFAULT_MAX_BYTES


class ContextLayer:
    """A layer of an agent's context.

    Subclasses define the hooks they need as plain or async methods that take the keyword arguments
    they care for out of these; a hook that isn't defined is skipped:

    - `init(storage, scope_key, ctx)` gives `{"state": ...}`; `storage` is a ScopedStorage.
    - `recall(state, budget, query, log, ctx)` gives a text, or `{"items": [message, ...], "token_count": n}`
      and optionally `"state"`, or None for nothing to show.
    - `store(state, response, new_items, log, ctx)` and `on_complete(state, outcome, log, ctx)` give
      `{"state": ...}`, where None clears the state and its record, or None for no change.
    - `on_spawn(parent_state, child_ctx)` gives `{"child_state": ...}`; None is no child state.
    - `on_return(parent_state, child_state, inherited, result, child_log, child_ctx)` (`inherited` is what the child
      began with) gives `{"parent_state": ...}` and optionally `"result"` (the child's result from here on),
      and the paths of what both sides changed: `"conflicts"` where the child's change was kept, `"rejected"` where not.
    - `dispose(state)` lets go of what the layer holds.

    `check(state, name)` raises for a state that couldn't be loaded; it is called for one that is imported, which
    errors call `name`, and for what redaction made of one.

    `slot` orders recall, spawn and return (lower first); `scope` says who shares the state. A hook
    that takes longer than its limit in `timeouts` (milliseconds; 0 or less for none) is given up;
    a plain method can't be interrupted. `on_init_error` says what a failing init does: `raise`,
    `disable` the layer for the run, or `set_aside` the stored record and start anew.

    Hooks are given copies of the state and what they return is copied, unless a class sets `pure`: then
    it promises never to change a state in place, and to show nothing but its state. Subclasses don't
    inherit that promise. `fixed_keys` and `fixed_values` are keys and texts of the state that redaction leaves alone.

    Source: the original's layer lifecycle.
    """

    init: Callable[..., Any] | None = None
    recall: Callable[..., Any] | None = None
    store: Callable[..., Any] | None = None
    on_spawn: Callable[..., Any] | None = None
    on_return: Callable[..., Any] | None = None
    on_complete: Callable[..., Any] | None = None
    dispose: Callable[..., Any] | None = None

    functions: Sequence[LayerFunction] = ()
    pure: ClassVar[bool] = False
    fixed_keys: ClassVar[frozenset[str]] = frozenset()
    fixed_values: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "pure" not in cls.__dict__:
            cls.pure = False

    def __init__(
        self,
        id: str,
        *,
        name: str | None = None,
        slot: int = Slot.SCRATCHPAD,
        scope: Scope = "thread",
        budget: BudgetOption = "auto",
        timeouts: Mapping[str, float] | None = None,
        on_init_error: InitErrorOption = "raise",
    ) -> None:
        if not isinstance(id, str) or not id:
            raise ConfigurationError("a layer's id is a str of at least one character")
        if scope not in SCOPES:
            raise ConfigurationError(f"layer {id}: scope {scope!r} is none of {', '.join(SCOPES)}")
        if on_init_error not in get_args(InitErrorOption):
            raise ConfigurationError(f"layer {id}: on_init_error {on_init_error!r} is not raise, disable or set_aside")
        for hook, limit in (timeouts or {}).items():
            if hook not in DEFAULT_TIMEOUTS:
                raise ConfigurationError(f"layer {id}: timeout for {hook!r}, which is no hook")
            if isinstance(limit, bool) or not isinstance(limit, int | float) or math.isnan(limit):
                raise ConfigurationError(f"layer {id}: timeout for {hook} is no number of milliseconds")
        self.id = id
        self.name = name if name is not None else id
        self.slot = slot
        self.scope = scope
        self.budget = budget
        self.timeouts = {**DEFAULT_TIMEOUTS, **(timeouts or {})}
        self.on_init_error = on_init_error

    def check(self, state: JSON, name: str = "") -> None:
        """Raise for a state that couldn't be loaded; by default every state can."""

    def view(self, state: JSON) -> Any:
        """What code sees of a state as `run.context[id].view`; a copy of it, unless a layer has a type for it."""
        return core.clone(state, "", max_bytes=sys.maxsize)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} slot={self.slot} scope={self.scope}>"


def accepted_arguments(hook: Callable[..., Any]) -> frozenset[str] | None:
    """The keyword arguments that a hook takes, None for any."""
    parameters = inspect.signature(hook).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def check_outcome(outcome: str) -> Outcome:
    """The outcome itself; ConfigurationError for one that taskstate doesn't know."""
    if outcome not in OUTCOMES:
        raise ConfigurationError(f"outcome {outcome!r} is none of {', '.join(OUTCOMES)}")
    return outcome  # type: ignore[return-value]
