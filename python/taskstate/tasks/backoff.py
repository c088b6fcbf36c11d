"""How long to wait before the next attempt, and waiting."""

from __future__ import annotations

import asyncio
import random

from .definition import Limits


def delay_ms(limits: Limits, failures: int) -> int:
    """A random time up to a bound that doubles with each failure (full jitter), in milliseconds."""
    bound = min(limits.backoff_max_s, limits.backoff_s * 2.0 ** min(failures, 60))
    return round(random.uniform(0, bound) * 1000)  # noqa: S311 - it only spreads load


def jittered(seconds: float) -> float:
    """A time about `seconds`, so that many pollers don't keep step."""
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311


async def nap(event: asyncio.Event, seconds: float) -> None:
    """Return when the event is set, or after so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
