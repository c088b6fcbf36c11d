"""Go on with thread `t` for ever: each round sets two keys in a child, and prints the round once that is merged.

Arguments: storage, folder.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from opening import open_storage

from taskstate import task_state
from taskstate.harness import Harness


async def main(kind: str, folder: str) -> None:
    """Begin where the state says that the last process ended."""
    async with (
        Harness(storage=open_storage(kind, folder), layers=[task_state(merge_data="three_way")]) as harness,
        harness.execution(thread_id="t") as run,
    ):
        number = run.context["task-state"].data.get("left", -1)
        while True:
            number += 1

            async def work(child: Any, key: str, number: int = number) -> None:
                await child.context["task-state"].set_task_data(key=key, value=number)

            async with run.spawn() as child:
                await asyncio.gather(work(child, "left"), work(child, "right"))
                await child.context["task-state"].record_artifact(path=f"{number}.md")
            await run.store()
            print(number, flush=True)


asyncio.run(main(*sys.argv[1:]))
