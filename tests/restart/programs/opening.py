"""The storages and the task that the programs of these tests use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taskstate.restart import RestartRecord
from taskstate.restart.effects import Write, effect
from taskstate.restart.store import RecordStore
from taskstate.storage import FileStorage, SQLiteStorage


def open_storage(kind: str, root: str) -> Any:
    """A storage of this kind below `root`; opened again with the same `root` it has the same records."""
    return FileStorage(Path(root, "state")) if kind == "file" else SQLiteStorage(Path(root, "state", "agent.db"))


def mail(store: RecordStore, record: RestartRecord, effect_id: str) -> Write:
    """A mail, as an effect."""
    key = f"key-{effect_id}"
    return effect(store, record, effect_id, kind="mail", target="firm", idempotency_key=key, request_hash="0" * 64)
