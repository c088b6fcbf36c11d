"""The one door through which fresh identifiers enter."""

from __future__ import annotations

import hashlib
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


def derived_id(base: str, name: str) -> str:
    """An identifier that is always the same for this base and name; it sorts near a base that is an ordered one."""
    digest = hashlib.sha256(f"{base}/{name}".encode("utf-8", "surrogatepass")).digest()
    value = int.from_bytes(digest[:16])
    try:
        time_part = uuid.UUID(base).int >> 80
    except ValueError:
        time_part = value >> 80
    value = (
        time_part << 80 | 7 << 76 | (value >> 64 & 0xFFF) << 64 | 0b10 << _RANDOM_BITS | value & (1 << _RANDOM_BITS) - 1
    )
    return str(uuid.UUID(int=value))
