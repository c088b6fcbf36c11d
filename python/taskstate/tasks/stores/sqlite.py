"""Tasks in a SQLite database: the store for one machine, shared by any number of its processes."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from ...clock import Clock
from ...errors import ConfigurationError
from ...storage.sqlite_file import SQLiteFile, roll_back
from ...storage.worker import Outcome, attempt
from ..records import TOPICS
from .hints import Hints
from .sql.lanes import Lane, SqlPulse, SqlTaskStore
from .sql.migrations import migrations, missing, not_current
from .sql.queries import Query, load
from .sql.session import Row, Session

T = TypeVar("T")

_MACHINE_CLOCK = "CAST((julianday('now') - 2440587.5) * 86400000 AS integer)"
_GIVEN_CLOCK = "taskstate_now()"


@cache
def _queries(now: str) -> dict[str, Query]:
    return load(
        "sqlite",
        {
            "now": lambda _: now,
            "lock": lambda _: "",  # a transaction that writes has the whole file
            "skip": lambda _: "",
            "in": "IN (SELECT value FROM json_each(:{}))".format,
            "inint": "IN (SELECT value FROM json_each(:{}))".format,
            "bytes": "length(CAST({} AS blob))".format,
            "least": lambda _: "min",
        },
    )


class SQLiteTaskStore(SqlTaskStore):
    """Tasks in tables `taskstate_*` of one database file, which may hold other tables too.

    What is acknowledged is on the disk; calls that wait at the same time share a transaction. A process that finds
    the file locked waits up to `busy_timeout` milliseconds, then raises StorageError. Other processes are noticed by
    looking at the file every `watch_ms`. `clock` is the store's clock, the machine's if None; it must be one for all
    processes. Not for network file systems.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_timeout: int = 10_000,
        watch_ms: int = 50,
        clock: Clock | None = None,
    ) -> None:
        if os.fspath(path) in ("", ":memory:"):
            raise ConfigurationError("SQLiteTaskStore needs a file; MemoryTaskStore keeps tasks in memory")
        self.path = Path(path).absolute()
        self._engine = partial(Tables, self.path, busy_timeout, clock, self)
        write = Lane("write", self._engine())
        super().__init__(write, write, Lane("read", self._engine()))
        self._watch_ms = watch_ms
        self._watching: threading.Event | None = None

    def __repr__(self) -> str:
        return f"SQLiteTaskStore({str(self.path)!r})"

    def pulse(self) -> SqlPulse:
        """See `TaskStore`."""
        return SqlPulse(self._engine())

    def listen(self) -> None:
        """See `Hints`."""
        self._watching = threading.Event()
        threading.Thread(target=self._watch, args=(self._watching,), name="taskstate-tasks-watch", daemon=True).start()

    def hush(self) -> None:
        """See `Hints`."""
        if self._watching is not None:
            self._watching.set()
            self._watching = None

    def _watch(self, stop: threading.Event) -> None:
        """Tell of everything whenever the file has changed."""
        engine = self._engine()
        known: Any = None
        while not stop.wait(self._watch_ms / 1000):
            seen = attempt(lambda: engine.connected().execute("PRAGMA data_version").fetchone())
            if seen.error is None and seen.value != known:
                known = seen.value
                self.tell(set(TOPICS))
        engine.close()


class Tables(SQLiteFile):
    """One connection to the tables of tasks."""

    def __init__(self, path: Path, busy_timeout: int, clock: Clock | None, hints: Hints) -> None:
        super().__init__(path, busy_timeout)
        self._clock = clock
        self._hints = hints
        self.session = SQLiteSession(self, _queries(_MACHINE_CLOCK if clock is None else _GIVEN_CLOCK))

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Set the connection up; the tables are made by `migrate`."""
        connection.execute("PRAGMA foreign_keys = ON")
        if self._clock is not None:
            connection.create_function("taskstate_now", 0, self._clock)

    def perform(self, work: Callable[[], Any]) -> Outcome:
        """The outcome of an operation; one that refused before it changed anything need not undo the others."""
        return self.session.attempt(work)

    def write_group(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        """See `SQLiteFile`; subscribers are told afterwards."""
        self.session.topics = set()
        outcomes = super().write_group(works)
        self._hints.tell(self.session.topics)
        return outcomes

    def look(self, work: Callable[[], T]) -> T:
        """What `work` reads, all of it at one moment."""
        with self.reporting(self.path.name), self.snapshot():
            return work()

    def migrate(self, *, verify_only: bool) -> None:
        """See `TaskStore.open`."""
        known = migrations("sqlite")
        with self.reporting(self.path.name):
            connection = self.connected()
            there = self.session.one("versions_table_find") is not None
            applied: dict[int, str] = dict(self.session.all("versions")) if there else {}
            rest = missing(known, applied, self.path.name)
            if not rest:
                return
            if verify_only:
                raise not_current(self.path.name, rest)
            connection.execute("BEGIN IMMEDIATE")
            try:
                self.session.run("versions_table")
                for migration in missing(known, dict(self.session.all("versions")), self.path.name):
                    for statement in _statements(migration.text):
                        connection.execute(statement)
                    self.session.run("version_add", version=migration.number, checksum=migration.checksum)
                connection.execute("COMMIT")
            except BaseException:
                roll_back(connection)
                raise


class SQLiteSession(Session):
    """Statements on the connection of `Tables`."""

    def __init__(self, tables: Tables, queries: dict[str, Query]) -> None:
        super().__init__(queries)
        self._tables = tables

    def execute(self, text: str, values: dict[str, Any]) -> tuple[list[Row], int]:
        """See `Session`."""
        cursor = self._tables.connected().execute(text, _adapted(values))
        return cursor.fetchall(), cursor.rowcount

    def execute_many(self, text: str, rows: Sequence[dict[str, Any]]) -> bool:
        """See `Session`."""
        connection = self._tables.connected()
        connection.execute("SAVEPOINT many")
        whole = connection.executemany(text, rows).rowcount == len(rows)
        if not whole:
            connection.execute("ROLLBACK TO many")
        connection.execute("RELEASE many")
        return whole


def _adapted(values: dict[str, Any]) -> dict[str, Any]:
    """Lists as JSON text, which `json_each` takes apart."""
    return {key: orjson.dumps(value).decode() if isinstance(value, list) else value for key, value in values.items()}


def _statements(text: str) -> list[str]:
    """The statements of a migration, one by one: `executescript` would end the transaction."""
    found: list[str] = []
    rest = ""
    for line in text.splitlines():
        rest += line + "\n"
        if sqlite3.complete_statement(rest):
            found.append(rest)
            rest = ""
    return found
