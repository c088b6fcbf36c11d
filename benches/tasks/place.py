"""Where the engines keep their tasks: databases of a throw-away PostgreSQL server, and files beside it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Self

import psycopg

# The server is the one that the tests start.
sys.path.append(str(Path(__file__).parents[2] / "tests"))

from postgres import Cluster

Database = Literal["postgres", "sqlite"]

# What differs from the server's defaults. The vacuum and the checkpoint that come with time would hit one engine's
# turn and spare another's: both are done before each turn instead.
SETTINGS = {"autovacuum_naptime": "10min", "checkpoint_timeout": "1h", "max_wal_size": "8GB", "shared_buffers": "128MB"}


class Place:
    """A server with `fsync` on and a folder for files, until the end of the `with`."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._number = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._cluster: Any = stack.enter_context(Cluster(self._server, settings=SETTINGS))
            self._folder = Path(stack.enter_context(TemporaryDirectory(prefix="taskstate-bench-")))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def version(self) -> str:
        """The server's."""
        return str(self._cluster.programs.version)

    @contextmanager
    def fresh(self, database: Database) -> Iterator[str]:
        """A connection string for an empty database, which is dropped afterwards, or for a file that isn't there."""
        if database == "sqlite":
            self._number += 1
            yield str(self._folder / f"{self._number}.db")
        else:
            with self._cluster.database() as name:
                yield self._cluster.conninfo(name, tcp=True)

    def settle(self, conninfo: str) -> None:
        """Give the planner its statistics and write out what lies in memory, so that no turn pays for it."""
        if conninfo.startswith("postgresql:"):
            with psycopg.connect(conninfo, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
                connection.execute("CHECKPOINT")

    def floor(self, n: int = 300) -> list[float]:
        """Commit an update of one row `n` times, as psycopg does at its quickest; each in milliseconds."""
        times = []
        with self.fresh("postgres") as conninfo, psycopg.connect(conninfo, autocommit=True) as connection:
            connection.execute("CREATE TABLE one (id int PRIMARY KEY, n int NOT NULL)")
            connection.execute("INSERT INTO one VALUES (1, 0)")
            for _ in range(n):
                begun = time.perf_counter()
                connection.execute("UPDATE one SET n = n + 1 WHERE id = 1", prepare=True)
                times.append((time.perf_counter() - begun) * 1000)
        return times


def filesystem() -> str:
    """The kind of file system that temporary folders are on: in memory, nothing is ever waited for."""
    with TemporaryDirectory() as folder:
        path = Path(folder).resolve()
        best = ("", "unknown")
        try:
            mounts = Path("/proc/mounts").read_text()
        except OSError:
            return best[1]
        for line in mounts.splitlines():
            _, where, kind, *_ = line.split(" ")
            if path.is_relative_to(where) and len(where) >= len(best[0]):
                best = (where, kind)
        return best[1]
