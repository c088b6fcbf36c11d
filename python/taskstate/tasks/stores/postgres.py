"""Tasks in PostgreSQL: the store for any number of workers on any number of machines. Imports psycopg."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

import psycopg
from psycopg import sql

from ...errors import ConfigurationError, StorageError
from ...storage.postgres_link import Connection, Link, is_fault_of_one, reason, without_secrets
from ...storage.worker import Outcome
from ..records import Claim, Ending, Lease, State, StoredCheckpoint, Topic, Want
from . import postgres_fast as fast
from .postgres_hints import Wire
from .sql import requesting
from .sql.lanes import Lane, SqlPulse, SqlTaskStore
from .sql.migrations import migrations, missing, not_current
from .sql.queries import Query, load
from .sql.session import Row, Session

T = TypeVar("T")

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_TABLE = re.compile(r"\b((?:FROM|JOIN|UPDATE|INTO|EXISTS)\s+)taskstate_|\btaskstate_(?=now\(\))")
_IDLE_MS = 10_000  # a transaction that does nothing for so long is a stopped process, whose locks are let go of
_AGAIN = "40"  # class of errors after which a transaction is to be done again: a deadlock, a conflict of order
_TRIES = 5


class PostgresTaskStore(SqlTaskStore):
    """Tasks in tables `taskstate_*` of a schema, which `open` creates if it is missing.

    A lost connection is made anew, and what was in hand is done again; if the server can't be reached for
    `busy_timeout` milliseconds, or a lock isn't to be had for so long, StorageError is raised. Uses up to five
    connections. Behind a pooler that gives each transaction another server connection, pass `prepare_threshold=None`
    and `notify=False`; changes of other processes are then noticed by looking only.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str = "taskstate",
        busy_timeout: int = 10_000,
        prepare_threshold: int | None = 5,
        notify: bool = True,
    ) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_$]{0,62}", schema):
            raise ConfigurationError("schema must be a plain name of PostgreSQL")
        self._shown = without_secrets(conninfo)
        self._link = partial(Link, conninfo, busy_timeout / 1000, prepare_threshold)
        self._schema = schema
        self._limit_ms = busy_timeout
        super().__init__(Lane("work", self._engine()), Lane("ask", self._engine()), Lane("see", self._engine()))
        self._wire = Wire(self._link, f"taskstate_tasks_{schema}"[:63], super().tell) if notify else None

    def _engine(self) -> Tables:
        return Tables(self._link, self._schema, self._limit_ms, self.tell)

    def __repr__(self) -> str:
        return f"PostgresTaskStore({self._shown!r})"

    async def claim(self, worker: str, wants: Sequence[Want], limit: int) -> list[Claim]:
        """See `TaskStore`."""
        return await self.work.write(fast.claim, worker, wants, limit) if wants else []

    async def finish(self, lease: Lease, ending: Ending) -> State:
        """See `TaskStore`."""
        return await self.work.write(fast.finish, lease, ending)

    async def checkpoint(self, lease: Lease, key: str, ordinal: int, input_hash: str, value: str) -> StoredCheckpoint:
        """See `TaskStore`."""
        return await self.work.write(fast.checkpoint, lease, key, ordinal, input_hash, value)

    def pulse(self) -> SqlPulse:
        """See `TaskStore`."""
        return SqlPulse(self._engine(), fast.beat)

    def tell(self, topics: AbstractSet[Topic]) -> None:
        """See `Hints`; other processes are told too."""
        super().tell(topics)
        if self._wire is not None:
            self._wire.tell(topics)

    def listen(self) -> None:
        """See `Hints`."""
        if self._wire is not None:
            self._wire.start()

    async def open(self, *, verify_only: bool = False) -> None:
        """See `TaskStore`."""
        await super().open(verify_only=verify_only)
        if self._wire is not None:
            self._wire.start()  # also one who only asks has something to tell

    def hush(self) -> None:
        """See `Hints`."""

    async def close(self) -> None:
        """See `TaskStore`."""
        await super().close()
        if self._wire is not None:
            self._wire.stop()


