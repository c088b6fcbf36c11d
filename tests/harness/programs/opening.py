"""The storages that the programs of these tests open, by name."""

from __future__ import annotations

from pathlib import Path

from taskstate.storage import FileStorage, SQLiteStorage


def open_storage(kind: str, root: str | Path) -> FileStorage | SQLiteStorage:
    """A storage of this kind below `root`; opened again with the same `root` it has the same records."""
    if kind == "file":
        return FileStorage(Path(root) / "state")
    return SQLiteStorage(Path(root) / "state" / "agent.db")
