"""Asks for work, kills whoever does it, and waits until everything has come to its end."""

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
    started: dict[str, str] = field(default_factory=dict)
    """The ids of the tasks that were asked for, and the names of their definitions."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    generation: int = 1
    kills: int = 0
    stops: int = 0
    restarts: int = 0
    took: float = 0.0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    async def rage(self) -> None:
        """All of it; AssertionError if something is stuck at the end."""
        begun = time.monotonic()
        try:
            async with DurableTasks(types=TYPES, store=self.store, worker=False, poll_s=0.3) as client:
                await self._request(client, range(self.tasks // 2), 0)
                self.processes = [self._worker() for _ in range(self.workers)]
                late = range(self.tasks // 2, self.tasks)
                # Work comes in until shortly before the end: whoever is killed has some in hand.
                await asyncio.gather(self._kill(), self._steer(client), self._request(client, late, 0.9 * self.seconds))
                await self._settle(client)
        finally:
            self.took = time.monotonic() - begun
            for process in self.processes:
                self._end(process)

    async def _request(self, client: DurableTasks, numbers: range, seconds: float) -> None:
        """Ask for tasks, spread over so many seconds; again and again until the answer says that it is stored."""
        kinds = [leaf, leaf, branch, waiter]
        for number in numbers:
            await asyncio.sleep(seconds / len(numbers))
            kind, task_id = kinds[number % len(kinds)], f"task-{number}"
            talk = self.random.choice(CONVERSATIONS)
            while task_id not in self.started:
                generation = self.generation if talk == CONVERSATIONS[0] else 1
                with suppress(StaleGenerationError, StorageError):
                    await client.start(
                        kind, number, owner="u", conversation=talk, generation=generation, task_id=task_id
                    )
                    self.started[task_id] = kind.name

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
                self.restarts += 1
            place = self.random.randrange(len(self.processes))
            process = self.processes[place]
            if self.kills and self.random.random() < 0.3:
                process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(1.5)  # longer than a lease
                process.send_signal(signal.SIGCONT)
                self.stops += 1
            else:
                self._end(process)
                self.kills += 1
                self.processes[place] = self._worker()

    async def _steer(self, client: DurableTasks) -> None:
        """Signals, cancels and new generations at any moment; early, late, and twice."""
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            await asyncio.sleep(0.01)
            task_id = self.random.choice(list(self.started))
            try:
                if self.started[task_id] == "waiter":
                    await client.signal(task_id, "go", 1, signal_id=f"go-{task_id}")
                if self.random.random() < 0.03:
                    await client.cancel(task_id)
                if self.random.random() < 0.01:
                    self.generation += 1
                    await client.advance_generation(CONVERSATIONS[0], self.generation, owner="u")
            except (TaskEndedError, StaleGenerationError, StorageError):
                pass

    async def _settle(self, client: DurableTasks) -> None:
        """Answer what still waits, and wait until nothing is left to do."""
        end = time.monotonic() + self.patience
        for task_id, name in self.started.items():
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
