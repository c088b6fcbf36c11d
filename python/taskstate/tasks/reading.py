"""What durable tasks tell: results, events, and how tasks stand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from ..errors import ConfigurationError, NotFoundError, TaskTimeoutError, TaskUnsuccessfulError
from .definition import Definition, check_known, check_name, check_seconds, check_whole
from .ends import Ends
from .inbox import Bell, Inbox
from .plain import EventInfo, TaskInfo, WaitInfo, task_info, wait_info
from .protocol import TaskStore
from .records import ENDED, STATES, Filter, State, TaskRow


class Reading(ABC):
    """The part of `DurableTasks` that changes nothing but inboxes."""

    _types: dict[str, Definition[Any, Any]]
    _poll: float
    _ends: Ends
    _bell: Bell

    @abstractmethod
    def _open(self) -> TaskStore:
        """The store; LifecycleError if it isn't open."""

    async def _row(self, task_id: str, owner: str | None) -> TaskRow:
        rows = await self._open().get([check_known("task", task_id, owner)], owner=owner)
        if not rows:
            raise NotFoundError("task", task_id)
        return rows[0]

    async def result(self, task_id: str, *, owner: str | None = None, timeout: float | None = None) -> Any:
        """The result of a task, once it has ended.

        Raises TaskUnsuccessfulError if it didn't succeed, TaskTimeoutError (with its state) after `timeout` seconds,
        NotFoundError.
        """
        if timeout is not None:
            check_seconds("timeout", timeout, -(10**9))
        row = await self._row(task_id, owner)
        if row.state not in ENDED:
            await self._ends.wait(task_id, timeout)
            row = await self._row(task_id, owner)
        if row.state not in ENDED:
            raise TaskTimeoutError(task_id, row.state)
        if row.state != "succeeded":
            raise TaskUnsuccessfulError(row.id, row.name, row.state, row.error_code, row.error)
        known = self._types.get(row.name)
        if known is None or row.result is None:
            return task_info(row)["result"]
        return known.result.decode(row.result, f"{row.name}.result")

    def inbox(self, conversation: str, *, owner: str | None = None, offer_s: float = 60.0) -> Inbox:
        """The inbox of a conversation; with `owner`, another owner's isn't found."""
        check_seconds("offer_s", offer_s, 0)
        check_known("conversation", conversation, owner)
        return Inbox(self._open(), self._bell, conversation, owner, self._poll, offer_s)

    async def events(self, conversation: str, *, owner: str | None = None) -> AsyncIterator[EventInfo]:
        """Every event of a conversation as it comes; one is acknowledged when the next is asked for."""
        async with aclosing(self.inbox(conversation, owner=owner).events()) as events:  # type: ignore[type-var]
            async for event in events:
                yield event

    async def get(self, task_id: str, *, owner: str | None = None) -> TaskInfo:
        """A task as it stands; NotFoundError if there is none, or it is another owner's."""
        return task_info(await self._row(task_id, owner))

    async def history(self, task_id: str, *, owner: str | None = None) -> dict[str, Any]:
        """All that is recorded of a task: attempts, checkpoints, waits, signals, deliveries, each in order."""
        await self._row(task_id, owner)
        found = asdict(await self._open().history(task_id))
        return {part: [dict(row) for row in rows] for part, rows in found.items()}

    async def waits(self, task_id: str, *, owner: str | None = None, below: bool = True) -> list[WaitInfo]:
        """The open waits of a task and, with `below`, of all tasks below it: what `signal` can answer."""
        await self._row(task_id, owner)
        return [wait_info(wait) for wait in await self._open().waits(task_id, below=below)]

    async def list(
        self,
        *,
        owner: str | None = None,
        conversation: str | None = None,
        name: str | None = None,
        states: Sequence[State] = (),
        parent_id: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[TaskInfo]:
        """Tasks, newest first; `before` is the id of the last one of the page before."""
        check_whole("limit", limit, 1)
        unknown = sorted(set(states) - set(STATES))
        if unknown:
            raise ConfigurationError(f"no state of a task: {', '.join(map(str, unknown))[:200]}")
        for place, value in (("owner", owner), ("conversation", conversation), ("name", name), ("before", before)):
            if value:
                check_name(place, value)
        wanted = Filter(owner, conversation, name, tuple(states), parent_id, before, limit)
        return [task_info(row) for row in await self._open().list(wanted)]
