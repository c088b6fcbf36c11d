"""Keep where an agent's work stands: an objective, work items with a status, and decisions.

    python examples/agent_state.py [DATABASE]

Run it twice with the same database: the second run begins where the first one left off.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from taskstate import AgentState, agent_state_layer, task_state
from taskstate.harness import Harness
from taskstate.record import diff, render_agent_state
from taskstate.storage import SQLiteStorage

STEPS = {"schema": "Add the new columns", "copy": "Copy the old rows", "switch": "Switch the readers over"}


def by_itself() -> None:
    """The record is plain data: it asks for no harness, storage or event loop."""
    state = AgentState(
        objective="Move the orders to the new table",
        work_items=[{"id": step, "content": content} for step, content in STEPS.items()],
    )
    before = state.snapshot()  # JSON-safe, with its keys in the order of the original

    state.set_work_item_status("schema", "done")
    state.set_work_item_status("copy", "in_progress")
    state.add_decision({"id": "batches", "content": "Copy in batches of 500 rows"})
    state.apply(  # all of it or nothing
        [
            {"op": "add_work_item", "args": [{"id": "cleanup", "content": "Drop the old table", "status": "blocked"}]},
            {"op": "add_decision", "args": [{"id": "wait", "content": "Keep the old table until the readers moved"}]},
        ]
    )

    text = state.to_json()
    again = AgentState.from_json(text)  # checked as a whole; untrusted text will do
    print("From its text again:", again)
    print("Summary:", again.summary())
    for change in diff(before, again)["changed"]["workItems"]:
        print(f"  {change['id']}: {change['before']['status']} -> {change['after']['status']}")
    print(render_agent_state(again, budget=150), end="\n\n")


async def in_a_harness(database: Path) -> None:
    """As a layer beside the task state it is stored with each call, and loaded by the next run."""
    layers = [task_state(), agent_state_layer()]
    async with (
        Harness(storage=SQLiteStorage(database), layers=layers) as harness,
        harness.execution(thread_id="orders") as run,
    ):
        work = run.context["agent-state"]
        await work.set_objective(objective="Move the orders to the new table")
        for step, content in STEPS.items():
            if step not in work.view:  # an AgentState with what is recorded now
                await work.add_work_item(id=step, content=content)  # durable when this returns

        unfinished = [item for item in work.view.list_work_items() if item["status"] != "done"]
        if unfinished:
            step = unfinished[0]["id"]
            await work.set_work_item_status(id=step, status="done")
            print(f"This run did {step!r}; {len(unfinished) - 1} more to do.")
        else:
            print("Nothing is left to do.")

        for message in await run.recall():  # what the model is shown: the blocks of both layers
            print(message["content"])


if __name__ == "__main__":
    by_itself()
    if len(sys.argv) > 1:
        asyncio.run(in_a_harness(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(in_a_harness(Path(folder) / "agent.db"))
        print("That folder is gone now; name a DATABASE to keep the state.")
