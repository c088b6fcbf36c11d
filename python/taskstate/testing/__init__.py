"""Test suites that an adapter from outside can run to prove that it behaves like the built-in ones.

Needs pytest. Nothing in the library imports this package.
"""

from __future__ import annotations

import pytest

_TASKS = "cancel children claims conversations fences looking requests sharing suite upkeep waits work".split()
pytest.register_assert_rewrite(
    "taskstate.testing.storage",
    "taskstate.testing.storage_options",
    "taskstate.testing.tasks",
    *(f"taskstate.testing.tasks_{part}" for part in _TASKS),
)

# Assertions are rewritten only in what is imported afterwards.
from .storage import StorageConformance  # noqa: E402
from .storage_options import GetManyConformance, PersistenceConformance, VersionsConformance  # noqa: E402
from .tasks import TaskStoreConformance  # noqa: E402
from .tasks_sharing import TaskPersistence, TaskSharing  # noqa: E402

__all__ = [
    "GetManyConformance",
    "PersistenceConformance",
    "StorageConformance",
    "TaskPersistence",
    "TaskSharing",
    "TaskStoreConformance",
    "VersionsConformance",
]
