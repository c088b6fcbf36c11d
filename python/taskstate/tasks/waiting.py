"""What a running task waits for, and when it can be suspended.

A task may wait in several branches at once. It is suspended when every branch that goes through its context
waits: no step is being made and nothing new has begun for a moment. While a step is being made, ends of waits
are looked for from time to time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..errors import LeaseLostError
from .backoff import jittered, nap
from .protocol import TaskStore
from .records import Lease, StoredWait

_TICKS = 3  # rounds of the event loop in which other branches may reach their own next step
_POLL = 1.0  # seconds


class Suspended(BaseException):
    """Ends a function whose task is suspended; it will be run again from its start when a wait has ended."""


class Waits:
    """The waits of one leg of a task."""

    def __init__(self, store: TaskStore, lease: Lease, deadline: Callable[[], float]) -> None:
        self._store = store
        self._lease = lease
        self._deadline = deadline
        self._waiting: dict[str, tuple[asyncio.Future[StoredWait], str]] = {}
        self._steps = 0
        self._begun = 0
        self._settler: asyncio.Task[None] | None = None
        self._nudge = asyncio.Event()
        self.suspended = asyncio.Event()
        """Set when the task is suspended in the store."""
        self.over = False
        """Whether the task is no longer its function's: no step begins any more."""
        self.opened = False
        """Whether there were any waits at all."""

    @contextmanager
    def step(self) -> Iterator[None]:
        """Something is being done that must not be cut off by a suspension."""
        self._begin()
        self._steps += 1
        try:
            yield
        finally:
            self._steps -= 1
            self._nudge.set()

    async def until(self, key: str, reason: str) -> StoredWait:
        """The wait of this key, once it has ended; never, if the task is suspended instead."""
        if key in self._waiting:
            return await asyncio.shield(self._waiting[key][0])
        self._begin()
        future: asyncio.Future[StoredWait] = asyncio.get_running_loop().create_future()
        self._waiting[key] = (future, reason)
        if self._settler is None:
            self._settler = asyncio.create_task(self._settle())
        self._nudge.set()
        try:
            return await future
        finally:
            self._waiting.pop(key, None)

    def _begin(self) -> None:
        # A process that stood still finds its lease over before it hears so from the store.
        if self.over or time.monotonic() > self._deadline():
            raise LeaseLostError(*self._lease)
        self._begun += 1

    def look(self) -> None:
        """Some wait may have ended."""
        self._nudge.set()

    async def close(self) -> None:
        """Stop looking."""
        if self._settler is not None:
            self._settler.cancel()
            await asyncio.gather(self._settler, return_exceptions=True)

    async def _settle(self) -> None:
        try:
            while not self.suspended.is_set():
                await self._next()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - each branch that waits hears of it
            for future, _ in self._waiting.values():
                if not future.done():
                    future.set_exception(error)
            self._settler = None

    async def _next(self) -> None:
        self._nudge.clear()
        if self._waiting and await self._quiet():
            await self._suspend(hold=False)
        elif self._waiting:
            await nap(self._nudge, jittered(_POLL))
            await self._suspend(hold=True)
        else:
            await self._nudge.wait()

    async def _quiet(self) -> bool:
        """Whether nothing but waiting goes on."""
        begun = self._begun
        for _ in range(_TICKS):
            if self._steps:
                return False
            await asyncio.sleep(0)
        return self._steps == 0 and self._begun == begun

    async def _suspend(self, *, hold: bool) -> None:
        keys = list(self._waiting)
        if not keys:
            return
        reason = ",".join(dict.fromkeys(reason for _, reason in self._waiting.values()))
        ended = await self._store.suspend(self._lease, keys, reason, hold=hold)
        for wait in ended:
            future, _ = self._waiting.get(wait.key, (None, ""))
            if future is not None and not future.done():
                future.set_result(wait)
        if ended:
            await asyncio.sleep(0)
        elif not hold:
            self.suspended.set()
