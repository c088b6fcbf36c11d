"""State in a SQLite database: the storage for one machine, shared by any number of its processes."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from .. import core
from ..errors import ConfigurationError
from .database import Database
from .engine import EngineStorage


class SQLiteStorage(EngineStorage):
    """Records in the table `taskstate_storage` of one database file, which may hold other tables too.

    The file is created when first needed, readable by its owner only, in write-ahead mode; a write is
    on the disk when it returns. Writes that wait at the same time share one transaction. A process that
    finds the database locked waits up to `busy_timeout` milliseconds, then raises StorageError.
    `max_bytes` limits one value. Safe to use from several threads, event loops and processes, and
    across forks; a pickle of it is a storage on the same file. Not for network file systems.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_timeout: int = 10_000,
        max_bytes: int = core.DEFAULT_MAX_BYTES,
    ) -> None:
        if os.fspath(path) in ("", ":memory:"):
            raise ConfigurationError("SQLiteStorage needs a file; MemoryStorage keeps values in memory")
        self.path = Path(path).absolute()
        self._options = {"busy_timeout": busy_timeout, "max_bytes": max_bytes}
        super().__init__(Database(self.path, busy_timeout), "sqlite", max_bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.path, **self._options), ()

    def __repr__(self) -> str:
        return f"SQLiteStorage({str(self.path)!r})"
