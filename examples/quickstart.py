"""Keep an agent's task state across runs, children and crashes.

    python examples/quickstart.py [DATABASE]

Run it twice with the same database: the second run begins with what the first one left.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from taskstate import Message, task_state
from taskstate.harness import Execution, Harness
from taskstate.storage import SQLiteStorage


async def call_my_model(items: list[Message]) -> str:
    """Stands in for your model: it sees the messages and answers."""
    return f"I have read {len(items[0]['content'])} characters of state."


async def review(child: Execution) -> str:
    """A worker: it has a copy of the state, and what it changes is merged when it returns."""
    await child.context["task-state"].record_artifact(path=f"out/{child.execution_id}.md")
    await child.context["task-state"].set_task_data(key=f"done/{child.execution_id}", value=True)
    return child.execution_id


async def main(database: Path) -> None:
    layer = task_state(merge_data="three_way")
    async with Harness(storage=SQLiteStorage(database), layers=[layer]) as harness:
        async with harness.execution(thread_id="review-22") as run:
            items = await run.recall()
            print("What the model is shown:", items[0]["content"], sep="\n", end="\n\n")

            response = await call_my_model(items)
            await run.store(response)  # a new checkpoint, durable when this returns

            await run.context["task-state"].record_artifact(path="out/report.md")
            await run.context["task-state"].set_task_data(key="verdict", value={"ok": True})

            async with run.spawn(execution_id="helper") as child:
                await child.context["task-state"].set_task_data(key="note", value="from the helper")

            results = await run.in_parallel([review, review, review], limit=2, ids=["p1", "p2", "p3"])
            print("The workers gave:", results)

        for thread in await harness.threads.list():
            print(f"Kept for {thread.thread_id}: {thread.checkpoints} checkpoints in {database}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(Path(folder) / "agent.db"))
        print("That folder is gone now; name a DATABASE to keep the state.")
