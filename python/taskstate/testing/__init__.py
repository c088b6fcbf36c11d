"""Test suites that an adapter from outside can run to prove that it behaves like the built-in ones.

Needs pytest. Nothing in the library imports this package.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("taskstate.testing.storage", "taskstate.testing.storage_options")

from .storage import StorageConformance  # noqa: E402 - assertions are rewritten only in what is imported afterwards
from .storage_options import GetManyConformance, PersistenceConformance, VersionsConformance  # noqa: E402

__all__ = ["GetManyConformance", "PersistenceConformance", "StorageConformance", "VersionsConformance"]
