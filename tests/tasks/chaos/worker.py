"""A worker: `worker.py PLACE [SCHEMA]`. It goes on until it is killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tasks.chaos.works import TYPES
from taskstate.tasks import DurableTasks
from taskstate.tasks.stores.postgres import PostgresTaskStore


async def main(place: str, schema: str | None = None) -> None:
    store = place if schema is None else PostgresTaskStore(place, schema=schema)
    async with DurableTasks(types=TYPES, store=store, concurrency=8, poll_s=0.3):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
