"""The one door through which time enters."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]
"""Gives the time as whole milliseconds since the epoch (UTC)."""


def system_clock() -> int:
    """The machine's clock, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
