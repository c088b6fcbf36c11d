"""Hand work to tasks that outlive the process: in the foreground, side by side, and in the background.

    python examples/durable_tasks.py [DATABASE]

The first attempt at one document fails, as a model that isn't there would: what it had done by then isn't done again.
With the same DATABASE a second run finds the extracts of the first one: a task of the same id and input is the same.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from pydantic import BaseModel

from taskstate.tasks import DurableTasks, Limits, TaskContext, task

DOCUMENTS = {
    "p1.md": "Six freezers at 8,905.00 each. Warranty: 36 months.",
    "p2.md": "Six freezers at 9,005.00 each. Warranty: 24 months.",
    "p3.md": "Six freezers at 8,410.00 each. Delivery is left open.",
}
calls: list[str] = []


class Document(BaseModel):
    path: str


class Extract(BaseModel):
    path: str
    facts: list[str]


async def read(path: str) -> str:
    """Stands in for what takes long or costs money."""
    calls.append(f"read {path}")
    return DOCUMENTS[path]


async def ask_model(text: str) -> list[str]:
    """Stands in for a model that can't be reached at first."""
    calls.append(f"ask about {text}")
    if "9,005" in text and calls.count(calls[-1]) == 1:
        raise ConnectionError("the model can't be reached")
    return [part.strip(" .") for part in text.split(". ")]


@task("extract", limits=Limits(attempts=3, backoff_s=0.1, timeout_s=60, max_result_bytes=64_000))
async def extract(ctx: TaskContext, input: Document) -> Extract:
    """Extract the facts of a document."""
    text = await ctx.checkpoint("read", read, input.path)  # once it is recorded, it is never done again
    return Extract(path=input.path, facts=await ctx.checkpoint("facts", ask_model, text))


@task("review")
async def review(ctx: TaskContext, input: list[str]) -> str:
    """Extract every document, at most two at once, and have a person approve the result."""
    extracts = await ctx.fan_out(extract, [Document(path=path) for path in input], limit=2)  # in the order of `input`
    await ctx.publish({"extracted": len(extracts)})  # a partial result for the conversation
    answer = await ctx.wait_for("approval", timeout=3600)  # holds no worker meanwhile
    return f"{len(extracts)} documents, {sum(len(one.facts) for one in extracts)} facts, approved by {answer['by']}"


async def main(database: Path) -> None:
    tasks = DurableTasks(types=[extract, review], store=database)  # or "postgresql://...", or "memory:"
    async with tasks:  # runs a worker in this process
        first = await tasks.run(extract, {"path": "p1.md"}, task_id="extract-p1")  # waits for the result
        print("In the foreground:", first.facts)

        started = await tasks.start(review, list(DOCUMENTS), owner="u1", conversation="c1", task_id="review-1")
        if not started.created:
            print("The review is there already:", await started.result())
            return
        async for event in tasks.events("c1", owner="u1"):  # each is offered until it is acknowledged
            if event["kind"] == "progress":
                print("Event:", event["name"], event["result"])
                await started.signal("approval", {"by": "Kim"})  # may come from any process
            else:
                print("Event:", event["name"], event["state"], "-", event["result"])
                break

        for child in reversed(await tasks.list(parent_id=started.id)):
            history = await tasks.history(child["id"])
            attempts = [attempt["outcome"] for attempt in history["attempts"]]
            print(
                f"  {child['input']['path']}: attempts {attempts}, steps {[c['key'] for c in history['checkpoints']]}"
            )
        print("p2.md was read", calls.count("read p2.md"), "time, though its first attempt failed.")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(Path(folder) / "tasks.db"))
        print("That folder is gone now; name a DATABASE to keep the tasks.")
