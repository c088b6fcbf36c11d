"""Kill a run at each step of its event loop, and look at what is left.

Arguments: storage, folder, work (`store`, `tool`, `merge` or `run`). Prints how often the old and the new
state were found, as JSON.
"""

from __future__ import annotations

import asyncio
import asyncio.events
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from opening import open_storage

from taskstate import task_state
from taskstate.harness import Execution, Harness

KEY = "layers/task-state/t/state"


def kill_at(step: int) -> None:
    """Have this process killed before the given step that the event loop takes from now on."""
    steps = 0
    take = asyncio.events.Handle._run

    def counted(handle: asyncio.events.Handle) -> None:
        nonlocal steps
        steps += 1
        if steps == step:
            os.kill(os.getpid(), signal.SIGKILL)
        take(handle)

    asyncio.events.Handle._run = counted  # type: ignore[method-assign]


async def store(run: Execution) -> None:
    """One store cycle."""
    await run.store("r")


async def tool(run: Execution) -> None:
    """One call of a tool."""
    await run.call_tool("task-state/setTaskData", {"key": "k", "value": ["v" * 5000]})


async def merge(run: Execution) -> None:
    """A child that writes several things, merged."""
    async with run.spawn(execution_id="c") as child:
        await child.context["task-state"].set_task_data(key="a", value=1)
        await child.context["task-state"].set_task_data(key="b", value=1)
        await child.context["task-state"].record_artifact(path="c.md")
        await child.store("r")


async def nothing(run: Execution) -> None:
    """Only the end of the run."""


WORKS: dict[str, Callable[[Execution], Any]] = {"store": store, "tool": tool, "merge": merge, "run": nothing}


def harness(kind: str, root: str) -> Harness:
    """A harness whose clock stands still, so that states can be compared."""
    layer = task_state(merge_data="three_way", clock=lambda: 1)
    return Harness(storage=open_storage(kind, root), layers=[layer])


async def prepare(kind: str, root: str) -> Any:
    """The old state."""
    async with open_storage(kind, root) as storage:
        await storage.set(KEY, {"checkpoints": [], "files": ["old.md"], "data": {"old": "o" * 5000}})
        return await storage.get(KEY)


async def die(kind: str, root: str, work: str, step: int) -> None:
    """Do the work, killed at a step of it; after it, if it comes so far."""
    async with harness(kind, root) as opened, opened.execution(thread_id="t", execution_id="r") as run:
        kill_at(step)
        await WORKS[work](run)
        if work != "run":
            os._exit(0)
    os._exit(0)


async def look(kind: str, root: str) -> Any:
    """What is left, which the next run must be able to use."""
    async with open_storage(kind, root) as storage:
        left = await storage.get(KEY)
    async with harness(kind, root) as opened:
        async with opened.execution(thread_id="t") as run:
            if run.state("task-state") != left:
                raise SystemExit("the next run does not begin where the killed one ended")
            await merge(run)
        state = (await opened.threads.read("t"))["task-state"]
        if state["data"]["__outcome"] != "success" or "c.md" not in state["files"]:
            raise SystemExit("the next run failed")
    return left


def main(kind: str, root: str, work: str) -> None:
    """Go on until a run got through all steps."""
    found = {"old": 0, "new": 0, "steps": 0}
    new: Any = None
    status = None
    while status != 0:
        old = asyncio.run(prepare(kind, root))
        step = 1_000_000 if new is None else found["steps"] + 1
        if threading.active_count() > 1:
            raise SystemExit("a thread is left that a fork would lose")
        child = os.fork()
        if child == 0:
            asyncio.run(die(kind, root, work, step))
        _, status = os.waitpid(child, 0)
        left = asyncio.run(look(kind, root))
        if new is None:
            new, status = left, None
            if new == old:
                raise SystemExit("the work changes nothing")
            continue
        if status != 0 and os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            raise SystemExit(f"step {step}: ended with status {status}")
        if left not in (old, new):
            raise SystemExit(f"step {step}: neither the old nor the new state: {sorted(left['data'])}, {left['files']}")
        found["steps"] = step
        found["new" if left == new else "old"] += 1
    print(json.dumps(found))


main(*sys.argv[1:])
