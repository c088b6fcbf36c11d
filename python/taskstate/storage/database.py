"""Records in a SQLite database: the blocking half of `SQLiteStorage`."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ConflictError, CorruptRecordError, StorageError
from ..ids import random_id
from .disk import FILE_MODE, make_folder, sync_folder
from .engine import ANY, Expected, Record
from .worker import Outcome, attempt

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
_RETRY_PAUSE = 0.01  # seconds

_LOCKED = "the database is locked by another process"
_REASONS = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_CANTOPEN": "the database file can't be opened",
    "SQLITE_CORRUPT": "the database file is damaged",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_NOTADB": "the file is not a SQLite database",
    "SQLITE_READONLY": "the database is read-only",
    "SQLITE_TOOBIG": "the value is too large for SQLite",
}

# A process that closes any handle of a file loses all locks that it has on that file. So the handle
# that creates the database is closed before a connection of this process can have it open.
_creating = threading.Lock()


class Database:
    """One connection, opened when it is first needed; used by one thread at a time, not always the same."""

    def __init__(self, path: Path, busy_timeout: int) -> None:
        self._path = path
        self._timeout = busy_timeout / 1000
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def load(self, keys: Sequence[str]) -> list[Record | None]:
        """The record of each of `keys`, all as they were at one moment."""
        found: dict[bytes, Record] = {}
        wanted = [key.encode() for key in keys]
        with self._reporting(keys[0] if len(keys) == 1 else self._path.name), self._snapshot(len(wanted)) as connection:
            for start in range(0, len(wanted), _KEYS_A_STATEMENT):
                some = wanted[start : start + _KEYS_A_STATEMENT]
                rows = connection.execute(_LOAD.format(",".join("?" * len(some))), some)
                found.update((key, _record(key, value, version)) for key, value, version in rows)
        return [found.get(key) for key in wanted]

    def names(self, prefix: str) -> list[str]:
        """The keys that start with `prefix`, in the order of their UTF-8 bytes."""
        start = prefix.encode()
        with self._reporting(prefix):
            if start:
                end = start[:-1] + bytes([start[-1] + 1])  # UTF-8 has no byte 0xff
                rows = self._open().execute(_NAMES, (start, end)).fetchall()
            else:
                rows = self._open().execute(_ALL_NAMES).fetchall()
        return [name for (key,) in rows if (name := self._name(key)) is not None]

    def _name(self, key: object) -> str | None:
        """A key as text. One that this library can't have written is left alone, and named in the log."""
        try:
            return key.decode() if isinstance(key, bytes) else None
        except UnicodeDecodeError:
            _log.warning("%s: a record has a key that is no UTF-8", self._path.name)
            return None

    def put(self, key: str, text: bytes, expected: Expected) -> str:
        """Keep `text`, within a transaction of `write_group`; the new version."""
        version = random_id()
        row = (text, version, key.encode())
        with self._reporting(key):
            connection = self._open()
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
        with self._reporting(key):
            connection = self._open()
            if expected is ANY:
                connection.execute(_DROP, (name,))
                return
            if expected is None:
                as_expected = connection.execute(_EXISTS, (name,)).fetchone() is None
            else:
                as_expected = connection.execute(_DROP_AT, (name, expected)).rowcount > 0
        if not as_expected:
            raise ConflictError(key, "is not at the expected version")

    def write_group(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        """Do all `works` in one transaction; if that fails, each in its own, so that none spoils another."""
        if len(works) > 1:
            together = attempt(partial(self._transact, works))
            if together.error is None:
                return list(together.value)
            if _is_locked(together.error):  # waiting as long again for each of them would not help
                return [together] * len(works)
        alone = [attempt(partial(self._transact, [work])) for work in works]
        return [one.value[0] if one.error is None else one for one in alone]

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _transact(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        """The outcomes of `works` once they are committed; raises if any failed other than by a conflict."""
        with self._reporting(self._path.name):
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                outcomes = [_conflict_or_value(work) for work in works]
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
        return outcomes

    @contextmanager
    def _snapshot(self, keys: int) -> Iterator[sqlite3.Connection]:
        connection = self._open()
        if keys <= _KEYS_A_STATEMENT:  # one statement sees one moment by itself
            yield connection
            return
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            _roll_back(connection)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._create()
            connection = sqlite3.connect(
                self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(connection)
                self._identity = _identity(self._path)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        elif _identity(self._path) != self._identity:
            # Writes to a file that has lost its name would succeed and be lost.
            raise StorageError(self._path.name, "the database file was removed or replaced while it was open")
        return self._connection

    def _create(self) -> None:
        """Make the file with its mode before SQLite does, which gives its companions the same mode."""
        with _creating:
            make_folder(self._path.parent)
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
                sync_folder(self._path.parent)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.text_factory = bytes
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                self._prepare_file(connection)
            except sqlite3.OperationalError as error:
                # Two processes that switch to WAL at once may get this without SQLite's own waiting.
                _roll_back(connection)
                if not _is_locked(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_PAUSE)
            else:
                return

    def _prepare_file(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA journal_mode").fetchone() != (b"wal",):
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != b"wal":
                _log.warning("%s: no write-ahead log here, using journal mode %s", self._path.name, mode.decode())
        if connection.execute(_HAS_SCHEMA).fetchone() is None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_SCHEMA)
            connection.execute("COMMIT")

    @contextmanager
    def _reporting(self, label: str) -> Iterator[None]:
        """Turn the errors of SQLite and the system into StorageError, without any SQL in them."""
        try:
            yield
        except sqlite3.Error as error:
            raise StorageError(label, _REASONS.get(_primary(error), _error_name(error))) from error
        except OSError as error:
            raise StorageError(label, error.strerror or type(error).__name__) from error


def _record(key: bytes, value: object, version: object) -> Record:
    if not isinstance(value, bytes):
        raise CorruptRecordError(key.decode(errors="replace"), "not JSON text")
    return Record(value, version.decode(errors="replace") if isinstance(version, bytes) else str(version))


def _conflict_or_value(work: Callable[[], Any]) -> Outcome:
    """A conflict changed nothing, and so need not undo the rest of its transaction."""
    try:
        return Outcome(work())
    except ConflictError as error:
        return Outcome(None, error)


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # some errors have ended it already
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _error_name(error: sqlite3.Error) -> str:
    return str(getattr(error, "sqlite_errorname", type(error).__name__))


def _primary(error: sqlite3.Error) -> str:
    """The primary name of an error: SQLITE_BUSY for SQLITE_BUSY_SNAPSHOT."""
    return "_".join(_error_name(error).split("_")[:2])


def _is_locked(error: BaseException) -> bool:
    cause = error.__cause__ if isinstance(error, StorageError) else error
    return isinstance(cause, sqlite3.Error) and _REASONS.get(_primary(cause)) == _LOCKED
