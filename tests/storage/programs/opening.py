"""The storages that the programs of these tests open, by name."""

from __future__ import annotations

import os
from pathlib import Path

from taskstate.storage import FileStorage, PostgresStorage, SQLiteStorage


def open_storage(
    kind: str, root: str | Path, part: str = "", **options: int
) -> FileStorage | SQLiteStorage | PostgresStorage:
    """A storage of this kind below `root`; opened again with the same `root` and `part` it has the same records."""
    if kind.startswith("postgres"):
        conninfo, schema = os.environ["TEST_CONNINFO"], os.environ["TEST_SCHEMA"] + part
        return PostgresStorage(conninfo, schema=schema, **options)  # type: ignore[arg-type]
    root = Path(root) / part
    if kind == "file":
        return FileStorage(Path(root) / "state", **options)
    return SQLiteStorage(Path(root) / "state" / "agent.db", **options)
