"""A place where tasks are kept, with the processes that work there and the journal of what they did."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from postgres import Cluster
from postgres.fixtures import Place
from tasks.programs import journal, worker
from tasks.programs.places import Where, open_place
from taskstate.tasks import Definition, DurableTasks, TaskStore
from taskstate.tasks.stores.memory import MemoryTaskStore

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    [
        "tasks.programs.worker",
        "tasks.programs.works",
        "taskstate.tasks.stores.sqlite",
        "taskstate.tasks.stores.postgres",
    ]
)

_PATIENCE = 20.0  # seconds; the machine may be busy


class Process:
    """A process of a site."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        """End it by SIGKILL."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join(_PATIENCE)

    def stop(self) -> None:
        """Have it stand still, by SIGSTOP."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    async def ended(self) -> int | None:
        """Its exit status, once it has ended."""
        await eventually(lambda: not self._process.is_alive())
        return self._process.exitcode


class Site:
    """Where one test works. `kind` is the store's name."""

    def __init__(self, kind: str, folder: Path, place: Place | None) -> None:
        self.kind = kind
        self.folder = folder
        self.place = place
        self.processes: list[Process] = []
        self._memory = MemoryTaskStore()
        journal.begin(folder)

    @property
    def where(self) -> Where:
        if self.place is not None:
            return Where(self.place.conninfo, self.place.schema)
        return Where(str(self.folder / "tasks.db"))

    @property
    def cluster(self) -> Cluster:
        """The server."""
        assert self.place is not None
        return self.place.cluster

    def store(self) -> TaskStore:
        """A store object; of the memory store there is only one."""
        return self._memory if self.kind == "memory" else open_place(self.where)

    def tasks(self, *types: Definition[Any, Any], **options: Any) -> DurableTasks:
        """Durable tasks in this process, with a worker unless told otherwise."""
        return DurableTasks(types=types, store=self.store(), **({"poll_s": 0.2, "grace_s": 0.2} | options))

    async def worker(self, types: str = "works:TYPES", *, clock_offset: float = 0.0, **options: Any) -> Process:
        """A worker process that is ready."""
        before = self.count("ready")
        options = {"poll_s": 0.2} | options
        process = self._start(worker.main, self.where, self.folder, types, options, clock_offset)
        await eventually(lambda: self.count("ready") > before or not process.alive)
        assert process.alive, self.log()
        return process

    async def stop(self, process: Process) -> None:
        """Have a process stand still while it isn't writing: it would keep the file of SQLite locked for all."""
        while True:
            process.stop()
            if self.kind != "sqlite":
                return
            with closing(sqlite3.connect(self.where.conninfo, timeout=0.2, isolation_level=None)) as connection:
                try:
                    connection.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:
                    process.go_on()
                    await asyncio.sleep(0.01)
                else:
                    return

    def ask(self, what: str, *arguments: Any) -> Process:
        """A process that runs a function of `programs`, such as `asking:start_one`."""
        return self._start(worker.ask, self.where, self.folder, what, *arguments)

    def _start(self, target: Callable[..., None], *arguments: Any) -> Process:
        started = _PROCESSES.Process(target=target, args=arguments, daemon=True)
        started.start()
        process = Process(started)
        self.processes.append(process)
        return process

    def end(self) -> None:
        """End the processes that are left."""
        for process in self.processes:
            process.kill()

    def notes(self, *whats: str, **facts: Any) -> list[dict[str, Any]]:
        """Those lines of the journal, of all processes, that are about this."""
        return [
            line
            for line in journal.read(self.folder)
            if (not whats or line["what"] in whats) and facts.items() <= line.items()
        ]

    def count(self, *whats: str, **facts: Any) -> int:
        return len(self.notes(*whats, **facts))

    async def noted(self, *whats: str, count: int = 1, **facts: Any) -> list[dict[str, Any]]:
        """Those lines, once there are so many."""
        await eventually(lambda: self.count(*whats, **facts) >= count)
        return self.notes(*whats, **facts)

    def open(self, gate: str) -> None:
        """Open a gate."""
        journal.open_gate(self.folder, gate)

    def log(self) -> str:
        """What the processes logged."""
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""


async def eventually(condition: Callable[[], bool | Awaitable[bool]], patience: float = _PATIENCE) -> None:
    """Return once it is so; fail if it isn't for too long."""
    deadline = time.monotonic() + patience
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        assert time.monotonic() < deadline, "it did not come to be"
        await asyncio.sleep(0.005)


async def state(tasks: DurableTasks, id: str, *wanted: str) -> str:
    """The state of a task, once it is one of those wanted."""

    async def reached() -> bool:
        return (await tasks.get(id))["state"] in wanted

    await eventually(reached)
    return (await tasks.get(id))["state"]


async def outcomes(tasks: DurableTasks, id: str) -> list[str]:
    """How each attempt of a task ended."""
    return [attempt["outcome"] for attempt in (await tasks.history(id))["attempts"]]


async def kept_late(tasks: DurableTasks, id: str) -> Sequence[dict[str, Any]]:
    """What is recorded for audit only."""
    return [attempt["late"] for attempt in (await tasks.history(id))["attempts"] if attempt["late"] is not None]


async def checkpoints(tasks: DurableTasks, id: str, count: int) -> None:
    """Return once so many steps of a task are recorded."""

    async def are_there() -> bool:
        return len((await tasks.history(id))["checkpoints"]) >= count

    await eventually(are_there)
