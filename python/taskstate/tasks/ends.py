"""Waiting, from outside, for tasks to end: one look at the store for all who wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Set as AbstractSet

from ..errors import StorageError
from .backoff import jittered, nap
from .protocol import TaskStore
from .records import Topic

_log = logging.getLogger(__name__)


class Ends:
    """Tells when tasks have ended; it lives in one event loop."""

    def __init__(self, store: TaskStore, poll_s: float) -> None:
        self._store = store
        self._poll = poll_s
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._changed = asyncio.Event()
        self._looker: asyncio.Task[None] | None = None

    async def wait(self, task_id: str, timeout: float | None) -> bool:
        """Return True once the task has ended, or isn't there; False after `timeout` seconds."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(task_id, set()).add(future)
        self._changed.set()
        if self._looker is None or self._looker.done():
            self._looker = asyncio.create_task(self._look())
        try:
            await asyncio.wait({future}, timeout=timeout)
            if future.done():
                future.result()
                return True
            return task_id in await self._store.ended([task_id])  # it may have ended at this very moment
        finally:
            waiting = self._waiting.get(task_id, set())
            waiting.discard(future)
            if not waiting:
                self._waiting.pop(task_id, None)

    def hear(self, topics: AbstractSet[Topic]) -> None:
        """Something may have changed."""
        if "ended" in topics:
            self._changed.set()

    async def stop(self) -> None:
        """Stop looking."""
        if self._looker is not None:
            self._looker.cancel()
            await asyncio.gather(self._looker, return_exceptions=True)

    async def _look(self) -> None:
        while self._waiting:
            self._changed.clear()
            try:
                ended = await self._store.ended(list(self._waiting))
            except StorageError as error:
                _log.warning("could not look for ends of tasks: %s", error.reason)
                ended = []
            for id in ended:
                for future in self._waiting.pop(id, ()):
                    if not future.done():
                        future.set_result(None)
            if self._waiting:
                await nap(self._changed, jittered(self._poll))
