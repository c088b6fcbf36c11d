"""Records in a SQLite database: the blocking half of `SQLiteStorage`."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..errors import ConflictError, CorruptRecordError
from ..ids import random_id
from .engine import ANY, Expected, Record
from .sqlite_file import SQLiteFile

_log = logging.getLogger(__name__)

# Keys are blobs: a key with a NUL, `%` or `_` in it is compared byte by byte, as Python compares a str.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS taskstate_storage (
    key BLOB NOT NULL PRIMARY KEY,
    value TEXT NOT NULL,
    version TEXT NOT NULL
)
"""
_HAS_SCHEMA = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'taskstate_storage'"
_LOAD = "SELECT key, value, version FROM taskstate_storage WHERE key IN ({})"
_ALL_NAMES = "SELECT key FROM taskstate_storage"
_NAMES = "SELECT key FROM taskstate_storage WHERE key >= ? AND key < ?"
_INSERT = "INSERT INTO taskstate_storage (value, version, key) VALUES (CAST(? AS TEXT), ?, ?) ON CONFLICT (key) DO "
_PUT = _INSERT + "UPDATE SET value = excluded.value, version = excluded.version"
_PUT_NEW = _INSERT + "NOTHING"
_PUT_OVER = "UPDATE taskstate_storage SET value = CAST(? AS TEXT), version = ? WHERE key = ? AND version = ?"
_DROP = "DELETE FROM taskstate_storage WHERE key = ?"
_DROP_AT = "DELETE FROM taskstate_storage WHERE key = ? AND version = ?"
_EXISTS = "SELECT 1 FROM taskstate_storage WHERE key = ?"

_KEYS_A_STATEMENT = 500  # well below the fewest parameters that any SQLite allows in a statement


class Database(SQLiteFile):
    """The table of records in a SQLite file."""

    def load(self, keys: Sequence[str]) -> list[Record | None]:
        """The record of each of `keys`, all as they were at one moment."""
        found: dict[bytes, Record] = {}
        wanted = [key.encode() for key in keys]
        with (
            self.reporting(keys[0] if len(keys) == 1 else self.path.name),
            self._at_one_moment(len(wanted)) as connection,
        ):
            for start in range(0, len(wanted), _KEYS_A_STATEMENT):
                some = wanted[start : start + _KEYS_A_STATEMENT]
                rows = connection.execute(_LOAD.format(",".join("?" * len(some))), some)
                found.update((key, _record(key, value, version)) for key, value, version in rows)
        return [found.get(key) for key in wanted]

    def names(self, prefix: str) -> list[str]:
        """The keys that start with `prefix`, in the order of their UTF-8 bytes."""
        start = prefix.encode()
        with self.reporting(prefix):
            if start:
                end = start[:-1] + bytes([start[-1] + 1])  # UTF-8 has no byte 0xff
                rows = self.connected().execute(_NAMES, (start, end)).fetchall()
            else:
                rows = self.connected().execute(_ALL_NAMES).fetchall()
        return [name for (key,) in rows if (name := self._name(key)) is not None]

    def _name(self, key: object) -> str | None:
        """A key as text. One that this library can't have written is left alone, and named in the log."""
        try:
            return key.decode() if isinstance(key, bytes) else None
        except UnicodeDecodeError:
            _log.warning("%s: a record has a key that is no UTF-8", self.path.name)
            return None

    def put(self, key: str, text: bytes, expected: Expected) -> str:
        """Keep `text`, within a transaction of `write_group`; the new version."""
        version = random_id()
        row = (text, version, key.encode())
        with self.reporting(key):
            connection = self.connected()
            if expected is ANY:
                cursor = connection.execute(_PUT, row)
            elif expected is None:
                cursor = connection.execute(_PUT_NEW, row)
            else:
                cursor = connection.execute(_PUT_OVER, (*row, expected))
        if cursor.rowcount == 0:
            raise ConflictError(key, "is not at the expected version")
        return version

    def drop(self, key: str, expected: Expected) -> None:
        """Remove the record, within a transaction of `write_group`."""
        name = key.encode()
        with self.reporting(key):
            connection = self.connected()
            if expected is ANY:
                connection.execute(_DROP, (name,))
                return
            if expected is None:
                as_expected = connection.execute(_EXISTS, (name,)).fetchone() is None
            else:
                as_expected = connection.execute(_DROP_AT, (name, expected)).rowcount > 0
        if not as_expected:
            raise ConflictError(key, "is not at the expected version")

    @contextmanager
    def _at_one_moment(self, keys: int) -> Iterator[sqlite3.Connection]:
        if keys <= _KEYS_A_STATEMENT:  # one statement sees one moment by itself
            yield self.connected()
            return
        with self.snapshot() as connection:
            yield connection

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Make the table, unless it is there."""
        connection.text_factory = bytes
        if connection.execute(_HAS_SCHEMA).fetchone() is None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_SCHEMA)
            connection.execute("COMMIT")


def _record(key: bytes, value: object, version: object) -> Record:
    if not isinstance(value, bytes):
        raise CorruptRecordError(key.decode(errors="replace"), "not JSON text")
    return Record(value, version.decode(errors="replace") if isinstance(version, bytes) else str(version))
