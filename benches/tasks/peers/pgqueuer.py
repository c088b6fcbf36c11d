"""PgQueuer on asyncpg: jobs claimed ten at a time, with its tables durable (its default).

Completions are buffered and written when ten have gathered or a tenth of a second has passed, so that they are durable
only some time after the body ran. It has no bound on running jobs below twice the batch: here there is none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import asyncpg
from pgqueuer import AsyncpgDriver, QueueManager
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from ..peer import CONCURRENCY, Counter, Drained, Meter


class Engine:
    """A worker of PgQueuer."""

    def setup(self, conninfo: str) -> None:
        logging.getLogger("pgqueuer").setLevel(logging.ERROR)
        self._conninfo = conninfo
        self._runner = asyncio.Runner()
        self._runner.run(self._open())
        self._unfinished = Counter(conninfo, "SELECT count(*) FROM pgqueuer")

    def enqueue(self, n: int) -> float:
        begun = time.perf_counter()
        self._runner.run(self._queries.enqueue(["noop"] * n, [None] * n, [0] * n))
        return time.perf_counter() - begun

    def drain(self, n: int) -> Drained:
        return self._runner.run(self._drain(n))

    def checkpoints(self, n: int) -> list[float]:
        raise NotImplementedError

    def close(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()
        self._unfinished.close()

    async def _open(self) -> None:
        self._connection: Any = await asyncpg.connect(self._conninfo)
        self._queries = Queries(AsyncpgDriver(self._connection))
        await self._queries.install()

    async def _drain(self, n: int) -> Drained:
        connection = await asyncpg.connect(self._conninfo)
        manager = QueueManager(Queries(AsyncpgDriver(connection)))
        meter = Meter(n)

        @manager.entrypoint("noop")
        async def noop(job: Job) -> None:
            meter.ran()

        worker = asyncio.create_task(manager.run(batch_size=CONCURRENCY))
        drained = await meter.wait_async(self._unfinished, worker)
        manager.shutdown.set()
        await worker
        await connection.close()
        return drained
