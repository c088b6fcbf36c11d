"""The hot paths: check, clone, compare, merge, cap and render.

Plain functions of plain JSON data, safe to call from any thread. They never change their
arguments. `BACKEND` tells whether the native core or its pure-Python twin is in use.
"""

from __future__ import annotations

from typing import Any

from .block import CountTokens, estimate_tokens, render
from .faults import MAX_DEPTH, format_path
from .twin import BACKEND, check_state, clone, equal, measure, merge, validate

DEFAULT_MAX_BYTES = 64 * 1024 * 1024
"""Largest value accepted where no other limit is set, in bytes as `measure` counts them."""

MAX_CHECKPOINTS = 50
"""How many checkpoints a state keeps."""


def cap(checkpoints: list[Any], limit: int = MAX_CHECKPOINTS) -> list[Any]:
    """A new list of the newest `limit` checkpoints, oldest first."""
    return checkpoints[-limit:] if limit > 0 else []


__all__ = [
    "BACKEND",
    "DEFAULT_MAX_BYTES",
    "MAX_CHECKPOINTS",
    "MAX_DEPTH",
    "CountTokens",
    "cap",
    "check_state",
    "clone",
    "equal",
    "estimate_tokens",
    "format_path",
    "measure",
    "merge",
    "render",
    "validate",
]
