"""The inbox of a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from collections.abc import Set as AbstractSet

from ..errors import NotFoundError
from .backoff import jittered, nap
from .definition import check_seconds, check_whole
from .plain import EventInfo, event_info
from .protocol import TaskStore
from .records import Topic


class Bell:
    """Wakes those who wait for events; it lives in one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def hear(self, topics: AbstractSet[Topic]) -> None:
        """Something may have changed."""
        if "inbox" in topics:
            for event in self._waiting:
                event.set()

    async def wait(self, seconds: float, event: asyncio.Event) -> None:
        """Return when something came, or after a while."""
        self._waiting.add(event)
        try:
            await nap(event, seconds)
        finally:
            self._waiting.discard(event)


class Inbox:
    """The events of a conversation's tasks, each offered until it is acknowledged.

    Only those of the conversation's generation are offered. `offer_s` is for how long an event that was taken isn't
    offered to another reader.
    """

    def __init__(
        self, store: TaskStore, bell: Bell, conversation: str, owner: str | None, poll_s: float, offer_s: float
    ) -> None:
        self._store = store
        self._bell = bell
        self._poll = poll_s
        self._offer_ms = round(offer_s * 1000)
        self.conversation = conversation
        self._owner = owner

    async def take(self, *, limit: int = 100, wait_s: float = 0.0) -> list[EventInfo]:
        """The next events, in order; none there, wait up to `wait_s` seconds for the first."""
        check_whole("limit", limit, 1)
        check_seconds("wait_s", wait_s, 0)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        came = asyncio.Event()
        while True:
            came.clear()
            try:
                offer = self._offer_ms
                events = await self._store.take(self.conversation, owner=self._owner, limit=limit, offer_ms=offer)
            except NotFoundError:  # it begins with its first task
                events = []
            left = deadline - loop.time()
            if events or left <= 0:
                return [event_info(event) for event in events]
            await self._bell.wait(min(left, jittered(self._poll)), came)

    async def ack(self, events: EventInfo | Iterable[EventInfo]) -> int:
        """Acknowledge events: they are never offered again. How many were not acknowledged yet."""
        given = [events] if isinstance(events, dict) else list(events)
        ids = [event["id"] for event in given]
        return await self._store.acknowledge(self.conversation, ids, owner=self._owner) if ids else 0

    async def events(self) -> AsyncIterator[EventInfo]:
        """Every event as it comes, without end. One counts as acknowledged when the next one is asked for."""
        while True:
            for event in await self.take(limit=1, wait_s=3600):
                yield event
                await self.ack(event)
