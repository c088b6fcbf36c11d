"""The harness and its storage without `await`.

Every call runs on one background event loop and waits for it. A call from inside a running event
loop is refused at once with LifecycleError, since it would block that loop: use `taskstate.harness`
there. Safe to use from any number of threads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack

from . import harness as _harness
from .errors import ConfigurationError
from .harness.crossing import refuse_in_loop
from .harness.options import HarnessOptions, RecallOptions
from .layer import ToolStyle
from .storage import StorageAdapter, storage_get_many
from .types import JSON

T = TypeVar("T")


class _BackgroundLoop:
    """An event loop in a daemon thread, started when first needed and anew in a forked process."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine; interrupting the wait cancels it."""
        try:
            refuse_in_loop()
            loop = self._started()
        except BaseException:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(_contained(work), loop)
        try:
            value, error = future.result()
        except BaseException:
            future.cancel()
            raise
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="taskstate-sync", daemon=True).start()
            return self._loop


_background = _BackgroundLoop()


async def _contained(work: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    """Keep KeyboardInterrupt and SystemExit, on their way through a coroutine, from ending the loop."""
    try:
        return await work, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - handed to the waiting thread, which raises it
        return None, error


@contextmanager
def _entered(manager: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """An async context manager, entered and left on the background loop."""
    value = _background.run(manager.__aenter__())
    try:
        yield value
    except BaseException as error:
        if not _background.run(manager.__aexit__(type(error), error, error.__traceback__)):
            raise
    else:
        _background.run(manager.__aexit__(None, None, None))


class Storage:
    """A storage adapter whose methods wait."""

    def __init__(self, adapter: StorageAdapter) -> None:
        self.adapter = adapter

    def get(self, key: str) -> JSON:
        """The value at `key`; None when there is none."""
        return _background.run(_call(self.adapter.get, key))

    def set(self, key: str, value: JSON) -> None:
        """Keep a copy of `value` at `key`; durable when this returns."""
        _background.run(_call(self.adapter.set, key, value))

    def delete(self, key: str) -> None:
        """Remove `key`; an absent key is no error."""
        _background.run(_call(self.adapter.delete, key))

    def list(self, prefix: str) -> Keys:
        """The keys that start with `prefix`, in no promised order."""
        return _background.run(_call(self.adapter.list, prefix))

    def get_many(self, keys: Sequence[str]) -> dict[str, JSON]:
        """The values of those `keys` that have one."""
        return _background.run(storage_get_many(self.adapter, keys))

    def close(self) -> None:
        """Close the adapter, if it can be closed."""
        close = getattr(self.adapter, "close", None)
        if close is not None:
            _background.run(_call(close))


async def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return await function(*arguments)


Keys = list[str]


class Threads:
    """The threads that have state: `taskstate.harness.Threads`, without `await`."""

    def __init__(self, threads: _harness.Threads) -> None:
        self._threads = threads

    def list(self) -> ThreadInfos:
        """All threads that have state, by id."""
        return _background.run(self._threads.list())

    def read(self, thread_id: str) -> dict[str, JSON]:
        """The stored state of each layer; empty for an unknown thread."""
        return _background.run(self._threads.read(thread_id))

    def export(self, thread_id: str) -> dict[str, JSON]:
        """Everything stored for a thread as one JSON document."""
        return _background.run(self._threads.export(thread_id))

    def import_(self, document: JSON, *, thread_id: str | None = None, overwrite: bool = False) -> str:
        """Store an exported thread; gives its id."""
        return _background.run(self._threads.import_(document, thread_id=thread_id, overwrite=overwrite))

    def delete(self, thread_id: str) -> int:
        """Delete a thread with everything under it; gives the number of records."""
        return _background.run(self._threads.delete(thread_id))

    def prune(self, *, older_than: float) -> Keys:
        """Delete the threads whose newest checkpoint is older than a time in milliseconds; gives their ids."""
        return _background.run(self._threads.prune(older_than=older_than))


ThreadInfos = list[_harness.ThreadInfo]


class LayerHandle:
    """A layer as one execution sees it; its functions wait."""

    def __init__(self, handle: _harness.LayerHandle) -> None:
        self._handle = handle

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._handle, name)
        return (lambda **arguments: _background.run(_call(lambda: found(**arguments)))) if callable(found) else found

    def __dir__(self) -> Keys:
        return dir(self._handle)

    def __repr__(self) -> str:
        return repr(self._handle)


class Execution:
    """`taskstate.harness.Execution`, without `await`."""

    def __init__(self, run: _harness.Execution) -> None:
        self._run = run
        self.context: Mapping[str, Any] = {name: LayerHandle(handle) for name, handle in run.context.items()}
        """The layers by id, with their functions and the fields of their states."""

    def __repr__(self) -> str:
        return repr(self._run)

    @property
    def execution_id(self) -> str:
        """The id of this execution."""
        return self._run.execution_id

    @property
    def thread_id(self) -> str:
        """The id of the thread that this execution works on."""
        return self._run.thread_id

    @property
    def depth(self) -> int:
        """0 for a root, and one more for each spawn."""
        return self._run.depth

    @property
    def result(self) -> Any:
        """The result that a child hands to its parent's layers when it returns."""
        return self._run.result

    @result.setter
    def result(self, value: Any) -> None:
        self._run.result = value

    def recall(self, query: str = "", **options: Unpack[RecallOptions]) -> list[Any]:
        """The messages that show the layers' states to the model; options as in the async recall."""
        return _background.run(self._run.recall(query, **options))

    def store(self, response: Any = None, *, new_items: Sequence[Any] = (), log: Sequence[Any] = ()) -> None:
        """Let the layers take in a model's response; durable when this returns."""
        _background.run(self._run.store(response, new_items=new_items, log=log))

    def state(self, layer_id: str) -> JSON:
        """A copy of a layer's state."""
        return self._run.state(layer_id)

    def tools(self, style: ToolStyle = "plain") -> list[dict[str, JSON]]:
        """The layers' functions as tools for a model."""
        return self._run.tools(style)

    def call_tool(self, name: str, arguments: Any) -> JSON:
        """Call a tool by its name or alias; durable when this returns."""
        return _background.run(self._run.call_tool(name, arguments))

    @contextmanager
    def spawn(self, *, execution_id: str | None = None) -> Iterator[Execution]:
        """A child execution, merged when the block ends well."""
        with _entered(self._run.spawn(execution_id=execution_id)) as child:
            yield Execution(child)

    def in_parallel(
        self,
        workers: Sequence[Callable[[Execution], Any]],
        *,
        mode: Literal["all", "race", "settle"] = "all",
        limit: int | None = None,
        ids: Sequence[str] | None = None,
    ) -> Any:
        """Run workers side by side, each in a thread and a child of its own.

        As in the async `in_parallel`; a path that loses a race isn't waited for, since a thread can't
        be stopped, and whatever it still calls is refused.
        """
        if not workers or type(limit) not in (int, type(None)) or (limit is not None and limit < 1):
            return _background.run(self._run.in_parallel([], mode=mode, limit=limit, ids=ids))
        pool = ThreadPoolExecutor(max_workers=min(limit or len(workers), len(workers)))

        def in_thread(worker: Callable[[Execution], Any]) -> Callable[[_harness.Execution], Any]:
            async def path(child: _harness.Execution) -> Any:
                value = await asyncio.get_running_loop().run_in_executor(pool, worker, Execution(child))
                if asyncio.iscoroutine(value):
                    value.close()
                    raise ConfigurationError("a worker of taskstate.sync is a plain function, not an async one")
                return value

            return path

        try:
            paths = [in_thread(worker) for worker in workers]
            return _background.run(self._run.in_parallel(paths, mode=mode, limit=limit, ids=ids))
        finally:
            pool.shutdown(wait=False)


class Harness:
    """`taskstate.harness.Harness`, without `await`; takes the same options."""

    def __init__(self, **options: Unpack[HarnessOptions]) -> None:
        self._harness = _harness.Harness(**options)
        self.threads = Threads(self._harness.threads)
        """The threads that have state: list, read, export, import, delete, prune."""

    def __enter__(self) -> Self:
        _background.run(self._harness.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _background.run(self._harness.__aexit__(kind, error, trace))

    @contextmanager
    def execution(
        self, *, thread_id: str | None = None, resource_id: str | None = None, execution_id: str | None = None
    ) -> Iterator[Execution]:
        """Run as a root on a thread; see `taskstate.harness.Harness.execution`."""
        manager = self._harness.execution(thread_id=thread_id, resource_id=resource_id, execution_id=execution_id)
        with _entered(manager) as run:
            yield Execution(run)


__all__ = ["Execution", "Harness", "LayerHandle", "Storage", "Threads"]
