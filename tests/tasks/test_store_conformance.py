"""The conformance suite, on every built-in task store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from postgres import Cluster
from postgres.fixtures import Place
from taskstate.tasks.stores.memory import MemoryTaskStore
from taskstate.tasks.stores.sqlite import SQLiteTaskStore
from taskstate.testing import TaskPersistence, TaskSharing, TaskStoreConformance

from .clocks import ClockedPostgresTaskStore, InjectedClock


@pytest.mark.once
@pytest.mark.covers("memory")
class TestMemoryTaskStore(InjectedClock, TaskStoreConformance):
    def make_store(self, tmp_path: Path) -> MemoryTaskStore:
        return MemoryTaskStore(clock=lambda: self.now)


@pytest.mark.once
@pytest.mark.covers("sqlite")
class TestSQLiteTaskStore(InjectedClock, TaskStoreConformance, TaskPersistence, TaskSharing):
    def make_store(self, tmp_path: Path) -> SQLiteTaskStore:
        return SQLiteTaskStore(tmp_path / "tasks.db", clock=lambda: self.now)


@pytest.fixture(scope="module")
def kept_place(clusters: Callable[..., Cluster]) -> Iterator[Callable[[str], Place]]:
    """One schema on each server for all tests here: making the tables takes longer than a test."""
    made: dict[str, Place] = {}
    with ExitStack() as stack:

        def place(server: str) -> Place:
            if server not in made:
                cluster = clusters(server)
                made[server] = Place(cluster, stack.enter_context(cluster.schema()))
            return made[server]

        yield place


@pytest.mark.once
class TestPostgresTaskStore(TaskStoreConformance, TaskPersistence, TaskSharing):
    @pytest.fixture(autouse=True)
    def empty_place(self, server: str, kept_place: Callable[[str], Place]) -> None:
        self.place = kept_place(server)
        ClockedPostgresTaskStore(self.place).empty()

    def make_store(self, tmp_path: Path) -> ClockedPostgresTaskStore:
        return ClockedPostgresTaskStore(self.place)

    def advance_clock(self, store: Any, ms: int) -> None:
        store.let_pass(ms)
