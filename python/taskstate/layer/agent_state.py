"""The agent-state layer: objective, work items and decisions of a thread."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from .. import core
from ..errors import AgentStateError
from ..record import AgentState, create_agent_state, restore_agent_state
from ..record.merging import merge
from ..record.operations import OPERATIONS
from ..record.render import render
from ..storage import STATE, ScopedStorage
from ..types import JSON, STATUSES, Scope, Slot
from .agent_functions import AGENT_STATE_FUNCTIONS
from .block import BlockLayer
from .context import BudgetOption, InitErrorOption


def agent_state_layer(
    *,
    count_tokens: core.CountTokens | None = None,
    id: str = "agent-state",
    name: str = "Agent State",
    slot: int = Slot.SCRATCHPAD + 20,
    scope: Scope = "thread",
    budget: BudgetOption | None = None,
    timeouts: Mapping[str, float] | None = None,
    on_init_error: InitErrorOption = "raise",
    role: str = "developer",
) -> AgentStateLayer:
    """A layer that keeps where a thread's declared work stands; its state is the snapshot of an AgentState.

    The model reads it, adds work items and decisions and sets statuses by the layer's four tools. Code has these
    as async functions of `run.context["agent-state"]`, called with keyword arguments, such as
    `add_work_item(id=..., content=...)`, and beside them `set_objective`, `set_work_item_content`,
    `remove_work_item`, `remove_decision` and `apply`. Each change is durable when its call returns.
    `run.context["agent-state"].view` is an AgentState of what is recorded now: a copy, for reading.

    What a child added, removed and changed joins its parent's state when it returns, item by item. Where both sides
    changed one item, the later merge wins; a new id that the parent gave to something else meanwhile stays the
    parent's. Both go to diagnostics as MergeConflict.

    `count_tokens` counts a text's tokens for the budget (default: UTF-16 code units / 4, rounded up);
    `budget` is 100 to 800 tokens; `role` is that of the message that shows the block, which is there as soon
    as something is recorded. The other options are those of ContextLayer. This library's own.
    """
    return AgentStateLayer(
        id,
        name=name,
        slot=slot,
        scope=scope,
        budget={"min": 100, "max": 800} if budget is None else budget,
        timeouts=timeouts,
        on_init_error=on_init_error,
        count_tokens=count_tokens,
        role=role,
    )


class AgentStateLayer(BlockLayer):
    """See `agent_state_layer`. Every hook but `init` is a plain function of its arguments."""

    pure: ClassVar[bool] = True
    fixed_keys: ClassVar[frozenset[str]] = frozenset(
        {"schemaVersion", "workItems", "decisions", "objective", "id", "content", "status", "op", "args"}
    )
    fixed_values: ClassVar[frozenset[str]] = frozenset({*STATUSES, *OPERATIONS})
    functions = AGENT_STATE_FUNCTIONS

    def view(self, state: JSON) -> AgentState:
        """An AgentState of its own."""
        return _state_of(state)

    def check(self, state: JSON, name: str = "") -> None:
        """Raise AgentStateError for what is no snapshot of an agent state."""
        try:
            restore_agent_state(state)
        except AgentStateError as error:
            if name:
                error.add_note(f"in {name}")
            raise

    async def init(self, *, storage: ScopedStorage, **_: Any) -> dict[str, JSON]:
        """Load the thread's state; what is no snapshot is refused."""
        return {"state": _state_of(await storage.get(STATE)).snapshot()}

    def recall(self, *, state: JSON, budget: float, **_: Any) -> dict[str, JSON] | None:
        """One message with the block, within `budget` tokens; None where nothing is recorded."""
        record = _state_of(state)
        if not len(record) and not record.list_decisions() and record.objective is None:
            return None
        return self._shown(*render(record, budget, self.count_tokens))

    def on_spawn(self, *, parent_state: JSON, **_: Any) -> dict[str, JSON]:
        """A deep copy for the child."""
        return {"child_state": core.clone(parent_state, "", max_bytes=sys.maxsize), "items": []}

    def on_return(self, *, child_state: JSON, parent_state: JSON, inherited: JSON = None, **_: Any) -> dict[str, JSON]:
        """Merge what the child added, removed and changed relative to `inherited`."""
        sides = (_state_of(side).snapshot() for side in (parent_state, child_state, inherited))
        merged = merge(*sides)
        return {"parent_state": merged.snapshot, "conflicts": merged.conflicts, "rejected": merged.rejected}


def _state_of(snapshot: JSON) -> AgentState:
    return create_agent_state() if snapshot is None else restore_agent_state(snapshot)
