"""The stores that durable tasks can be kept in."""

from __future__ import annotations

import os

from ...errors import ConfigurationError
from ..protocol import TaskStore

_MEMORY = "memory:"


def open_store(place: str | os.PathLike[str]) -> TaskStore:
    """The store of a place: `memory:`, `postgresql://...`, or the path of a SQLite file."""
    text = os.fspath(place)
    if text == _MEMORY:
        from .memory import MemoryTaskStore

        return MemoryTaskStore()
    if text.startswith(("postgresql://", "postgres://")):
        try:
            from .postgres import PostgresTaskStore
        except ImportError as error:  # also without libpq, which psycopg looks for when it is imported
            raise ConfigurationError(f"PostgreSQL needs psycopg: install taskstate[postgres] ({error})") from None
        return PostgresTaskStore(text)
    if "://" in text:
        raise ConfigurationError("a store is `memory:`, `postgresql://...` or the path of a SQLite file")
    from .sqlite import SQLiteTaskStore

    return SQLiteTaskStore(text)
