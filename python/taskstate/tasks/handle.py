"""A task that was started, in the hands of whoever started it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .plain import TaskInfo

if TYPE_CHECKING:
    from .durable import DurableTasks

O_co = TypeVar("O_co", covariant=True)


class TaskHandle(Generic[O_co]):
    """`id` is the task's; `created` is False if the request went into a task that was there already."""

    def __init__(self, tasks: DurableTasks, id: str, *, created: bool) -> None:
        self._tasks = tasks
        self.id = id
        self.created = created

    def __repr__(self) -> str:
        return f"TaskHandle({self.id!r}, created={self.created})"

    async def result(self, timeout: float | None = None) -> O_co:
        """The result, once the task has ended.

        Raises TaskUnsuccessfulError if it didn't succeed, TaskTimeoutError (with its state) after `timeout` seconds.
        """
        value: O_co = await self._tasks.result(self.id, timeout=timeout)
        return value

    async def info(self) -> TaskInfo:
        """How the task stands."""
        return await self._tasks.get(self.id)

    async def cancel(self) -> None:
        """See `DurableTasks.cancel`."""
        await self._tasks.cancel(self.id)

    async def signal(self, name: str, payload: Any = None, *, wait_id: str | None = None) -> str | None:
        """See `DurableTasks.signal`."""
        return await self._tasks.signal(self.id, name, payload, wait_id=wait_id)
