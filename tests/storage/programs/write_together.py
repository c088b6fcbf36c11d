"""Write from 20 tasks at once, in several processes that start together. Arguments: storage, folder, name.

Prints `ready`, waits for a line of input, then: each task writes a record of its own and counts once in a
record that all share.
"""

from __future__ import annotations

import asyncio
import sys

from opening import open_storage

from taskstate.errors import ConflictError
from taskstate.storage import FileStorage, PostgresStorage, SQLiteStorage


async def write(storage: FileStorage | SQLiteStorage | PostgresStorage, name: str) -> None:
    """One task's work."""
    await storage.set(f"own/{name}", {"name": name})
    while True:
        value, version = await storage.get_versioned("shared")
        try:
            await storage.compare_and_set("shared", (value or 0) + 1, version)
        except ConflictError:
            continue
        return


async def main(kind: str, root: str, name: str) -> None:
    """Start when told to."""
    print("ready", flush=True)
    sys.stdin.readline()
    async with open_storage(kind, root, busy_timeout=60_000) as storage:
        await asyncio.gather(*(write(storage, f"{name}-{number}") for number in range(20)))


asyncio.run(main(*sys.argv[1:]))
