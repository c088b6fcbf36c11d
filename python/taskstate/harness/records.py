"""Stored states as root executions know them, and the order in which they are written."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from ..storage import StorageAdapter, SupportsVersions
from ..types import JSON
from .watched import watched

SharedThread: TypeAlias = Literal["conflict", "last_writer"]

_UNREAD: Any = object()


class Record:
    """One stored state as a root execution last saw it; the executions below it share it.

    `latest` is the write asked for last, `durable` the state that is stored, as the execution has it. When a
    write fails, `revert` is called with that before anything else can happen, and what waits to be written after
    the failed state is given up with it.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.version: Any = _UNREAD
        self.latest: asyncio.Future[None] | None = None
        self.durable: JSON = None
        self.revert: Callable[[JSON], None] | None = None


class Records:
    """Reads and writes the records of an adapter, and refuses a write over somebody else's.

    Writes of one key go out one at a time. While one is under way later values of the same record
    replace each other, so that the latest wins and no more than one waits.
    """

    def __init__(self, storage: StorageAdapter, shared_thread: SharedThread) -> None:
        versioned = storage if isinstance(storage, SupportsVersions) else watched(storage)
        self._versions = versioned if shared_thread == "conflict" else None
        self.storage: StorageAdapter = storage if self._versions is None else versioned
        self._lanes: dict[str, _Lane] = {}

    async def read(self, record: Record) -> JSON:
        """The stored state, from which on writes of others count as conflicts."""
        if self._versions is None:
            return await self.storage.get(record.key)
        value, record.version = await self._versions.get_versioned(record.key)
        return value

    def submit(self, record: Record, value: JSON) -> asyncio.Future[None]:
        """Write a state, or delete the record where it is None; the future ends when that is durable.

        The first write of an idle key starts at once, with this very value.
        """
        lane = self._lanes.get(record.key)
        if lane is None:
            lane = self._lanes[record.key] = _Lane()
        future = record.latest = lane.add(record, value)
        if lane.task is None:
            lane.task = asyncio.get_running_loop().create_task(self._run(record.key, lane, lane.queue.popleft()))
        return future

    async def _run(self, key: str, lane: _Lane, entry: _Entry) -> None:
        while True:
            try:
                await self._write(entry.record, entry.value)
            except BaseException as error:
                entry.fail(error)
                if not isinstance(error, Exception):
                    lane.abandon(error)
                    self._lanes.pop(key, None)
                    raise
                if entry.record.revert is not None:
                    lane.abandon(error, entry.record)
                    entry.record.revert(entry.record.durable)
            else:
                entry.record.durable = entry.value
                entry.done()
            if not lane.queue:
                del self._lanes[key]
                return
            entry = lane.queue.popleft()

    async def _write(self, record: Record, value: JSON) -> None:
        if self._versions is None:
            if value is None:
                await self.storage.delete(record.key)
            else:
                await self.storage.set(record.key, value)
            return
        if record.version is _UNREAD:
            _, record.version = await self._versions.get_versioned(record.key)
        if value is None:
            record.version = await self._versions.compare_and_delete(record.key, record.version)
        else:
            record.version = await self._versions.compare_and_set(record.key, value, record.version)

    async def drain(self) -> None:
        """Wait until every write that was asked for has ended, well or not."""
        while tasks := [lane.task for lane in self._lanes.values() if lane.task is not None]:
            await asyncio.wait(tasks)


class _Entry:
    def __init__(self, record: Record, value: JSON) -> None:
        self.record = record
        self.value = value
        self.waiting: list[asyncio.Future[None]] = []

    def done(self) -> None:
        for future in self.waiting:
            if not future.done():
                future.set_result(None)

    def fail(self, error: BaseException) -> None:
        for future in self.waiting:
            if not future.done():
                future.set_exception(error)


class _Lane:
    """The writes of one key: one under way, others in line behind it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.queue: deque[_Entry] = deque()

    def add(self, record: Record, value: JSON) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.queue and self.queue[-1].record is record:
            self.queue[-1].value = value
        else:
            self.queue.append(_Entry(record, value))
        self.queue[-1].waiting.append(future)
        return future

    def abandon(self, error: BaseException, record: Record | None = None) -> None:
        """Give up what waits, all of it or what there is of one record."""
        given_up = [entry for entry in self.queue if record is None or entry.record is record]
        for entry in given_up:
            self.queue.remove(entry)
            entry.fail(error)
