"""Run out of room in the midst of a write: this process may have no larger files. Arguments: storage, folder."""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from opening import open_storage

from taskstate.errors import StorageError


def allow(size: int) -> None:
    """Let files grow to `size` bytes."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))


def largest_file(root: str) -> int:
    """The size of the largest file of the storage."""
    return max(path.stat().st_size for path in Path(root, "state").iterdir())


def unfinished_files(root: str) -> list[str]:
    """The temporary files that were left."""
    return [path.name for path in Path(root).rglob(".new-*")]


async def main(kind: str, root: str) -> None:
    """Fill up, look, make room, go on."""
    async with open_storage(kind, root) as storage:
        for number in range(5):
            await storage.set(f"k{number}", number)
        allow(largest_file(root) + 20_000)
        calls = [storage.set("k0", "x" * 500_000), storage.set("k1", "one"), storage.set("large", "y" * 500_000)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StorageError, type(None), StorageError], outcomes
        assert not {"x" * 10, "y" * 10} & set(str(outcomes)), "an error shows what was to be stored"
        assert await storage.get_many(["k0", "k1", "k2", "large"]) == {"k0": 0, "k1": "one", "k2": 2}
        assert not unfinished_files(root)
        allow(resource.RLIM_INFINITY)
        await storage.set("k0", "x" * 500_000)
    async with open_storage(kind, root) as storage:
        assert await storage.get("k0") == "x" * 500_000
        assert sorted(await storage.list("")) == ["k0", "k1", "k2", "k3", "k4"]
    print("survived")


asyncio.run(main(*sys.argv[1:]))
