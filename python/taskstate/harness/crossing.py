"""Call something on a run's event loop from another loop or from a plain thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from ..errors import LifecycleError


def refuse_in_loop() -> None:
    """Raise LifecycleError if this thread runs an event loop, which a blocking call would stop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise LifecycleError("a blocking call inside a running event loop; await the async function instead")


async def on_loop(loop: asyncio.AbstractEventLoop, make: Callable[[], Any], patience: float) -> Any:
    """Await `make()` on `loop`, also from another thread's loop.

    `patience` is how many seconds a call from elsewhere waits for a loop that doesn't answer.
    """
    if asyncio.get_running_loop() is loop:
        return await make()
    given_up = threading.Event()
    future = asyncio.run_coroutine_threadsafe(_unless(given_up, make), loop)
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), patience)
    except TimeoutError:
        if future.done() and not future.cancelled():
            raise  # it is the answer
        raise _no_answer(patience) from None
    finally:
        given_up.set()


def from_thread(loop: asyncio.AbstractEventLoop, make: Callable[[], Any], patience: float) -> Any:
    """Wait for `make()` on `loop` from a plain thread; refused at once where that would wait for itself."""
    refuse_in_loop()
    given_up = threading.Event()
    future = asyncio.run_coroutine_threadsafe(_unless(given_up, make), loop)
    try:
        return future.result(patience)
    except TimeoutError:
        if not future.cancel() and not future.cancelled():
            raise  # it is the answer
        raise _no_answer(patience) from None
    finally:
        given_up.set()


async def _unless(given_up: threading.Event, make: Callable[[], Any]) -> Any:
    """Await `make()`, unless its caller stopped waiting before it began: what was reported as failed has no effect."""
    if given_up.is_set():
        raise asyncio.CancelledError
    return await make()


def _no_answer(patience: float) -> LifecycleError:
    return LifecycleError(f"the run's event loop gave no answer within {patience:g} s; is it blocked?")
