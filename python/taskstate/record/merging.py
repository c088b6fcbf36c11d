"""Bring what a child did with its copy of an agent state back into its parent's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from .. import core
from .types import AgentStateSnapshot


@dataclass(frozen=True)
class Merged:
    """The merged snapshot, and the paths of what both sides changed: where the child's change was kept, and where not.

    `rejected` are new ids that the parent had given to something else already.
    """

    snapshot: AgentStateSnapshot
    conflicts: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)


def merge(parent: AgentStateSnapshot, child: AgentStateSnapshot, base: AgentStateSnapshot) -> Merged:
    """The parent's agent state with what the child added, removed and changed relative to `base`, item by item.

    `base` is what the child began with. The three are valid snapshots; none is changed. An item that only one side
    changed is as that side left it. Where both did, each field is as the side left it that changed it, the child's
    change wins over the parent's, and the item's path is a conflict; so it is with the objective. Items keep their
    places, new ones follow in the child's order, and so does one that the parent removed and the child changed.
    """
    conflicts: list[str] = []
    rejected: list[str] = []
    merged: AgentStateSnapshot = {
        "schemaVersion": parent["schemaVersion"],
        "workItems": _merge_items("workItems", parent, child, base, conflicts, rejected),
        "decisions": _merge_items("decisions", parent, child, base, conflicts, rejected),
    }
    ours, theirs, begun = (side.get("objective") for side in (parent, child, base))
    if theirs != ours != begun != theirs:
        conflicts.append("objective")
    objective = ours if theirs == begun else theirs
    if objective is not None:
        merged["objective"] = objective
    return Merged(merged, conflicts, rejected)


def _merge_items(
    kind: Literal["workItems", "decisions"],
    parent: AgentStateSnapshot,
    child: AgentStateSnapshot,
    base: AgentStateSnapshot,
    conflicts: list[str],
    rejected: list[str],
) -> list[Any]:
    items, theirs, begun = ({item["id"]: item for item in _items(side, kind)} for side in (parent, child, base))
    for item_id, before in begun.items():
        now, after = items.get(item_id), theirs.get(item_id)
        if after in (before, now):
            continue
        if now != before:
            conflicts.append(core.format_path(kind, [item_id]))
        if after is None:
            del items[item_id]
        else:
            changed = {name: value for name, value in after.items() if value != before[name]}
            items[item_id] = after if now is None else {**now, **changed}
    for item_id, added in theirs.items():
        if item_id in begun or items.setdefault(item_id, added) == added:
            continue
        if items[item_id]["content"] != added["content"]:
            rejected.append(core.format_path(kind, [item_id]))
        else:
            conflicts.append(core.format_path(kind, [item_id]))
            items[item_id] = added
    return list(items.values())


def _items(snapshot: AgentStateSnapshot, kind: Literal["workItems", "decisions"]) -> Sequence[Mapping[str, str]]:
    return cast(Sequence[Mapping[str, str]], snapshot[kind])
