"""The hot paths: check, clone, compare, merge, cap and render, and the record beneath an AgentState.

Plain functions of plain JSON data, safe to call from any thread. They never change their
arguments. `Record` is what `taskstate.record.AgentState` keeps its content in. `BACKEND` tells
whether the native core or its pure-Python twin is in use.
"""

from __future__ import annotations

from typing import Any

from ..types import MergeMode
from . import twin
from .block import render
from .faults import format_path
from .limits import DEFAULT_MAX_BYTES, MAX_CHECKPOINTS, MAX_DEPTH, OUTCOME_KEY, cap, empty_state
from .tokens import CountTokens, estimate_tokens
from .twin import BACKEND, Record, check_state, clone, equal, measure, validate


def merge(
    parent: Any,
    child: Any,
    *,
    mode: MergeMode = "shallow",
    execution_id: str = "",
    base: Any = None,
    conflicts: list[str] | None = None,
) -> dict[str, Any]:
    """The task state of a parent after its child returned; shares unchanged values with both.

    A parent of None counts as empty. Checkpoints are joined and the newest 50 kept, files joined
    without repeats, `data` by `mode`:

    - `shallow`: key by key, the child's value wins;
    - `namespace`: the child's data goes under `execution_id`;
    - `three_way`: what the child added, changed or removed relative to `base`, the state that it
      inherited (None counts as empty). The path of each place that the parent changed otherwise is
      appended to `conflicts`; the child's value is kept there. Other keys of the parent stay.

    Raises InvalidStateError where one of them is no task state. Source: the task-state
    specification, onReturn; `three_way` is this library's own.
    """
    merged, found = twin.merge(parent, child, mode=mode, execution_id=execution_id, base=base)
    if conflicts is not None:
        conflicts.extend(found)
    return merged


__all__ = [
    "BACKEND",
    "DEFAULT_MAX_BYTES",
    "MAX_CHECKPOINTS",
    "MAX_DEPTH",
    "OUTCOME_KEY",
    "CountTokens",
    "Record",
    "cap",
    "check_state",
    "clone",
    "empty_state",
    "equal",
    "estimate_tokens",
    "format_path",
    "measure",
    "merge",
    "render",
    "validate",
]
