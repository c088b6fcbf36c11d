"""DBOS: workflows on a queue that it keeps in the database, PostgreSQL or SQLite.

Plain functions, since its thread pool is its quicker way. The worker asks for work as often as the setting allows
without slowing itself down: at the default of once a second it would do ten tasks a second. Every start, step and end
is committed on its own.

`unbounded` is its queue without a limit, which is its default: it claims all that is waiting at once, and is therefore
timed from its start on.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig

from ..peer import CONCURRENCY, Counter, Drained, Meter, Stopwatch

_QUEUE = "bench"
_POLL_S = 0.01
_LEFT = "FROM {}workflow_status WHERE status NOT IN ('SUCCESS', 'ERROR', 'CANCELLED')"
_meter: Meter
_watch: Stopwatch


@DBOS.workflow(name="noop")
def noop() -> int:
    """Do nothing."""
    _meter.ran()
    return 1


@DBOS.step()
def step(number: int) -> dict[str, int]:
    """Do nothing."""
    return {"number": number}


@DBOS.workflow(name="steps")
def steps(n: int) -> int:
    """Run `n` steps."""
    for number in range(n):
        with _watch:
            step(number)
    return n


class Engine:
    """A worker of DBOS."""

    def __init__(self, variant: str = "") -> None:
        self._limit = None if variant == "unbounded" else CONCURRENCY

    def setup(self, conninfo: str) -> None:
        self._sqlite = not conninfo.startswith("postgresql:")
        self._url = f"sqlite:///{conninfo}" if self._sqlite else conninfo
        self._path = conninfo
        self._counter: Counter | None = None
        self._launch()
        DBOS.register_queue(_QUEUE, worker_concurrency=self._limit, polling_interval_sec=_POLL_S)
        DBOS.destroy()
        if not self._sqlite:
            self._counter = Counter(conninfo, "SELECT count(*) " + _LEFT.format("dbos."))

    def enqueue(self, n: int) -> float:
        begun = time.perf_counter()
        client = DBOSClient(system_database_url=self._url)
        driver = "sqlite" if self._sqlite else "postgresql+psycopg"
        engine = sqlalchemy.create_engine(self._url.replace("postgresql", driver, 1) if not self._sqlite else self._url)
        with engine.begin() as connection:
            for _ in range(n):
                client.enqueue_in_transaction(connection, {"workflow_name": "noop", "queue_name": _QUEUE})
        engine.dispose()
        client.destroy()
        return time.perf_counter() - begun

    def drain(self, n: int) -> Drained:
        global _meter  # noqa: PLW0603 -- its functions are found by name, with no object to hold this
        _meter = Meter(n) if self._limit else Meter(n, lead_in=0)
        self._launch()
        if not self._limit:
            _meter.begin()
        return _meter.wait(self._unfinished())

    def checkpoints(self, n: int) -> list[float]:
        global _watch  # noqa: PLW0603
        _watch = Stopwatch()
        DBOS.start_workflow(steps, n).get_result()
        return _watch.times

    def close(self) -> None:
        DBOS.destroy()
        if self._counter is not None:
            self._counter.close()

    def _launch(self) -> None:
        config: DBOSConfig = {
            "name": "bench",
            "system_database_url": self._url,
            "log_level": "ERROR",
        }
        DBOS(config=config)
        DBOS.launch()

    def _unfinished(self) -> Callable[[], int]:
        return self._counter or self._count_file

    def _count_file(self) -> int:
        with closing(sqlite3.connect(self._path, timeout=30)) as connection:
            row: tuple[Any, ...] = connection.execute("SELECT count(*) " + _LEFT.format("")).fetchone()
        return int(row[0])
