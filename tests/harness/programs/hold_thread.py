"""Load thread `t`, wait for a line, and write it. Arguments: storage, folder."""

from __future__ import annotations

import asyncio
import sys

from opening import open_storage

from taskstate import task_state
from taskstate.errors import ConflictError
from taskstate.harness import Harness


async def main(kind: str, folder: str) -> None:
    """Print which record the write conflicted with."""
    async with Harness(storage=open_storage(kind, folder), layers=[task_state()]) as harness:
        try:
            async with harness.execution(thread_id="t") as run:
                print("loaded", flush=True)
                await asyncio.to_thread(sys.stdin.readline)
                await run.context["task-state"].set_task_data(key="other", value=2)
        except ConflictError as error:
            print("conflict", error.key)


asyncio.run(main(*sys.argv[1:]))
