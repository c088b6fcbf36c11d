"""Bring what a child did with its copy of an agent state back into its parent's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from .. import core
from .types import AgentStateSnapshot

_Item: TypeAlias = Mapping[str, str]


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
    places, new ones follow in the child's order.
    """
    merged = Merged(cast(AgentStateSnapshot, {"schemaVersion": core.SCHEMA_VERSION}))
    for kind in ("workItems", "decisions"):
        now, mine, inherited = (cast(Any, side)[kind] for side in (parent, child, base))
        cast(Any, merged.snapshot)[kind] = _merge_items(kind, now, mine, inherited, merged)
    now, mine, inherited = (side.get("objective") for side in (parent, child, base))
    if mine not in (inherited, now) and now != inherited:
        merged.conflicts.append("objective")
    objective = now if mine == inherited else mine
    if objective is not None:
        merged.snapshot["objective"] = objective
    return merged


def _merge_items(
    kind: str, parent: Sequence[_Item], child: Sequence[_Item], base: Sequence[_Item], merged: Merged
) -> list[_Item]:
    items, mine, inherited = ({item["id"]: item for item in side} for side in (parent, child, base))
    for item_id, begun in inherited.items():
        changed, now = mine.get(item_id), items.get(item_id)
        if changed in (begun, now):
            continue
        if now != begun:
            merged.conflicts.append(core.format_path(kind, [item_id]))
        if changed is None:
            del items[item_id]
        else:
            ours = {name: value for name, value in changed.items() if value != begun[name]}
            items[item_id] = changed if now is None else {**now, **ours}
    for item_id, added in mine.items():
        if item_id in inherited or items.setdefault(item_id, added) == added:
            continue
        if items[item_id]["content"] != added["content"]:
            merged.rejected.append(core.format_path(kind, [item_id]))
        else:
            merged.conflicts.append(core.format_path(kind, [item_id]))
            items[item_id] = added
    return list(items.values())
