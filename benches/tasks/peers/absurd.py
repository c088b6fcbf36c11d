"""Absurd: tasks and checkpoints as functions of the database; the asynchronous client, which shares one connection.

The worker claims as many tasks as it may run at a time, its default, and takes the next ones when all of them are
done. Each claim, step and end is committed on its own. `absurdctl` carries the schema.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg
from absurd_sdk import AsyncAbsurd
from absurdctl import BUNDLED_SCHEMA_SQL

from ..peer import CONCURRENCY, Counter, Drained, Meter, Stopwatch

_QUEUE = "bench"


class Engine:
    """A worker of Absurd."""

    def setup(self, conninfo: str) -> None:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute(BUNDLED_SCHEMA_SQL)
        self._conninfo = conninfo
        self._runner = asyncio.Runner()
        self._client = AsyncAbsurd(conninfo, queue_name=_QUEUE)
        self._meter: Meter | None = None
        self._watch = Stopwatch()

        @self._client.register_task(name="noop")
        async def noop(params: Any, ctx: Any) -> int:
            assert self._meter is not None
            self._meter.ran()
            return 1

        @self._client.register_task(name="steps")
        async def steps(params: Any, ctx: Any) -> int:
            for number in range(params):

                async def step(number: int = number) -> dict[str, int]:
                    return {"number": number}

                with self._watch:
                    await ctx.step(f"step{number}", step)
            return int(params)

        self._runner.run(self._client.create_queue(_QUEUE))
        left = "state NOT IN ('completed', 'failed', 'cancelled')"
        self._unfinished = Counter(conninfo, f"SELECT count(*) FROM absurd.t_{_QUEUE} WHERE {left}")

    def enqueue(self, n: int) -> float:
        begun = time.perf_counter()
        self._runner.run(self._enqueue(n))
        return time.perf_counter() - begun

    def drain(self, n: int) -> Drained:
        return self._runner.run(self._drain(n))

    def checkpoints(self, n: int) -> list[float]:
        return self._runner.run(self._checkpoints(n))

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()
        self._unfinished.close()

    async def _enqueue(self, n: int) -> None:
        async with await psycopg.AsyncConnection.connect(self._conninfo) as connection:
            client = AsyncAbsurd(connection, queue_name=_QUEUE)
            for _ in range(n):
                await client.spawn("noop", {}, queue=_QUEUE)

    async def _drain(self, n: int) -> Drained:
        self._meter = Meter(n)
        worker = asyncio.create_task(self._client.start_worker(concurrency=CONCURRENCY))
        drained = await self._meter.wait_async(self._unfinished, worker)
        self._client.stop_worker()
        await worker
        return drained

    async def _checkpoints(self, n: int) -> list[float]:
        await self._client.spawn("steps", n)
        await self._client.work_batch()
        return self._watch.times
