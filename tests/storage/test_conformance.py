"""The conformance suite, on every built-in adapter."""

from __future__ import annotations

from pathlib import Path

import pytest

from postgres.fixtures import Place
from taskstate.storage import FileStorage, MemoryStorage, PostgresStorage, SQLiteStorage
from taskstate.testing import GetManyConformance, PersistenceConformance, StorageConformance, VersionsConformance


@pytest.mark.covers("memory")
class TestMemoryStorage(StorageConformance, GetManyConformance, VersionsConformance):
    def make_storage(self, tmp_path: Path) -> MemoryStorage:
        return MemoryStorage()


@pytest.mark.covers("file")
class TestFileStorage(StorageConformance, GetManyConformance, VersionsConformance, PersistenceConformance):
    def make_storage(self, tmp_path: Path) -> FileStorage:
        return FileStorage(tmp_path / "state")


@pytest.mark.covers("sqlite")
class TestSQLiteStorage(StorageConformance, GetManyConformance, VersionsConformance, PersistenceConformance):
    def make_storage(self, tmp_path: Path) -> SQLiteStorage:
        return SQLiteStorage(tmp_path / "agent.db")


class TestPostgresStorage(StorageConformance, GetManyConformance, VersionsConformance, PersistenceConformance):
    @pytest.fixture(autouse=True)
    def keep_place(self, place: Place) -> None:
        self.place = place

    def make_storage(self, tmp_path: Path) -> PostgresStorage:
        return PostgresStorage(self.place.conninfo, schema=self.place.schema)
