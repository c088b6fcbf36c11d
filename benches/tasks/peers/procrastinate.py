"""procrastinate: jobs that a worker takes one at a time, woken by NOTIFY; each start and end is committed on its own.

The pool has a connection for each job beside that of the listener: with its default of four they would wait for one
another. It has no steps.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from procrastinate import App, PsycopgConnector

from ..peer import CONCURRENCY, Counter, Drained, Meter

_POOL = CONCURRENCY + 2


class Engine:
    """A worker of procrastinate."""

    def setup(self, conninfo: str) -> None:
        logging.getLogger("procrastinate").setLevel(logging.ERROR)
        self._runner = asyncio.Runner()
        self._app = App(connector=PsycopgConnector(conninfo=conninfo, min_size=_POOL, max_size=_POOL))
        self._meter: Meter | None = None

        @self._app.task(name="noop")
        async def noop() -> int:
            assert self._meter is not None
            self._meter.ran()
            return 1

        self._noop = noop
        self._runner.run(self._open())
        self._unfinished = Counter(
            conninfo, "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing', 'aborting')"
        )

    def enqueue(self, n: int) -> float:
        begun = time.perf_counter()
        self._runner.run(self._noop.batch_defer_async(*[{} for _ in range(n)]))
        return time.perf_counter() - begun

    def drain(self, n: int) -> Drained:
        return self._runner.run(self._drain(n))

    def checkpoints(self, n: int) -> list[float]:
        raise NotImplementedError

    def close(self) -> None:
        self._runner.run(self._app.close_async())
        self._runner.close()
        self._unfinished.close()

    async def _open(self) -> None:
        await self._app.open_async()
        await self._app.schema_manager.apply_schema_async()

    async def _drain(self, n: int) -> Drained:
        self._meter = Meter(n)
        worker = asyncio.create_task(self._app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False))
        drained = await self._meter.wait_async(self._unfinished, worker)
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker
        return drained
