"""Record work on thread `t` until killed, as an agent state and as a task state. Arguments: storage, folder, what.

`43`: add 43 work items, set their statuses, print `done` and wait. `rounds`: go on for ever; each round begins one
item, ends the one before and takes a decision in one step, sets a key of the task state in a child that also
adds an item, and prints its number.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from opening import open_storage

from taskstate import agent_state_layer, task_state
from taskstate.harness import Harness
from taskstate.types import STATUSES


async def add_43(run: Any) -> None:
    """Items in every status by turns, by the tools that a model has."""
    for number in range(43):
        await run.call_tool("agent-state/addWorkItem", {"id": f"W-{number}", "content": f"work {number}"})
        status = {"id": f"W-{number}", "status": STATUSES[number % 4]}
        await run.call_tool("agent-state/setWorkItemStatus", status)
        await run.context["task-state"].record_artifact(path=f"{number}.md")
    print("done", flush=True)
    await asyncio.sleep(60)


async def go_on(run: Any) -> None:
    """Begin where the state says that the last process ended."""
    agent, task = run.context["agent-state"], run.context["task-state"]
    number = len(agent.decisions)
    while True:
        operations: list[Any] = [
            {"op": "addWorkItem", "args": [{"id": f"W-{number}", "content": "w", "status": "in_progress"}]},
            {"op": "addDecision", "args": [{"id": f"D-{number}", "content": "d"}]},
        ]
        if number:
            operations.append({"op": "setWorkItemStatus", "args": [f"W-{number - 1}", "done"]})
        await agent.apply(operations=operations)
        await task.set_task_data(key="round", value=number)
        if f"C-{number}" not in {item["id"] for item in agent.workItems}:
            async with run.spawn() as child:
                await child.context["agent-state"].add_work_item(id=f"C-{number}", content="c", status="blocked")
                await child.context["task-state"].record_artifact(path=f"{number}.md")
        print(number, flush=True)
        number += 1


async def main(kind: str, folder: str, what: str) -> None:
    """Both layers side by side."""
    layers = [task_state(merge_data="three_way"), agent_state_layer()]
    async with (
        Harness(storage=open_storage(kind, folder), layers=layers) as harness,
        harness.execution(thread_id="t") as run,
    ):
        await {"43": add_43, "rounds": go_on}[what](run)


asyncio.run(main(*sys.argv[1:]))
