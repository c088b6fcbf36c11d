"""Wait in a run on thread `t` until somebody interrupts. Arguments: storage, folder, where to wait."""

from __future__ import annotations

import asyncio
import sys
import time

from opening import open_storage

from taskstate import task_state
from taskstate.harness import Harness


async def main(kind: str, folder: str, where: str) -> None:
    """Print a line when it is time to interrupt."""
    async with (
        Harness(storage=open_storage(kind, folder), layers=[task_state()]) as harness,
        harness.execution(thread_id="t") as run,
    ):
        await run.context["task-state"].set_task_data(key="k", value=1)
        if where == "exit":
            sys.exit(3)
        print("waiting", flush=True)
        if where == "await":
            await asyncio.sleep(60)
        time.sleep(60)  # noqa: ASYNC251 - the loop is to be blocked


asyncio.run(main(*sys.argv[1:]))
