"""taskstate: every acknowledged claim, checkpoint and end is committed, several of them in one transaction at times."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from taskstate.tasks import DurableTasks, task
from taskstate.tasks.records import Want

from ..peer import CONCURRENCY, Drained, Meter, Stopwatch

_meter: Meter
_watch: Stopwatch


@task("noop")
async def noop(ctx: Any, input: dict[str, Any]) -> int:
    """Do nothing."""
    _meter.ran()
    return 1


@task("steps")
async def steps(ctx: Any, input: dict[str, int]) -> int:
    """Run as many steps as `n` says."""
    for number in range(input["n"]):
        with _watch:
            await ctx.checkpoint(f"step{number}", step, number)
    return input["n"]


async def step(number: int) -> dict[str, int]:
    """Do nothing."""
    return {"number": number}


class Engine:
    """A worker of taskstate, on the store that the connection string names."""

    def setup(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._runner = asyncio.Runner()
        self._client = self._make(worker=False)
        self._runner.run(self._client.__aenter__())
        self._ids: list[str] = []

    def enqueue(self, n: int) -> float:
        """One call, and so one transaction."""
        begun = time.perf_counter()
        handles = self._runner.run(self._client.start_many(noop, [{}] * n))
        taken = time.perf_counter() - begun
        self._ids = [handle.id for handle in handles]
        return taken

    def drain(self, n: int) -> Drained:
        return self._runner.run(self._drain(n))

    def checkpoints(self, n: int) -> list[float]:
        return self._runner.run(self._checkpoints(n))

    def claims(self, n: int) -> list[float]:
        """Claim `n` of the waiting tasks, one after the other, as a worker does; each in milliseconds."""
        return self._runner.run(self._claims(n))

    def close(self) -> None:
        self._runner.run(self._client.__aexit__(None, None, None))
        self._runner.close()

    def _make(self, *, worker: bool) -> DurableTasks:
        return DurableTasks(types=[noop, steps], store=self._conninfo, concurrency=CONCURRENCY, worker=worker)

    async def _drain(self, n: int) -> Drained:
        global _meter  # noqa: PLW0603 -- tasks are functions of the module, with no object to hold this
        loop = asyncio.get_running_loop()
        store = self._client.store

        def unfinished() -> int:
            ended = asyncio.run_coroutine_threadsafe(store.ended(self._ids), loop).result()
            return n - len(ended)

        _meter = Meter(n)
        async with self._make(worker=True):
            return await _meter.wait_async(unfinished)

    async def _checkpoints(self, n: int) -> list[float]:
        global _watch  # noqa: PLW0603
        _watch = Stopwatch()
        async with self._make(worker=True) as tasks:
            await tasks.run(steps, {"n": n})
        return _watch.times

    async def _claims(self, n: int) -> list[float]:
        watch = Stopwatch()
        wants = [Want("noop", 1, 1)]
        for _ in range(n):
            with watch:
                claimed = await self._client.store.claim("bench", wants, 1)
            assert len(claimed) == 1
        return watch.times
