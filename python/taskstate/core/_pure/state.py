"""Merge at a child boundary and cap checkpoints: the reference for `rust/src/state`."""

from __future__ import annotations

import math
from typing import Any

from ..faults import format_path, mode_fault, state_fault, value_fault
from ..limits import MAX_DEPTH, OUTCOME_KEY, cap, empty_state
from .value import Fault, same, validate

_FIELDS = (("checkpoints", list, "a list"), ("files", list, "a list"), ("data", dict, "a dict"))
_ABSENT: Any = object()
_KEEP: Any = object()


def check_state(state: Any, name: str = "") -> None:
    """Check that a value is a task state: a dict with list `checkpoints`, list `files` and dict `data`.

    A checkpoint is a dict whose `timestamp` and `depth` are finite numbers, a file is a str; other keys
    are allowed, and values in `data` are not looked at. Raises InvalidStateError with the path below `name`.
    """
    check_shape(state, name)
    check_checkpoints(state["checkpoints"], name)
    for index, file in enumerate(state["files"]):
        if type(file) is not str:
            raise state_fault("a str", name, ("files", index), file)


def check_shape(state: Any, name: str) -> None:
    """Whether the three fields of a task state are there, each of its type."""
    if type(state) is not dict:
        raise state_fault("a task state (a dict)", name, (), state)
    for field, kind, wanted in _FIELDS:
        if field not in state:
            raise state_fault("missing", name, (field,), None)
        if type(state[field]) is not kind:
            raise state_fault(wanted, name, (field,), state[field])


def check_checkpoints(checkpoints: list[Any], name: str) -> None:
    """Whether each checkpoint is a dict with a finite `timestamp` and `depth`."""
    for index, checkpoint in enumerate(checkpoints):
        if type(checkpoint) is not dict:
            raise state_fault("a dict", name, ("checkpoints", index), checkpoint)
        for field in ("timestamp", "depth"):
            if field not in checkpoint:
                raise state_fault("missing", name, ("checkpoints", index, field), None)
            if not _is_number(checkpoint[field]):
                raise state_fault("a finite number", name, ("checkpoints", index, field), checkpoint[field])


def merge(
    parent: Any, child: Any, *, mode: str = "shallow", execution_id: str = "", base: Any = None
) -> tuple[dict[str, Any], list[str]]:
    """The merged state and the paths of conflicts; see `taskstate.core.merge`."""
    if not isinstance(mode, str) or mode not in ("shallow", "namespace", "three_way"):
        raise mode_fault(mode)
    if type(execution_id) is not str:
        raise state_fault("a str", "execution_id", (), execution_id)
    validate(execution_id, "execution_id")
    check_state(child, "child")
    if parent is None:
        parent = empty_state()
    else:
        check_state(parent, "parent")
    if mode == "three_way":
        if base is None:
            base = empty_state()
        else:
            check_state(base, "base")
        return _three_way(base, parent, child)
    data = dict(parent["data"])
    if mode == "shallow":
        data.update(child["data"])
    else:
        data[execution_id] = child["data"]
    merged = {
        "checkpoints": cap(parent["checkpoints"] + child["checkpoints"]),
        "files": list(dict.fromkeys(parent["files"] + child["files"])),
        "data": data,
    }
    return merged, []


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _three_way(base: Any, parent: Any, child: Any) -> tuple[dict[str, Any], list[str]]:
    conflicts: list[str] = []
    inherited = {key: value for key, value in base["data"].items() if key != OUTCOME_KEY}
    final = {key: value for key, value in child["data"].items() if key != OUTCOME_KEY}
    try:
        data = _merge_value(inherited, parent["data"], final, ["data"], conflicts)
        kept = _overlap(base["checkpoints"], child["checkpoints"])
    except Fault:
        raise value_fault("too_deep", "child", (), child) from None
    known = set(base["files"])
    known.update(parent["files"])
    files = list(parent["files"])
    for file in child["files"]:
        if file not in known:
            known.add(file)
            files.append(file)
    merged = dict(parent)
    merged["checkpoints"] = cap(parent["checkpoints"] + child["checkpoints"][kept:])
    merged["files"] = files
    merged["data"] = parent["data"] if data is _KEEP else data
    return merged, conflicts


def _merge_value(base: Any, parent: Any, child: Any, path: list[Any], conflicts: list[str] | None) -> Any:
    """What the parent holds after the child's change of one place; `_KEEP` where the child changed nothing.

    `conflicts` is None below a place that is a conflict already.
    """
    if type(child) is not dict:
        if child is base or (base is not _ABSENT and child is not _ABSENT and same(child, base, len(path))):
            return _KEEP
        if conflicts is not None and not _agree(parent, base, path) and not _agree(parent, child, path):
            conflicts.append(format_path("", path))
        return child
    if child is base:
        return _KEEP
    if len(path) >= MAX_DEPTH:
        raise Fault("too_deep")
    replaced = type(parent) is not dict and not _agree(parent, base, path)
    edits = _edits(base, parent, child, path, None if replaced else conflicts)
    if not edits and type(base) is dict:
        return _KEEP
    merged = dict(parent) if type(parent) is dict else {}
    for key, value in edits:
        if value is _ABSENT:
            merged.pop(key, None)
        else:
            merged[key] = value
    if replaced:
        if parent is _ABSENT and type(base) is dict and not merged:
            return _ABSENT
        if conflicts is not None:
            conflicts.append(format_path("", path))
    return merged


def _edits(
    base: Any, parent: Any, child: dict[str, Any], path: list[Any], conflicts: list[str] | None
) -> list[tuple[str, Any]]:
    """The keys of a dict that the child added, changed or removed, with what they become."""
    before = base if type(base) is dict else {}
    now = parent if type(parent) is dict else {}
    edits = []
    for key, value in child.items():
        changed = _merge_value(before.get(key, _ABSENT), now.get(key, _ABSENT), value, [*path, key], conflicts)
        if changed is not _KEEP:
            edits.append((key, changed))
    for key, value in before.items():
        if key not in child:
            changed = _merge_value(value, now.get(key, _ABSENT), _ABSENT, [*path, key], conflicts)
            edits.append((key, changed))
    return edits


def _agree(left: Any, right: Any, path: list[Any]) -> bool:
    if left is _ABSENT or right is _ABSENT:
        return left is right
    return same(left, right, len(path))


def _overlap(base: list[Any], child: list[Any]) -> int:
    """The largest k such that the last k of `base` are the first k of `child` (Knuth-Morris-Pratt)."""
    if len(base) <= len(child) and all(same(item, other, 2) for item, other in zip(child, base, strict=False)):
        return len(base)
    if not child:
        return 0
    fallback = [0] * len(child)
    length = 0
    for index in range(1, len(child)):
        while length and not same(child[index], child[length], 2):
            length = fallback[length - 1]
        if same(child[index], child[length], 2):
            length += 1
        fallback[index] = length
    length = 0
    for item in base:
        while length and (length == len(child) or not same(item, child[length], 2)):
            length = fallback[length - 1]
        if same(item, child[length], 2):
            length += 1
    return length
