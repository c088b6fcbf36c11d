"""Look at a task, wait for a line, then take it over and save. Arguments: storage, folder, own name."""

from __future__ import annotations

import asyncio
import json
import sys

from opening import open_storage

from taskstate.errors import ConflictError
from taskstate.restart import change
from taskstate.restart.store import RecordStore
from taskstate.restart.transitions import Notes


async def main(kind: str, root: str, name: str) -> None:
    """Say how it ended."""
    async with open_storage(kind, root) as storage:
        store = RecordStore(storage)
        seen = await store.load("t")
        print(f"saw {seen.state_version}", flush=True)
        sys.stdin.readline()
        outcome = "resumed"
        try:
            record = await store.resume("t", at=seen.state_version)
            await store.save(change(record, Notes(phase=name)))
        except ConflictError as error:
            outcome = type(error).__name__
        print(json.dumps({"name": name, "outcome": outcome}))


asyncio.run(main(*sys.argv[1:]))
