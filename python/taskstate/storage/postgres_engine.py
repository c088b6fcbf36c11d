"""Records in a table of PostgreSQL: the blocking half of `PostgresStorage`. Imports psycopg."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from ..errors import ConflictError, StorageError
from ..ids import random_id
from .engine import ANY, Expected, Record
from .postgres_link import Connection, Link, in_one_trip, is_fault_of_one, reason
from .statements import read_statements
from .worker import Outcome

_log = logging.getLogger(__name__)

_INDEXED = 1000  # bytes of a key by which the index knows it: `names_from` and `create_index`
_STALLED = 5_000  # milliseconds after which a transaction that does nothing is taken for dead, at the earliest


class _Write(NamedTuple):
    """A write that is planned: how it is done, and the version that the record has afterwards."""

    key: str
    statement: str
    params: tuple[Any, ...]
    version: str | None
    conditional: bool


class Table:
    """One connection, opened when it is first needed; used by one thread at a time, not always the same."""

    def __init__(self, conninfo: str, schema: str, busy_timeout: int, prepare_threshold: int | None) -> None:
        self._link = Link(conninfo, busy_timeout / 1000, prepare_threshold, self._prepare)
        self._name = f"{schema}.taskstate_storage"
        self._schema = schema
        self._timeouts = (f"{busy_timeout}ms", f"{max(busy_timeout, _STALLED)}ms")
        names = {"schema": sql.Identifier(schema), "table": sql.Identifier(schema, "taskstate_storage")}
        self._sql = {
            name: sql.SQL(text).format(**names).as_bytes(None)
            for name, text in read_statements(__package__, "postgres").items()
        }

    def load(self, keys: Sequence[str]) -> list[Record | None]:
        """The record of each of `keys`, all as they were at one moment: one statement, however many there are."""
        digests = [hashlib.sha256(key.encode()).digest() for key in keys]
        rows = self._read(keys[0] if len(keys) == 1 else self._name, "load", digests)
        found = {digest: Record(value.encode(), version) for digest, value, version in rows}
        return [found.get(digest) for digest in digests]

    def names(self, prefix: str) -> list[str]:
        """The keys that start with `prefix`."""
        start = prefix.encode()
        if not start:
            rows = self._read(prefix, "names")
        else:
            first = start[:_INDEXED]
            end = first[:-1] + bytes([first[-1] + 1])  # UTF-8 has no byte 0xff
            rows = self._read(prefix, "names_from", first, end, start)
        return [name for (key,) in rows if (name := self._decoded(key)) is not None]

    def put(self, key: str, text: bytes, expected: Expected) -> str:
        """Plan to keep `text`, for `write_group` to do; the new version."""
        version = random_id()
        params = (key.encode(), text.decode(), version)
        if expected is ANY:
            self._planned = _Write(key, "put", params, version, conditional=False)
        elif expected is None:
            self._planned = _Write(key, "put_new", params, version, conditional=True)
        else:
            self._planned = _Write(key, "put_over", (*params, expected), version, conditional=True)
        return version

    def drop(self, key: str, expected: Expected) -> None:
        """Plan to remove the record, for `write_group` to do."""
        name = key.encode()
        if expected is ANY:
            self._planned = _Write(key, "drop", (name,), None, conditional=False)
        elif expected is None:
            self._planned = _Write(key, "absent", (name,), None, conditional=True)
        else:
            self._planned = _Write(key, "drop_at", (name, expected), None, conditional=True)

    def write_group(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        """Do all `works` in one transaction; if one of them spoils it, each in its own."""
        values, writes = [], []
        for work in works:
            values.append(work())
            writes.append(self._planned)
        return [
            Outcome(value) if error is None else Outcome(None, _told(error, write.key))
            for value, write, error in zip(values, writes, self._done(writes), strict=True)
        ]

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        self._link.close()

    def _done(self, writes: Sequence[_Write]) -> list[Exception | None]:
        """What became of each write: None, or the error that says why it changed nothing."""
        try:
            return self._link.run(lambda connection, again: self._transact(connection, writes, again))
        except psycopg.Error as error:
            if len(writes) == 1 or not is_fault_of_one(error):
                return [error] * len(writes)
        return [self._done([write])[0] for write in writes]

    def _transact(self, connection: Connection, writes: Sequence[_Write], again: bool) -> list[Exception | None]:
        """One transaction, in one round trip where the client library can."""
        # Everybody takes the rows in the order of their keys, so no two transactions wait for each other.
        order = sorted(range(len(writes)), key=lambda number: writes[number].params[0])
        changed = [0] * len(writes)
        with in_one_trip(connection):
            connection.execute(self._sql["begin"])
            connection.execute(self._sql["settle"], self._timeouts)
            cursors = [connection.execute(self._sql[writes[n].statement], writes[n].params) for n in order]
            end = connection.execute("COMMIT")
        if end.statusmessage != "COMMIT":  # nothing may pass for written on the strength of an error not raised
            raise psycopg.OperationalError
        for number, cursor in zip(order, cursors, strict=True):
            changed[number] = cursor.rowcount
        return [
            self._conflict(connection, write, again) if write.conditional and not rows else None
            for write, rows in zip(writes, changed, strict=True)
        ]

    def _conflict(self, connection: Connection, write: _Write, again: bool) -> Exception | None:
        """Why a write found another version; None if it made that itself, before the connection broke."""
        if again and write.statement != "absent":
            digest = hashlib.sha256(write.params[0]).digest()
            found = connection.execute(self._sql["load"], ([digest],)).fetchone()
            if write.version is not None and found is not None and found[2] == write.version:
                return None
            return StorageError(write.key, "the connection was lost, and whether this was written is not known")
        return ConflictError(write.key, "is not at the expected version")

    def _read(self, label: str, statement: str, *params: Any) -> list[tuple[Any, ...]]:
        try:
            return self._link.run(lambda connection, _: connection.execute(self._sql[statement], params).fetchall())
        except psycopg.Error as error:
            raise _told(error, label) from None

    def _prepare(self, connection: Connection) -> None:
        """Make the table, unless it is there; any number of processes may do so at once."""
        if connection.execute(self._sql["find_table"], (self._schema,)).fetchone():
            return
        with connection.transaction():
            connection.execute(self._sql["settle"], self._timeouts)
            connection.execute(self._sql["lock_creation"])
            if not connection.execute(self._sql["find_schema"], (self._schema,)).fetchone():
                connection.execute(self._sql["create_schema"])
            if not connection.execute(self._sql["find_table"], (self._schema,)).fetchone():
                connection.execute(self._sql["create_table"])
                connection.execute(self._sql["create_index"])

    def _decoded(self, key: bytes) -> str | None:
        """A key as text. One that this library can't have written is left alone, and named in the log."""
        try:
            return key.decode()
        except UnicodeDecodeError:
            _log.warning("%s: a record has a key that is no UTF-8", self._name)
            return None


def _told(error: Exception, key: str) -> Exception:
    """An error as the storage's users see it: without SQL, values and how to connect."""
    return StorageError(key, reason(error)) if isinstance(error, psycopg.Error) else error
