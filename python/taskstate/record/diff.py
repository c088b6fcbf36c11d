"""What changed between two agent states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .state import AgentState, restore_agent_state
from .types import AgentStateDiff, AgentStateSnapshot, DiffChanges, DiffItem


def diff(before: AgentStateSnapshot | AgentState, after: AgentStateSnapshot | AgentState) -> AgentStateDiff:
    """What `after` has more, has no longer, and has otherwise than `before`, as plain data.

    `added` and `removed` hold whole items, `changed` for each item in both the fields that differ. The order of
    items doesn't count. Snapshots are checked as `restore_agent_state` does. This library's own.
    """
    old, new = snapshot_of(before), snapshot_of(after)
    work, decisions = _Compared(old["workItems"], new["workItems"]), _Compared(old["decisions"], new["decisions"])
    changed: DiffChanges = {"workItems": work.changed, "decisions": decisions.changed}
    if old.get("objective") != new.get("objective"):
        changed["objective"] = {"before": old.get("objective"), "after": new.get("objective")}
    return {
        "added": {"workItems": work.added, "decisions": decisions.added},
        "removed": {"workItems": work.removed, "decisions": decisions.removed},
        "changed": changed,
    }


def snapshot_of(state: AgentStateSnapshot | AgentState) -> AgentStateSnapshot:
    """A checked snapshot of an agent state, or of a snapshot that needn't be trusted."""
    return (state if isinstance(state, AgentState) else restore_agent_state(state)).snapshot()


class _Compared:
    """Two lists of items, compared by id."""

    def __init__(self, before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> None:
        old = {item["id"]: item for item in before}
        new = {item["id"]: item for item in after}
        self.added: list[Any] = [item for item_id, item in new.items() if item_id not in old]
        self.removed: list[Any] = [item for item_id, item in old.items() if item_id not in new]
        self.changed: list[DiffItem] = [
            _change(old[item_id], item) for item_id, item in new.items() if item_id in old and old[item_id] != item
        ]


def _change(before: Mapping[str, Any], after: Mapping[str, Any]) -> DiffItem:
    fields = [field for field in after if before[field] != after[field]]
    return {
        "id": after["id"],
        "before": {field: before[field] for field in fields},
        "after": {field: after[field] for field in fields},
    }
