"""Fork after a harness was used, and use one in both processes. Arguments: storage, folder."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from opening import open_storage

from taskstate import task_state
from taskstate.harness import Harness


async def work(harness: Harness, thread_id: str) -> None:
    """A run with a child."""
    async with harness, harness.execution(thread_id=thread_id) as run:
        for number in range(20):
            await run.context["task-state"].set_task_data(key=f"k{number}", value=number)
        async with run.spawn() as child:
            await child.context["task-state"].record_artifact(path="x.md")
        await run.store()


async def within(harness: Harness, storage: Any) -> None:
    """Fork inside of a run: the child uses the storage in a loop of its own, while this run goes on."""
    async with harness, harness.execution(thread_id="outer") as run:
        await run.store()
        child = os.fork()
        if child == 0:
            asyncio.run(work(Harness(storage=storage, layers=[task_state()]), "inner"))
            os._exit(0)
        await run.store()
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        if status != 0:
            raise SystemExit("the child failed")


def main(kind: str, folder: str) -> None:
    """Print the threads at the end."""
    storage = open_storage(kind, folder)
    harness = Harness(storage=storage, layers=[task_state()])
    asyncio.run(work(harness, "before"))
    child = os.fork()
    asyncio.run(work(harness, "child" if child == 0 else "parent"))
    if child == 0:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit("the child failed")
    asyncio.run(within(Harness(storage=storage, layers=[task_state()]), storage))
    infos = asyncio.run(harness.threads.list())
    print(*(f"{info.thread_id}={info.checkpoints}" for info in infos))
    asyncio.run(storage.close())


main(*sys.argv[1:])
