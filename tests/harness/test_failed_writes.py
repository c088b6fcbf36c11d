"""A call whose write fails has changed nothing, so that it can be tried again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from taskstate import agent_state_layer
from taskstate.errors import AgentStateError
from taskstate.harness import Harness

from .support import Plain, running, task_layer, tools

KEY = "layers/agent-state/t/state"


def layers() -> Any:
    return task_layer(), agent_state_layer()


def agent(run: Any) -> Any:
    return run.context["agent-state"]


def test_what_could_not_be_written_is_not_the_state_and_a_second_try_stores_it() -> None:
    async def scenario() -> None:
        storage = Plain()
        async with running(storage, *layers()) as run:
            await agent(run).add_work_item(id="a", content="c")
            storage.error = OSError("disk full")
            with pytest.raises(OSError, match="disk full"):
                await agent(run).add_work_item(id="b", content="c")
            with pytest.raises(OSError, match="disk full"):
                await tools(run).record_artifact(path="report.md")
            assert [item["id"] for item in agent(run).view.list_work_items()] == ["a"]
            assert tools(run).files == []
            storage.error = None
            await agent(run).add_work_item(id="b", content="c")
            assert await tools(run).record_artifact(path="report.md") == "Recorded artifact: report.md"
            assert [item["id"] for item in storage.records[KEY]["workItems"]] == ["a", "b"]
            assert storage.records["layers/task-state/t/state"]["files"] == ["report.md"]

    asyncio.run(scenario())


def test_calls_made_together_fail_together_and_leave_what_was_stored() -> None:
    async def scenario() -> None:
        storage = Plain(delay=0.01)
        async with running(storage, *layers()) as run:
            await agent(run).add_work_item(id="a", content="c")
            storage.error = OSError("disk full")
            calls = [agent(run).add_work_item(id=f"b{number}", content="c") for number in range(5)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(result) for result in results] == [OSError] * 5
            assert len(agent(run).view) == 1
            storage.error = None
            await asyncio.gather(*(agent(run).add_work_item(id=f"b{number}", content="c") for number in range(5)))
            assert len(storage.records[KEY]["workItems"]) == 6

    asyncio.run(scenario())


def test_a_call_that_changes_nothing_waits_for_what_its_result_says() -> None:
    async def scenario() -> None:
        storage = Plain(delay=0.02)
        async with running(storage, task_layer()) as run:
            first = asyncio.ensure_future(tools(run).record_artifact(path="x"))
            await asyncio.sleep(0.005)
            assert await tools(run).record_artifact(path="x") == "Already recorded: x"
            assert storage.records["layers/task-state/t/state"]["files"] == ["x"]
            await first

    asyncio.run(scenario())


def test_a_child_whose_merge_could_not_be_written_left_nothing_in_its_parent() -> None:
    async def scenario() -> None:
        storage = Plain()
        async with running(storage, *layers()) as run:
            await agent(run).add_work_item(id="a", content="c")
            with pytest.raises(OSError, match="disk full"):  # noqa: PT012
                async with run.spawn() as child:
                    await agent(child).add_work_item(id="b", content="c")
                    storage.error = OSError("disk full")
            assert len(agent(run).view) == 1
            storage.error = None

    asyncio.run(scenario())


def test_without_strict_a_state_that_could_not_be_written_lives_on() -> None:
    async def scenario() -> None:
        storage = Plain()
        async with Harness(storage=storage, layers=layers(), strict=False) as harness:
            async with harness.execution(thread_id="t") as run:
                storage.error = OSError("disk full")
                await agent(run).add_work_item(id="a", content="c")
                storage.error = None
                with pytest.raises(AgentStateError, match="Duplicate"):
                    await agent(run).add_work_item(id="a", content="c")
                await agent(run).add_work_item(id="b", content="c")
            assert [item["id"] for item in storage.records[KEY]["workItems"]] == ["a", "b"]

    asyncio.run(scenario())
