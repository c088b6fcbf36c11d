"""Replays whole runs with children: spawn, parallel paths, tools called by the model."""

from __future__ import annotations

import asyncio
import copy
import itertools
from typing import Any

from taskstate import task_state
from taskstate.errors import ParallelError
from taskstate.harness import Diagnostic, Execution, Harness

from .lifecycle import Adapter
from .notation import decode

_KEY = "layers/task-state/thr/state"


class Boom(Exception):
    """What the work of a case raises."""


class Run:
    """One case: a root execution on thread `thr`, and what its children began with."""

    def __init__(self) -> None:
        self.starts: dict[str, Any] = {}
        self.during: list[Any] = []
        self.counter = itertools.count(1)

    async def work(self, run: Execution, work: list[dict[str, Any]]) -> None:
        for one in work:
            ((op, value),) = one.items()
            match op:
                case "sleep":
                    await asyncio.sleep(value / 1000)
                case "record":
                    await run.context["task-state"].record_artifact(path=value)
                case "set":
                    await run.context["task-state"].set_task_data(key=value[0], value=decode(value[1]))
                case "throw":
                    raise Boom(value)
                case "spawn":
                    await self.spawn(run, value)
                case "callModel":
                    await self.call_model(run, value)
                case other:
                    raise AssertionError(f"unknown work {other}")

    async def spawn(self, run: Execution, step: dict[str, Any]) -> None:
        label = step.get("id") or f"auto{next(self.counter)}"
        async with run.spawn(execution_id=label) as child:
            if "id" in step:
                self.starts[label] = child.state("task-state")
            if "work" in step:
                await self.work(child, step["work"])
            elif "child" in step:
                await self.step(child, step["child"])

    async def call_model(self, run: Execution, step: dict[str, Any]) -> None:
        for call in step["toolCalls"]:
            await run.call_tool(call["tool"], decode(call["args"]))
        self.during.append(run.state("task-state"))
        await run.store()

    async def parallel(self, run: Execution, step: dict[str, Any]) -> None:
        def worker(path: dict[str, Any]) -> Any:
            async def do(child: Execution) -> str:
                self.starts[path["id"]] = child.state("task-state")
                await self.work(child, path["work"])
                return str(path["id"])

            return do

        await run.in_parallel(
            [worker(path) for path in step["paths"]],
            mode=step["mode"],
            limit=step.get("concurrency"),
            ids=[path["id"] for path in step["paths"]],
        )

    async def step(self, run: Execution, step: dict[str, Any]) -> None:
        match step["kind"]:
            case "inParallel":
                await self.parallel(run, step)
            case "spawn":
                await self.spawn(run, step)
            case "callModel":
                await self.call_model(run, step)
            case "loop":
                for _ in range(step["times"]):
                    await self.step(run, step["body"])
            case other:
                raise AssertionError(f"unknown step {other}")


def run(case: dict[str, Any]) -> Any:
    """What a case's run left behind, as the recording writes it."""
    return asyncio.run(_run(case))


async def _run(case: dict[str, Any]) -> Any:
    adapter = Adapter()
    adapter.records[_KEY] = decode(case["parentState"])
    diagnostics: list[Diagnostic] = []
    own = Run()
    layer = task_state(merge_data=case["mergeData"], clock=lambda: 5000)
    rows = []
    harness = Harness(layers=[layer], storage=adapter, diagnostics=diagnostics.append)
    async with harness, harness.execution(thread_id="thr", execution_id="root") as root:
        for step in case["steps"]:
            row: dict[str, Any] = {"threw": None}
            own.during = []
            try:
                await own.step(root, step)
            except ParallelError:
                row["threw"] = "fork_partial"
            except Boom:
                row["threw"] = "step_failed"
            row["parentState"] = root.state("task-state")
            if step["kind"] == "callModel" or "child" in step:
                row["parentStateDuringModelCalls"] = own.during
            if "settleMs" in step:
                await asyncio.sleep(step["settleMs"] / 1000)
                row["parentStateLater"] = root.state("task-state")
            rows.append(row)
        left = [name for name in harness.lifecycle.states.live() if name != "root"]
        durable = copy.deepcopy(adapter.records)
    return {
        "steps": rows,
        "childStartStates": own.starts,
        "durable": durable,
        "diagnostics": [{"layer": one.layer_id, "hook": one.hook} for one in diagnostics],
        "childStatesLeft": left,
    }
