"""A naive reading of the `three_way` rules, to hold the twins against."""

from __future__ import annotations

import json
from typing import Any

ABSENT: Any = object()
Path = tuple[str, ...]


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON data, as their text with sorted keys tells."""
    if left is ABSENT or right is ABSENT:
        return left is right
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def merged_value(base: Any, parent: Any, child: Any, path: Path, conflicts: list[Path]) -> Any:
    """What the parent holds at `path` after the child's return."""
    if same(child, base):
        return parent
    if type(child) is not dict:
        if not same(parent, base) and not same(parent, child):
            conflicts.append(path)
        return child
    before = base if type(base) is dict else {}
    result = dict(parent) if type(parent) is dict else {}
    now = dict(result)
    inside: list[Path] = []
    for key in [*child, *(key for key in before if key not in child)]:
        value = merged_value(
            before.get(key, ABSENT), now.get(key, ABSENT), child.get(key, ABSENT), (*path, key), inside
        )
        if value is not ABSENT:
            result[key] = value
        else:
            result.pop(key, None)
    if type(parent) is dict or same(parent, base):
        conflicts += inside
    elif parent is ABSENT and type(base) is dict and not result:
        return ABSENT
    else:
        conflicts.append(path)
    return result


def merged_data(
    base: dict[str, Any], parent: dict[str, Any], child: dict[str, Any]
) -> tuple[dict[str, Any], list[Path]]:
    """The parent's `data` after the child's return, and where both had changed one place."""
    conflicts: list[Path] = []
    crossing = [{key: value for key, value in data.items() if key != "__outcome"} for data in (base, child)]
    data = merged_value(crossing[0], parent, crossing[1], (), conflicts)
    return data, conflicts


def joined(base: list[Any], parent: list[Any], child: list[Any]) -> list[Any]:
    """The parent's checkpoints with those that the child appended, the newest 50."""
    overlaps = [k for k in range(min(len(base), len(child)) + 1) if same(base[len(base) - k :], child[:k])]
    return (parent + child[max(overlaps) :])[-50:]
