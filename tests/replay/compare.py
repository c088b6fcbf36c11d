"""Compares what a replay gave with what was recorded."""

from __future__ import annotations

from typing import Any

_FAILURES = ("error", "name")
_IGNORED = ("thrownSynchronously",)
_ROWS = {"tools": 2, "lifecycle": 4, "fanout": 2, "growth": 2, "storage_batch": 2}
"""How deep the dicts of a kind are the recording's own, whose key order means nothing."""


def difference(kind: str, expected: Any, given: Any) -> str | None:
    """Where the two first differ, None where they agree.

    A name of an error stands for any typed error; its text counts only where the case itself gave it.
    Of what a replay gives, only what the recording has is looked at.
    """
    return _difference(expected, given, _ROWS.get(kind, 0), "")


def _difference(expected: Any, given: Any, rows: int, path: str) -> str | None:
    if expected == {"$": "undefined"}:
        expected = None
    if given == {"$": "undefined"}:
        given = None
    if type(expected) is dict and type(given) is dict:
        return _dicts(expected, given, rows, path)
    if type(expected) is list and type(given) is list:
        if len(expected) != len(given):
            return f"{path}: {len(expected)} entries recorded, {len(given)} given"
        pairs = zip(expected, given, strict=True)
        found = (_difference(*pair, rows - 1, f"{path}[{index}]") for index, pair in enumerate(pairs))
        return next((one for one in found if one), None)
    if type(expected) in (int, float) and type(given) in (int, float) and expected == given:
        return None
    if type(expected) is not type(given) or expected != given:
        return f"{path}: {_short(expected)} recorded, {_short(given)} given"
    return None


def _dicts(expected: dict[str, Any], given: dict[str, Any], rows: int, path: str) -> str | None:
    if any(type(expected.get(name)) is str and name in given and len(expected) <= 6 for name in _FAILURES):
        return _failures(expected, given, rows, path)
    wanted = [key for key in expected if key not in _IGNORED]
    if rows < 0 and wanted != list(given):
        return f"{path}: keys {wanted} recorded, {list(given)} given"
    missing = [key for key in wanted if key not in given]
    if missing:
        return f"{path}: {missing[0]} recorded, not given"
    found = (_difference(expected[key], given[key], rows - 1, f"{path}.{key}") for key in wanted)
    return next((one for one in found if one), None)


def _failures(expected: dict[str, Any], given: dict[str, Any], rows: int, path: str) -> str | None:
    for key, wanted in expected.items():
        if key in _FAILURES or key in _IGNORED:
            continue
        if key == "issues":
            paths = [[issue["path"] for issue in side.get("issues", [])] for side in (expected, given)]
            if paths[0] != paths[1]:
                return f"{path}: faults at {paths[0]} recorded, {paths[1]} given"
        elif key not in given:
            return f"{path}: {key} recorded, not given"
        elif difference := _difference(wanted, given[key], rows - 1, f"{path}.{key}"):
            return difference
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
