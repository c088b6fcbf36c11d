"""What bounds a state, and what both twins take one to be before anything is in it.

The native core has its own copies of the numbers; a test compares them.
"""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 200
"""Most containers that may be nested in one another, the root included."""

DEFAULT_MAX_BYTES = 64 * 1024 * 1024
"""Largest value accepted where no other limit is set, in bytes as `measure` counts them."""

MAX_CHECKPOINTS = 50
"""How many checkpoints a state keeps."""

OUTCOME_KEY = "__outcome"
"""The key of `data` that holds how the last execution ended; it never crosses a three-way merge."""


AGENT_STATE_VERSION = 1
"""The version of an agent state's snapshots."""

BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""The characters that an id or a content can't consist of alone: the white space of ECMAScript."""


def cap(checkpoints: list[Any], limit: int = MAX_CHECKPOINTS) -> list[Any]:
    """A new list of the newest `limit` checkpoints, oldest first."""
    return checkpoints[-limit:] if limit > 0 else []


def empty_state() -> dict[str, Any]:
    """A task state that holds nothing yet."""
    return {"checkpoints": [], "files": [], "data": {}}
