"""Blocking work and the callables of an application, off the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from ..storage.worker import attempt

_T = TypeVar("_T")


async def in_thread(work: Callable[[threading.Event], _T]) -> _T:
    """What `work` gives, done in a thread.

    On cancellation the event that it was given is set, and the cancellation waits until it has ended.
    """
    stop = threading.Event()
    context = contextvars.copy_context()
    # A future and no task: the end of the event loop cancels tasks, and the thread would run on unheard.
    done = asyncio.get_running_loop().run_in_executor(None, partial(context.run, work, stop))
    cancelled: asyncio.CancelledError | None = None
    while not done.done():
        try:
            await asyncio.wait([done])
        except asyncio.CancelledError as error:
            cancelled = error
            stop.set()
    if cancelled is not None:
        done.exception()  # heard, so that the loop doesn't complain
        raise cancelled
    return done.result()


async def called(call: Callable[..., Any], *arguments: Any) -> Any:
    """What an async or a plain callable gives. A plain one has a thread, in which it isn't ended by a cancellation."""
    if inspect.iscoroutinefunction(call):
        return await call(*arguments)
    # As an outcome: a StopIteration would never reach whoever awaits the thread.
    outcome = await asyncio.to_thread(attempt, partial(call, *arguments))
    if outcome.error is not None:
        raise outcome.error
    return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value
