"""The one door through which fresh identifiers enter."""

from __future__ import annotations

import secrets
import threading
import time
import uuid
from collections.abc import Callable
from typing import TypeAlias

IdFactory: TypeAlias = Callable[[], str]


def random_id() -> str:
    """A new identifier: 32 hexadecimal digits, 122 of their bits random."""
    return uuid.uuid4().hex


_COUNTER_BITS = 12
_RANDOM_BITS = 62
_last_guard = threading.Lock()
_last = 0


def ordered_id() -> str:
    """A new identifier that sorts after those that this process made before: a UUID of version 7 (RFC 9562).

    48 bits are the time in milliseconds, 12 count within a millisecond, 62 are random.
    """
    global _last  # noqa: PLW0603 - what was given out last, for the whole process
    now = time.time_ns() // 1_000_000 << _COUNTER_BITS
    with _last_guard:
        _last = now = max(now, _last + 1)
    milliseconds, count = now >> _COUNTER_BITS, now & ((1 << _COUNTER_BITS) - 1)
    value = milliseconds << 80 | 7 << 76 | count << 64 | 0b10 << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return str(uuid.UUID(int=value))