class Tables:
    """One connection to the tables of tasks; see `Engine`."""

    def __init__(
        self,
        link: Callable[[Callable[[Connection], None]], Link],
        schema: str,
        limit_ms: int,
        tell: Callable[[AbstractSet[Topic]], None],
    ) -> None:
        self._link = link(self._prepare)
        self._schema = schema
        self._limit_ms = limit_ms
        self._tell = tell
        self.session = PostgresSession(_statements(schema))

    def _prepare(self, connection: Connection) -> None:
        for name, value in (("lock_timeout", self._limit_ms), ("idle_in_transaction_session_timeout", _IDLE_MS)):
            connection.execute("SELECT set_config($1, $2, false)", (name, f"{value}ms"))

    def write_group(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        """Do those of `works` together that take their locks in one order, the others each in its own transaction."""
        self.session.topics = set()
        places = {number: _place(work) for number, work in enumerate(works)}
        together = sorted((place, number) for number, place in places.items() if place is not None)
        groups = [[number for _, number in together], *([number] for number, place in places.items() if place is None)]
        outcomes: dict[int, Outcome] = {}
        for group in groups:
            if group:
                outcomes.update(zip(group, self._done([works[number] for number in group]), strict=True))
        self._tell(self.session.topics)
        return [outcomes[number] for number in range(len(works))]

    def _done(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        """Do all `works` in one transaction; if that fails, each in its own, so that none spoils another."""
        error: Exception | None = None
        for _ in range(_TRIES):
            try:
                return self._link.run(lambda connection, _: self._transact(connection, works))
            except psycopg.Error as failed:
                error = StorageError("tasks", reason(failed))
                if len(works) == 1:
                    if not (failed.sqlstate or "").startswith(_AGAIN):
                        break
                elif is_fault_of_one(failed):
                    break
                else:
                    return [Outcome(None, error)] * len(works)
            except Exception as failed:  # noqa: BLE001 - one of the works refused, or is wrong
                error = failed
                break
        if len(works) == 1:
            return [Outcome(None, error)]
        return [self._done([work])[0] for work in works]

    def _transact(self, connection: Connection, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        session = self.session
        session.use(connection)
        if len(works) > 1 or getattr(works[0], "func", None) not in fast.ALONE:
            session.begin()
        try:
            ended = self._ended_together(works)
            outcomes = [ended.get(id(work)) or session.attempt(work) for work in works]
            session.commit()
        except BaseException:
            session.roll_back()
            raise
        return outcomes

    def _ended_together(self, works: Sequence[Callable[[], Any]]) -> dict[int, Outcome]:
        """The outcomes of those works, by identity, that end tasks and could do so in one statement."""
        ends = {work.args[1].id: work for work in works if isinstance(work, partial) and work.func is fast.finish}
        if len(ends) < 2:
            return {}
        done = fast.finish_together(self.session, [work.args[1:3] for work in ends.values()])
        return {id(ends[task_id]): Outcome("succeeded") for task_id in done}

    def look(self, work: Callable[[], T]) -> T:
        """What `work` reads."""

        def read(connection: Connection, _: bool) -> T:
            self.session.use(connection)
            return work()

        try:
            return self._link.run(read)
        except psycopg.Error as error:
            raise StorageError("tasks", reason(error)) from None

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        self._link.close()

    def migrate(self, *, verify_only: bool) -> None:
        """See `TaskStore.open`."""
        try:
            self._link.run(lambda connection, _: self._migrate(connection, verify_only))
        except psycopg.Error as error:
            raise StorageError(f"schema {self._schema}", reason(error)) from None

    def _migrate(self, connection: Connection, verify_only: bool) -> None:
        session, known, place = self.session, migrations("postgres"), f"schema {self._schema}"
        session.use(connection)
        rest = missing(known, self._applied(), place)
        if not rest:
            return
        if verify_only:
            raise not_current(place, rest)
        session.begin()
        try:
            session.all("versions_lock", place=place)
            if session.one("schema_find", schema=self._schema) is None:
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self._schema)).as_bytes(None))
            session.run("versions_table")
            connection.execute("SELECT set_config('search_path', $1, true)", (f'"{self._schema}"',))
            for migration in missing(known, self._applied(), place):
                connection.execute(migration.text)
                session.run("version_add", version=migration.number, checksum=migration.checksum)
            session.commit()
        except BaseException:
            session.roll_back()
            raise

    def _applied(self) -> dict[int, str]:
        found = self.session.one("versions_table_find", table=f'"{self._schema}".taskstate_schema_version')
        return dict(self.session.all("versions")) if found and found[0] is not None else {}


