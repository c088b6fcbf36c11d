"""A connection to a SQLite file: durable, in write-ahead mode, with errors in the words of this library."""

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

from ..errors import ConflictError, StorageError
from .disk import FILE_MODE, make_folder, sync_folder
from .worker import Outcome, attempt

_log = logging.getLogger(__name__)

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


class SQLiteFile:
    """One connection, opened when it is first needed; used by one thread at a time, not always the same.

    A subclass makes its tables in `prepare`, which is called with each new connection.
    """

    def __init__(self, path: Path, busy_timeout: int) -> None:
        self.path = path
        self._timeout = busy_timeout / 1000
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Make what is missing. It may be called again, if another process was faster or holds the file."""

    def perform(self, work: Callable[[], Any]) -> Outcome:
        """The outcome of one work within a transaction; raises what is to undo the transaction."""
        try:
            return Outcome(work())
        except ConflictError as error:  # it changed nothing, and so need not undo the rest
            return Outcome(None, error)

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
        """The outcomes of `works` once they are committed; raises if any failed such that it spoils the rest."""
        with self.reporting(self.path.name):
            connection = self.connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                outcomes = [self.perform(work) for work in works]
                connection.execute("COMMIT")
            except BaseException:
                roll_back(connection)
                raise
        return outcomes

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection to which the database stands still."""
        connection = self.connected()
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            roll_back(connection)

    def connected(self) -> sqlite3.Connection:
        """The connection; StorageError if the file that it is for has lost its name."""
        if self._connection is None:
            self._create()
            connection = sqlite3.connect(
                self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
            try:
                self._configure(connection)
                self._identity = _identity(self.path)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        elif _identity(self.path) != self._identity:
            # Writes to a file that has lost its name would succeed and be lost.
            raise StorageError(self.path.name, "the database file was removed or replaced while it was open")
        return self._connection

    def _create(self) -> None:
        """Make the file with its mode before SQLite does, which gives its companions the same mode."""
        with _creating:
            make_folder(self.path.parent)
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
                sync_folder(self.path.parent)

    def _configure(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                self._use_write_ahead(connection)
                self.prepare(connection)
            except sqlite3.OperationalError as error:
                # Two processes that switch to WAL at once may get this without SQLite's own waiting.
                roll_back(connection)
                if not _is_locked(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_PAUSE)
            else:
                return

    def _use_write_ahead(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA journal_mode").fetchone() not in ((b"wal",), ("wal",)):
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode not in (b"wal", "wal"):
                _log.warning("%s: no write-ahead log here, using journal mode %s", self.path.name, mode)

    @contextmanager
    def reporting(self, label: str) -> Iterator[None]:
        """Turn the errors of SQLite and the system into StorageError, without any SQL in them."""
        try:
            yield
        except sqlite3.Error as error:
            raise StorageError(label, _REASONS.get(_primary(error), _error_name(error))) from error
        except OSError as error:
            raise StorageError(label, error.strerror or type(error).__name__) from error


def roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction, if there is one; nothing of it stays."""
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
