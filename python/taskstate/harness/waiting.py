"""Wait for tasks to their end, whatever cancellations come meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any


async def ended(tasks: Iterable[asyncio.Future[Any]]) -> asyncio.CancelledError | None:
    """Wait until every task has ended; gives the last cancellation that came while waiting."""
    cancelled: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as interruption:
            cancelled = interruption
    return cancelled


async def uninterrupted(work: Coroutine[Any, Any, None]) -> None:
    """Await something to its end, even if the caller is cancelled meanwhile; the cancellation follows it.

    Of an error that comes together with a cancellation only the latter is raised, with the error as its cause.
    """
    task = asyncio.ensure_future(work)
    cancelled = await ended([task])
    error = None if task.cancelled() else task.exception()
    if cancelled is not None:
        raise cancelled from error
    task.result()
