"""A worker as a process of its own: found by name, ended by a signal."""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
import traceback
from functools import reduce
from types import FrameType

from ..errors import ConfigurationError, SchemaError, StorageError
from .commands import Unusable
from .durable import DurableTasks
from .stores.memory import MemoryTaskStore
from .worker import Stopped

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve(named: str, *, concurrency: int | None, grace_s: float | None) -> Stopped:
    """Run a worker for the durable tasks of this name until a signal comes, and say what became of what it held.

    Raises Unusable if the name leads to none, or their store can't be opened.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    tasks = find(named)
    try:
        stopped = asyncio.run(_serve(tasks, concurrency, grace_s))
    except (ConfigurationError, SchemaError, StorageError) as error:
        raise Unusable(f"{named}: {error}") from None
    for what in ("finished", "released", "lost"):
        ids = getattr(stopped, what)
        _say(f"{what} {len(ids)}{': ' if ids else ''}{' '.join(ids)}")
    return stopped


def find(named: str) -> DurableTasks:
    """The durable tasks of `module:attribute`, or those that a callable of that name gives."""
    module_name, colon, path = named.partition(":")
    if not (module_name and colon and path):
        raise Unusable(f"{named}: MODULE:ATTRIBUTE is wanted, as in myapp.tasks:tasks")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise Unusable(f"{named}: there is no module {error.name}") from None
        raise Unusable(f"{named}: importing {module_name} failed: {_told(error)}") from error
    try:
        found = reduce(getattr, path.split("."), module)
    except AttributeError:
        raise Unusable(f"{named}: {module_name} has no attribute {path}") from None
    if not isinstance(found, DurableTasks) and callable(found):
        try:
            found = found()
        except Exception as error:
            raise Unusable(f"{named}: calling it failed: {_told(error)}") from error
    if not isinstance(found, DurableTasks):
        raise Unusable(f"{named}: {type(found).__name__} is neither DurableTasks nor a callable that gives one")
    if isinstance(found.store, MemoryTaskStore):
        raise Unusable(f"{named}: memory: is seen by its own process only")
    return found


async def _serve(tasks: DurableTasks, concurrency: int | None, grace_s: float | None) -> Stopped:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def stop() -> None:
        told.set()
        _say("stopping: nothing more is claimed")

    def hear(number: int, frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)  # a second one ends this process, whatever it does
        loop.call_soon_threadsafe(stop)

    # Not by the loop: a function that blocks it must not keep the second signal from being heard.
    before = {each: signal.signal(each, hear) for each in _SIGNALS}
    try:
        _say(f"worker {tasks.name} on {tasks.store}")
        return await tasks.serve(told, concurrency=concurrency, grace_s=grace_s)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _told(error: Exception) -> str:
    """An error in one line, with the place where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{traceback.format_exception_only(error)[-1].strip()} ({last.filename}:{last.lineno})"


def _say(text: str) -> None:
    print(text, flush=True)
