"""Replays recorded cases of the original over the public contract.

`replay(kind, case_input)` does what the case describes and gives the outcome in the notation of the
recording, so that the two can be compared as they stand.
"""

from __future__ import annotations

from typing import Any

from . import fanout, hooks, lifecycle, storage

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
}


def replay(kind: str, case_input: dict[str, Any]) -> Any:
    """What this library makes of a recorded case's input."""
    return _KINDS[kind](case_input)


def kinds() -> list[str]:
    """The kinds of recorded cases that can be replayed."""
    return sorted(_KINDS)
