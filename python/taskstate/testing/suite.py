"""What the storage suites share: making an adapter, using it in an event loop of its own, closing it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class StorageSuite:
    """Gives each test a fresh adapter; see `taskstate.testing.StorageConformance`."""

    def make_storage(self, tmp_path: Path) -> Any:
        """A fresh, empty adapter, or an awaitable of one.

        Called again with the same `tmp_path`, it opens what the first one left behind, if the adapter keeps anything.
        """
        raise NotImplementedError

    def use(self, tmp_path: Path, scenario: Callable[[Any], Awaitable[T]]) -> T:
        """Run `scenario` with an adapter, and close the adapter (if it has `close`) whatever happens."""

        async def run() -> T:
            storage = self.make_storage(tmp_path)
            if isinstance(storage, Awaitable):
                storage = await storage
            try:
                return await scenario(storage)
            finally:
                if hasattr(storage, "close"):
                    await storage.close()

        return asyncio.run(run())
