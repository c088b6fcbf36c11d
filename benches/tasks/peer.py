"""What each engine must be able to do, and the clock that all of them are timed by."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

CONCURRENCY = 10
PATIENCE_S = 60.0
_LEAD_IN = 0.1
_POLL_S = 0.002


class Peer(Protocol):
    """An engine with one worker, in a process of its own."""

    def setup(self, conninfo: str) -> None:
        """Prepare an empty database: a `postgresql://` URL, or the path of a SQLite file that isn't there yet."""
        ...

    def enqueue(self, n: int) -> float:
        """Store `n` tasks that do nothing, in one transaction, while no worker runs; the seconds that it took."""
        ...

    def drain(self, n: int) -> Drained:
        """Start the worker with room for `CONCURRENCY` tasks and wait until the database says that all `n` are done."""
        ...

    def checkpoints(self, n: int) -> list[float]:
        """Run one task of `n` steps that do nothing, one after the other; each in milliseconds."""
        ...

    def close(self) -> None:
        """Stop the worker and let go of the database."""
        ...


class Drained(NamedTuple):
    """`tasks` took `seconds`, the lead-in left out; `whole` is the time from the worker's start for all of them."""

    tasks: int
    seconds: float
    whole: float


class Meter:
    """The clock of one drain. Each task's body calls `ran`.

    The time runs from the moment a tenth of the bodies have run, so that no engine pays for its start and its first
    look at the queue, until the database has all of them as done. It isn't asked before the last body has run:
    asking meanwhile would take time from the worker.
    """

    def __init__(self, n: int, *, lead_in: float = _LEAD_IN) -> None:
        self._total = n
        self._lead = int(n * lead_in)
        self._calls = itertools.count(1)
        self._all: Future[None] = Future()
        self.begin()

    def begin(self) -> None:
        """The worker may begin now: this is done by making the clock, too."""
        self._from = self._start = time.perf_counter()

    def ran(self) -> None:
        """One more body ran; from any thread."""
        call = next(self._calls)
        if call == self._lead:
            self._from = time.perf_counter()
        elif call == self._total:
            self._all.set_result(None)

    def wait(self, unfinished: Callable[[], int]) -> Drained:
        """Wait for the bodies, then until `unfinished`, which asks the database, says 0."""
        self._all.result(PATIENCE_S)
        return self._settle(unfinished)

    async def wait_async(self, unfinished: Callable[[], int], worker: asyncio.Task[Any] | None = None) -> Drained:
        """As `wait`, while the loop goes on; if `worker` ends before the bodies have run, with its error."""
        ran = asyncio.wrap_future(self._all)
        waited = [ran] if worker is None else [ran, worker]
        await asyncio.wait(waited, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if not ran.done():
            if worker is not None and worker.done():
                worker.result()
            raise TimeoutError("the tasks have not run")
        return await asyncio.to_thread(self._settle, unfinished)

    def _settle(self, unfinished: Callable[[], int]) -> Drained:
        deadline = time.monotonic() + PATIENCE_S
        while left := unfinished():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} tasks are not done")
            time.sleep(_POLL_S)
        end = time.perf_counter()
        return Drained(self._total - self._lead, end - self._from, end - self._start)


class Counter:
    """Asks PostgreSQL how many rows a query counts, on a connection of its own."""

    def __init__(self, conninfo: str, query: str) -> None:
        import psycopg

        self._connection: psycopg.Connection[Any] = psycopg.connect(conninfo, autocommit=True)
        self._query = query

    def __call__(self) -> int:
        row = self._connection.execute(self._query).fetchone()
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Stopwatch:
    """How long each of several steps took, in milliseconds."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.times.append((time.perf_counter() - self._begun) * 1000)
