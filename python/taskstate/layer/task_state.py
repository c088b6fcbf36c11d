"""The task-state layer: checkpoints, file artifacts and data of a thread."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from .. import core
from ..clock import Clock, system_clock
from ..errors import ConfigurationError
from ..storage import STATE, ScopedStorage
from ..types import JSON, MERGE_MODES, MergeMode, Scope, Slot
from .block import BlockLayer
from .context import BudgetOption, ExecutionContext, InitErrorOption, check_outcome
from .task_functions import TASK_STATE_FUNCTIONS


def task_state(
    *,
    merge_data: MergeMode = "shallow",
    count_tokens: core.CountTokens | None = None,
    id: str = "task-state",
    name: str = "Task State",
    slot: int = Slot.SCRATCHPAD + 10,
    scope: Scope = "thread",
    budget: BudgetOption | None = None,
    timeouts: Mapping[str, float] | None = None,
    on_init_error: InitErrorOption = "raise",
    role: str = "developer",
    clock: Clock = system_clock,
) -> TaskStateLayer:
    """A layer that keeps a thread's task state: `{"checkpoints": [...], "files": [...], "data": {...}}`.

    `merge_data` says how a child's data joins its parent's when it returns:

    - `shallow`: key by key, the child's value wins. A child that never touched a key still
      writes back what it inherited.
    - `namespace`: the child's whole data goes under its execution id.
    - `three_way`: only what the child added, changed or removed since it was spawned. Where both
      sides changed one place, the later merge wins and the conflict goes to diagnostics.

    `count_tokens` counts a text's tokens for the budget (default: UTF-16 code units / 4, rounded up);
    `budget` is 100 to 800 tokens; `role` is that of the message that shows the block; `clock`
    gives milliseconds since the epoch. The other options are those of ContextLayer.

    Source: the task-state specification.
    """
    return TaskStateLayer(
        id,
        name=name,
        slot=slot,
        scope=scope,
        budget={"min": 100, "max": 800} if budget is None else budget,
        timeouts=timeouts,
        on_init_error=on_init_error,
        merge_data=merge_data,
        count_tokens=count_tokens,
        role=role,
        clock=clock,
    )


class TaskStateLayer(BlockLayer):
    """See `task_state`. Every hook but `init` is a plain function of its arguments and the clock."""

    pure: ClassVar[bool] = True
    fixed_keys: ClassVar[frozenset[str]] = frozenset(
        {"checkpoints", "files", "data", "timestamp", "depth", core.OUTCOME_KEY}
    )
    functions = TASK_STATE_FUNCTIONS

    def __init__(
        self,
        id: str,
        *,
        merge_data: MergeMode,
        count_tokens: core.CountTokens | None,
        role: str,
        clock: Clock,
        **options: Any,
    ) -> None:
        super().__init__(id, count_tokens=count_tokens, role=role, **options)
        if merge_data not in MERGE_MODES:
            raise ConfigurationError(f"layer {id}: merge_data {merge_data!r} is none of {', '.join(MERGE_MODES)}")
        self.merge_data = merge_data
        self.clock = clock

    def check(self, state: JSON, name: str = "") -> None:
        """Raise InvalidStateError for what is no task state once absent fields have their defaults."""
        core.check_state({**core.empty_state(), **state} if type(state) is dict else state, name)

    async def init(self, *, storage: ScopedStorage, **_: Any) -> dict[str, JSON]:
        """Load the thread's state; what is missing takes its default, what is no task state is refused."""
        stored = await storage.get(STATE)
        state = core.empty_state() if stored is None else stored
        if type(state) is dict and not state.keys() >= core.empty_state().keys():
            state = {**core.empty_state(), **state}
        core.check_state(state)
        return {"state": state}

    def recall(self, *, state: JSON, budget: float, **_: Any) -> dict[str, JSON] | None:
        """One message with the block, trimmed to `budget` tokens; None where there is no state."""
        if state is None:
            return None
        return self._shown(*core.render(state, budget, self.count_tokens))

    def store(self, *, state: JSON, ctx: ExecutionContext, **_: Any) -> dict[str, JSON]:
        """Append a checkpoint with the time and the depth of the execution."""
        return {"state": self._with_checkpoint(core.empty_state() if state is None else state, ctx.depth)}

    def on_spawn(self, *, parent_state: JSON, child_ctx: ExecutionContext, **_: Any) -> dict[str, JSON]:
        """A deep copy for the child."""
        core.check_state(parent_state)
        return {"child_state": _copy(parent_state), "items": []}

    def on_return(
        self,
        *,
        child_state: JSON,
        parent_state: JSON,
        child_ctx: ExecutionContext,
        inherited: JSON = None,
        **_: Any,
    ) -> dict[str, JSON]:
        """Merge the child's checkpoints, files and data into the parent; `inherited` is the base of `three_way`."""
        conflicts: list[str] = []
        state = core.merge(
            parent_state,
            child_state,
            mode=self.merge_data,
            execution_id=child_ctx.execution_id,
            base=inherited,
            conflicts=conflicts,
        )
        return {"parent_state": state, "conflicts": conflicts} if conflicts else {"parent_state": state}

    def on_complete(self, *, state: JSON, outcome: str, ctx: ExecutionContext, **_: Any) -> dict[str, JSON] | None:
        """Record the outcome in `data.__outcome`, with a last checkpoint."""
        outcome = check_outcome(outcome)
        if state is None:
            return None
        completed = self._with_checkpoint(state, ctx.depth)
        completed["data"] = {**state["data"], core.OUTCOME_KEY: outcome}
        return {"state": completed}

    def _with_checkpoint(self, state: JSON, depth: int) -> dict[str, JSON]:
        core.check_state(state)
        now = self.clock()
        if type(now) is not int or not 0 <= now < 2**63:
            raise ConfigurationError(f"the clock gave {type(now).__name__}, not milliseconds since the epoch")
        return {**state, "checkpoints": core.cap([*state["checkpoints"], {"timestamp": now, "depth": depth}])}


def _copy(state: JSON) -> JSON:
    """A deep copy of a state that is within its limit already."""
    return core.clone(state, "", max_bytes=sys.maxsize)
