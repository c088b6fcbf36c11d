"""Where tasks are kept, as it can be told to another process."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from taskstate.tasks import TaskStore


class Where(NamedTuple):
    """A file of SQLite, or a schema of PostgreSQL."""

    conninfo: str
    schema: str | None = None


def open_place(where: Where) -> TaskStore:
    """A store object of its own on that place."""
    if where.schema is None:
        from taskstate.tasks.stores.sqlite import SQLiteTaskStore

        return SQLiteTaskStore(Path(where.conninfo))
    from taskstate.tasks.stores.postgres import PostgresTaskStore

    return PostgresTaskStore(where.conninfo, schema=where.schema)
