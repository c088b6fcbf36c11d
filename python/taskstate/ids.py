"""The one door through which fresh identifiers enter."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TypeAlias

IdFactory: TypeAlias = Callable[[], str]


def random_id() -> str:
    """A new identifier: 32 hexadecimal digits, 122 of their bits random."""
    return uuid.uuid4().hex