def _place(work: Callable[[], Any]) -> tuple[int, str] | None:
    """Where a work comes in a transaction with others; None for one that may wait for what others have locked.

    Conversations come before tasks, and tasks in the order of their ids: so two transactions don't wait for each
    other. A claim waits for nobody, and comes last, as others may wait for what it takes.
    """
    if not isinstance(work, partial):
        return None
    first = work.args[1] if len(work.args) > 1 else None
    if work.func is requesting.enqueue:
        return 0, min((task.conversation or "" for task in work.args[1]), default="")
    if isinstance(first, Lease):
        return 1, first.id
    return (2, "") if work.func is fast.claim else None


class PostgresSession(Session):
    """Statements on the connection of `Tables`."""

    def __init__(self, queries: dict[str, Query]) -> None:
        super().__init__(queries)
        self._connection: Connection | None = None
        self._begun = False

    def use(self, connection: Connection) -> None:
        """Take this connection, on which no transaction is begun."""
        self._connection = connection
        self._begun = False

    def begin(self) -> None:
        """See `Session`."""
        if not self._begun:
            self._open.execute("BEGIN")
            self._begun = True

    def commit(self) -> None:
        """Commit, if a transaction was begun."""
        if self._begun:
            self._open.execute("COMMIT")
            self._begun = False

    def roll_back(self) -> None:
        """Undo the transaction, if one was begun and the connection is still there."""
        if self._begun:
            self._begun = False
            with suppress(psycopg.Error):
                self._open.execute("ROLLBACK")

    @property
    def _open(self) -> Connection:
        assert self._connection is not None, "an operation ran outside of a transaction"
        return self._connection

    def execute(self, text: str, values: dict[str, Any]) -> tuple[list[Row], int]:
        """See `Session`."""
        statement, names = _numbered(text)
        cursor = self._open.execute(statement, [values[name] for name in names])
        return (cursor.fetchall() if cursor.description else []), cursor.rowcount

    def execute_many(self, text: str, rows: Sequence[dict[str, Any]]) -> bool:
        """See `Session`."""
        statement, names = _numbered(text)
        self._open.execute("SAVEPOINT many")
        cursor = self._open.cursor()
        cursor.executemany(statement, [[row[name] for name in names] for row in rows])
        whole = cursor.rowcount == len(rows)
        if not whole:
            self._open.execute("ROLLBACK TO many")
        self._open.execute("RELEASE many")
        return whole


@cache
def _numbered(text: str) -> tuple[bytes, list[str]]:
    """A statement with numbered parameters, and their names in that order."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        if found[1] not in names:
            names.append(found[1])
        return f"${names.index(found[1]) + 1}"

    return _PARAMETER.sub(number, text).encode(), names


@cache
def _statements(schema: str) -> dict[str, Query]:
    """All statements, with the tables of a schema, so that they don't hang on the session's search path."""
    words = {
        "now": lambda _: "(SELECT taskstate_now())",
        "lock": lambda _: "FOR NO KEY UPDATE",
        "skip": lambda _: "FOR NO KEY UPDATE SKIP LOCKED",
        "in": "= ANY (CAST(:{} AS text[]))".format,
        "inint": "= ANY (CAST(:{} AS bigint[]))".format,
        "bytes": "octet_length({})".format,
        "least": lambda _: "least",
    }
    place = f'"{schema}".taskstate_'
    return {
        name: query._replace(text=_TABLE.sub(lambda found: (found[1] or "") + place, query.text))
        for name, query in load("postgres", words).items()
    }
