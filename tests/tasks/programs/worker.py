"""A worker process: works until SIGTERM, and then says what became of what it held."""

from __future__ import annotations

import asyncio
import importlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from taskstate.tasks import DurableTasks

from .journal import begin, note
from .places import Where, open_place


def main(where: Where, folder: Path, types: str, options: dict[str, Any], clock_offset: float) -> None:
    """Run a worker with the definitions that `types` names, such as `works:TYPES`."""
    run(folder, lambda: _serve(where, types, options), clock_offset)


def ask(where: Where, folder: Path, what: str, *arguments: Any) -> None:
    """Run a coroutine function, such as `asking:start_one`, on these tasks, without a worker."""
    run(folder, lambda: _asked(where, what, arguments))


def run(folder: Path, work: Callable[[], Coroutine[Any, Any, None]], clock_offset: float = 0.0) -> None:
    """Run a coroutine in this process, which ends when the tests do."""
    threading.Thread(target=_end_with_the_tests, daemon=True).start()
    log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for output in (1, 2):
        os.dup2(log, output)
    logging.basicConfig(level=logging.INFO, format="%(process)d %(relativeCreated)d %(message)s")
    if clock_offset:
        _set_clock(clock_offset)
    begin(folder)
    asyncio.run(work())


def _end_with_the_tests() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _set_clock(offset: float) -> None:
    """Have the clock of this process be wrong by so many seconds."""
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + offset
    time.time_ns = lambda: nanoseconds() + round(offset * 1e9)


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(f".{module}", __package__), attribute)


async def _serve(where: Where, types: str, options: dict[str, Any]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with DurableTasks(types=_named(types), store=open_place(where), **options) as tasks:
        note("ready")
        await stop.wait()
        stopped = await tasks.close()
        note("stopped", finished=stopped.finished, released=stopped.released, lost=stopped.lost)


async def _asked(where: Where, what: str, arguments: tuple[Any, ...]) -> None:
    function = _named(what)
    async with DurableTasks(types=_named("works:TYPES"), store=open_place(where), worker=False, poll_s=0.2) as tasks:
        await function(tasks, *arguments)
