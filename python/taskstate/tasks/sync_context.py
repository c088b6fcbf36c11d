"""The context of a function that runs in a thread: the same methods, which block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, TypeVar, overload

from ..errors import LifecycleError
from .children import Outcome
from .context import TaskContext
from .definition import Definition

T = TypeVar("T")


class SyncTaskContext:
    """See `TaskContext`; used from the thread of the function only.

    While it waits for something that takes long, the task is suspended: the call then ends the function by an
    exception that is no `Exception`, and the function is run again from its start later.
    """

    def __init__(self, context: TaskContext, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        """What needs no waiting is the same: `task_id`, `attempt`, `cancelled` and so on."""
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._context, name)
        if asyncio.iscoroutinefunction(value):
            raise AttributeError(name)
        return value

    def checkpoint(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """See `TaskContext.checkpoint`."""
        return self._do(self._context.checkpoint(name, function, *args, **kwargs))

    def run(self, definition: Definition[Any, T] | str, input: Any, *, key: str | None = None) -> T:
        """See `TaskContext.run`."""
        return self._do(self._context.run(definition, input, key=key))

    @overload
    def fan_out(
        self,
        definition: Definition[Any, T] | str,
        inputs: Sequence[Any],
        *,
        limit: int | None = None,
        settle: Literal[False] = False,
        key: str | None = None,
    ) -> list[T]: ...

    @overload
    def fan_out(
        self,
        definition: Definition[Any, T] | str,
        inputs: Sequence[Any],
        *,
        limit: int | None = None,
        settle: Literal[True],
        key: str | None = None,
    ) -> list[Outcome]: ...

    def fan_out(
        self,
        definition: Definition[Any, Any] | str,
        inputs: Sequence[Any],
        *,
        limit: int | None = None,
        settle: bool = False,
        key: str | None = None,
    ) -> list[Any]:
        """See `TaskContext.fan_out`."""
        return self._do(self._context.fan_out(definition, inputs, limit=limit, settle=settle, key=key))

    def start(
        self, definition: Definition[Any, Any] | str, input: Any, *, notify: bool = True, key: str | None = None
    ) -> str:
        """See `TaskContext.start`."""
        return self._do(self._context.start(definition, input, notify=notify, key=key))

    def sleep(self, seconds: float, *, key: str | None = None) -> None:
        """See `TaskContext.sleep`."""
        self._do(self._context.sleep(seconds, key=key))

    def wait_for(self, name: str, timeout: float | None = None, *, key: str | None = None) -> Any:
        """See `TaskContext.wait_for`."""
        return self._do(self._context.wait_for(name, timeout, key=key))

    def publish(self, value: Any, *, key: str | None = None) -> int:
        """See `TaskContext.publish`."""
        return self._do(self._context.publish(value, key=key))

    def ensure_current(self) -> None:
        """See `TaskContext.ensure_current`."""
        self._do(self._context.ensure_current())

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        if _running_loop() is self._loop:  # it would wait for itself, and with it all tasks of the worker
            work.close()
            raise LifecycleError("the context of a function in a thread can't be used in the event loop")
        return asyncio.run_coroutine_threadsafe(self._context.guarded(work), self._loop).result()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
