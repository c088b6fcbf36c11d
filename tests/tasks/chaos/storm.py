"""Starts work, kills whoever does it, and waits until everything has come to its end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from taskstate.errors import StaleGenerationError, StorageError, TaskEndedError
from taskstate.tasks import DurableTasks, TaskStore
from taskstate.tasks.records import ENDED

from .works import TYPES, branch, leaf, waiter

CONVERSATIONS = [f"talk-{number}" for number in range(10)]


@dataclass
class Storm:
    """`tasks` requests, `workers` processes, `seconds` of killing; `restart` restarts the database, once."""

    store: TaskStore
    arguments: list[str]
    journal: Path
    tasks: int
    workers: int
    seconds: float
    seed: int
    patience: float
    restart: Callable[[], None] | None = None
    started: dict[str, tuple[str, int]] = field(default_factory=dict)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    kills: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    async def rage(self) -> None:
        """All of it; AssertionError if something is stuck at the end."""
        try:
            async with DurableTasks(types=TYPES, store=self.store, worker=False, poll_s=0.3) as client:
                await self._request(client)
                self.processes = [self._worker() for _ in range(self.workers)]
                await asyncio.gather(self._kill(), self._steer(client))
                await self._settle(client)
        finally:
            for process in self.processes:
                self._end(process)

    async def _request(self, client: DurableTasks) -> None:
        kinds = [leaf, leaf, branch, waiter]
        for number in range(self.tasks):
            kind = kinds[number % len(kinds)]
            talk = self.random.choice(CONVERSATIONS)
            handle = await client.start(kind, number, owner="u", conversation=talk, generation=1)
            self.started[handle.id] = (kind.name, number)

    def _worker(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), *self.arguments]
        with self.journal.with_suffix(".log").open("ab") as errors:
            return subprocess.Popen(command, env=os.environ | {"CHAOS_JOURNAL": str(self.journal)}, stderr=errors)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.kill()
        process.wait()

    async def _kill(self) -> None:
        """Kill or stop a worker now and then, until the time is over; at half of it the database is restarted."""
        end = time.monotonic() + self.seconds
        half, restarted = end - self.seconds / 2, self.restart is None
        while time.monotonic() < end:
            await asyncio.sleep(self.random.uniform(0.3, 1.2))
            if not restarted and time.monotonic() > half:
                restarted = True
                assert self.restart is not None
                await asyncio.to_thread(self.restart)
            place = self.random.randrange(len(self.processes))
            process = self.processes[place]
            if self.random.random() < 0.3:
                process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(1.5)  # longer than a lease
                process.send_signal(signal.SIGCONT)
            else:
                self._end(process)
                self.kills += 1
                self.processes[place] = self._worker()

    async def _steer(self, client: DurableTasks) -> None:
        """Signals, cancels and new generations at any moment; early, late, and twice."""
        ids = list(self.started)
        generation = 1
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.01)
            task_id = self.random.choice(ids)
            try:
                if self.started[task_id][0] == "waiter":
                    await client.signal(task_id, "go", 1, signal_id=f"go-{task_id}")
                if self.random.random() < 0.03:
                    await client.cancel(task_id)
                if self.random.random() < 0.01:
                    generation += 1
                    await client.advance_generation(CONVERSATIONS[0], generation, owner="u")
            except (TaskEndedError, StaleGenerationError, StorageError):
                pass

    async def _settle(self, client: DurableTasks) -> None:
        """Answer what still waits, and wait until nothing is left to do."""
        end = time.monotonic() + self.patience
        for task_id, (name, _) in self.started.items():
            if name == "waiter":
                with suppress(TaskEndedError):
                    await client.signal(task_id, "go", 1, signal_id=f"go-{task_id}")
        live = ["scheduled", "ready", "running", "suspended"]
        while left := await client.list(states=live, limit=20):  # type: ignore[arg-type]
            assert time.monotonic() < end, f"stuck: {left}"
            await asyncio.sleep(0.2)
        while (await self.store.dispatch()).more:
            assert time.monotonic() < end
        assert all(row["state"] in ENDED for row in await client.list(limit=10))
