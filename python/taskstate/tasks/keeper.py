"""Deliveries and what is due: every worker sees to them, and they get in nobody's way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Set as AbstractSet

from .backoff import jittered, nap
from .logs import shown
from .protocol import TaskStore
from .records import Topic

_log = logging.getLogger(__name__)

_LEAST = 0.02  # seconds between two sweeps


class Keeper:
    """Dispatches what there is to deliver, sweeps what is due; and looks from time to time anyway."""

    def __init__(self, store: TaskStore, poll_s: float) -> None:
        self._store = store
        self._poll = poll_s
        self._outbox = asyncio.Event()
        self._due = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin."""
        self._tasks = [asyncio.create_task(self._dispatch()), asyncio.create_task(self._sweep())]

    async def stop(self) -> None:
        """Stop between two rounds."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hear(self, topics: AbstractSet[Topic]) -> None:
        """Something may have changed."""
        if "outbox" in topics:
            self._outbox.set()
        if "due" in topics:
            self._due.set()

    async def _dispatch(self) -> None:
        while True:
            self._outbox.clear()
            pause = self._poll
            try:
                done = await self._store.dispatch()
                if done.more:
                    continue
                if done.next_due_ms is not None:
                    pause = min(pause, max(_LEAST, done.next_due_ms / 1000))
            except Exception as error:  # noqa: BLE001 - one that stops would go unseen
                _log.warning("deliveries failed: %s", shown(error))
            await nap(self._outbox, jittered(pause))

    async def _sweep(self) -> None:
        while True:
            self._due.clear()
            pause = jittered(self._poll)
            try:
                swept = await self._store.sweep()
                if swept.more:
                    continue
                if swept.next_due_ms is not None:
                    pause = min(pause, max(_LEAST, swept.next_due_ms / 1000 + 0.001))
                if swept.poisoned or swept.reclaimed:
                    _log.warning(
                        "%d leases expired, %d of them at the last attempt",
                        swept.reclaimed + swept.poisoned,
                        swept.poisoned,
                    )
            except Exception as error:  # noqa: BLE001 - one that stops would go unseen
                _log.warning("a sweep failed: %s", shown(error))
            await nap(self._due, pause)
