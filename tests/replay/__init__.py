"""Replays recorded cases of the originals over the public contract.

`replay(kind, case_input)` does what the case describes and gives the outcome in the notation of the
recording, so that the two can be compared as they stand. A kind is the name of a file of `vectors/task_state`,
or, with its folder, of another one (`agent_state/create`).
"""

from __future__ import annotations

from typing import Any

from . import agent_state, fanout, hooks, lifecycle, storage
from .recordings import folder_of

_KINDS = {
    "recall": hooks.recall,
    "recall_integer_keys": hooks.recall,
    "recall_numbers": hooks.recall,
    "recall_surrogates": hooks.recall,
    "store": hooks.store,
    "on_spawn": hooks.on_spawn,
    "on_complete": hooks.on_complete,
    "on_return": hooks.on_return,
    "on_return_integer_keys": hooks.on_return,
    "on_return_proto": hooks.by_op,
    "growth": hooks.growth,
    "tools": hooks.tools,
    "budget": hooks.budget,
    "storage_batch": storage.batch,
    "lifecycle": lifecycle.run,
    "fanout": fanout.run,
    "agent_state/create": agent_state.create,
    "agent_state/whitespace": agent_state.create,
    "agent_state/restore": agent_state.restore,
    "agent_state/summary": agent_state.summary,
    "agent_state/operations": agent_state.operations,
    "agent_state/json_text": agent_state.json_text,
    "agent_state/restore_text": agent_state.restore_text,
}


def replay(kind: str, case_input: Any) -> Any:
    """What this library makes of a recorded case's input."""
    return _KINDS[kind](case_input)


def kinds(folder: str = "task_state") -> list[str]:
    """The kinds of recorded cases of a folder that can be replayed."""
    return sorted(kind for kind in _KINDS if folder_of(kind) == folder)
