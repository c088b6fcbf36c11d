"""The agent state of a thread in a harness: beside the task state, durable, and found again by the next run."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from taskstate import agent_state_layer, sync
from taskstate.core import estimate_tokens
from taskstate.errors import AgentStateError, LifecycleError
from taskstate.harness import Diagnostic, Execution, Harness
from taskstate.layer import AgentStateLayer
from taskstate.record import render_agent_state
from taskstate.storage import MemoryStorage
from taskstate.types import STATUSES

from .support import Plain, running, task_layer, tools

Open = Callable[[], Any]
KEY = "layers/agent-state/t/state"
NOTHING: dict[str, Any] = {"schemaVersion": 1, "workItems": [], "decisions": []}
ITEM = {"id": "a", "content": "c", "status": "open"}


def layers(**options: Any) -> Any:
    return task_layer(), agent_state_layer(**options)


def agent(run: Execution) -> Any:
    """The agent-state layer of a run."""
    return run.context["agent-state"]


def test_43_items_are_found_again_by_new_objects_with_their_statuses(open_storage: Open) -> None:
    async def scenario() -> None:
        async with running(open_storage(), *layers()) as run:
            await agent(run).apply(
                operations=[
                    {"op": "addWorkItem", "args": [{"id": f"W-{n}", "content": f"work {n}", "status": STATUSES[n % 4]}]}
                    for n in range(43)
                ]
            )
            await agent(run).set_objective(objective="all of it")
            await tools(run).set_task_data(key="k", value=1)
        async with running(open_storage(), *layers()) as run:
            state: Any = run.state("agent-state")
            assert [(item["id"], item["status"]) for item in state["workItems"]] == [
                (f"W-{n}", STATUSES[n % 4]) for n in range(43)
            ]
            assert agent(run).objective == "all of it"
            assert tools(run).data == {"k": 1, "__outcome": "success"}
            (_, shown) = await run.recall(budgets={"task-state": 100, "agent-state": 150})
            assert shown["content"] == render_agent_state(state, 150)
            assert "Work items: 43 (" in shown["content"]
            assert "Not shown here: " in shown["content"]
            assert len(agent(run).workItems) == 43

    asyncio.run(scenario())


def test_the_model_sees_the_block_after_the_task_state_within_what_was_allocated() -> None:
    async def scenario() -> None:
        async with running(None, *layers()) as run:
            (alone,) = await run.recall()
            assert alone["content"].startswith("<task_state>")
            for n in range(400):
                await agent(run).add_decision(id=f"D-{n}", content="something that was decided")
            for window, most in ((128_000, 800), (4_600, 400), (4_000, 4)):
                task, shown = await run.recall(context_window=window)
                assert task["content"].endswith("\n</task_state>")
                assert shown["role"] == "developer"
                assert estimate_tokens(shown["content"]) <= most
                assert shown["content"].endswith("\n</agent_state>")

    asyncio.run(scenario())


@pytest.mark.parametrize("broken", [7, {}, {**NOTHING, "schemaVersion": 2}, {**NOTHING, "decisions": [{"id": "x"}]}])
def test_a_stored_state_that_is_none_is_raised_and_left_alone(broken: Any) -> None:
    async def scenario() -> None:
        storage = Plain()
        storage.records[KEY] = broken
        seen: list[Diagnostic] = []
        with pytest.raises(AgentStateError):
            async with running(storage, *layers(), diagnostics=seen.append):
                raise AssertionError("must not start")
        assert storage.records == {KEY: broken}
        assert storage.writes == []
        assert [(one.layer_id, one.hook, type(one.error)) for one in seen] == [("agent-state", "init", AgentStateError)]

    asyncio.run(scenario())


def test_a_layer_may_be_disabled_by_a_stored_state_that_is_none() -> None:
    async def scenario() -> None:
        storage = Plain()
        storage.records[KEY] = {"schemaVersion": 9}
        async with running(storage, *layers(on_init_error="disable")) as run:
            assert run.state("agent-state") is None
            assert len(await run.recall()) == 1
            await run.store()
        assert storage.records[KEY] == {"schemaVersion": 9}

    asyncio.run(scenario())


def test_a_stored_state_that_is_none_may_be_set_aside_and_kept() -> None:
    async def scenario() -> None:
        storage = Plain()
        storage.records[KEY] = {**NOTHING, "schemaVersion": 2, "new": [1]}
        seen: list[Diagnostic] = []
        async with running(storage, *layers(on_init_error="set_aside"), diagnostics=seen.append) as run:
            assert run.state("agent-state") == NOTHING
            await agent(run).add_work_item(id="a", content="c")
        aside = [key for key in storage.records if "set-aside" in key]
        assert [storage.records[key] for key in aside] == [{**NOTHING, "schemaVersion": 2, "new": [1]}]
        assert storage.records[KEY] == {**NOTHING, "workItems": [ITEM]}
        assert [(one.hook, type(one.error)) for one in seen] == [("init", AgentStateError)]

    asyncio.run(scenario())


def test_no_hook_changes_the_state_that_it_is_lent() -> None:
    lent: list[tuple[Any, Any]] = []

    class Watched(AgentStateLayer):
        pure = True

    for name in ("recall", "on_spawn", "on_return"):

        def hook(self: Any, *, _name: str = name, **given: Any) -> Any:
            lent.extend((value, copy.deepcopy(value)) for key, value in given.items() if key.endswith("state"))
            return getattr(AgentStateLayer, _name)(self, **given)

        setattr(Watched, name, hook)

    async def scenario() -> None:
        watched = Watched("agent-state", count_tokens=None, role="developer", slot=120)
        async with running(None, task_layer(), watched) as run:
            await agent(run).add_work_item(id="a", content="c")
            before = run._peek("agent-state")
            kept = copy.deepcopy(before)
            await run.recall()
            async with run.spawn() as child:
                await agent(child).set_work_item_status(id="a", status="done")
                await agent(child).add_decision(id="d", content="x")
                await agent(run).set_work_item_content(id="a", content="other")
                await agent(run).read()
            assert before == kept
            assert run.state("agent-state")["workItems"] == [{**ITEM, "content": "other", "status": "done"}]  # type: ignore[index,call-overload]
        assert len(lent) >= 4
        assert all(value == was for value, was in lent)

    asyncio.run(scenario())


def test_threads_carry_both_layers() -> None:
    async def scenario() -> None:
        async with Harness(storage=MemoryStorage(), layers=layers()) as harness:
            async with harness.execution(thread_id="t") as run:
                await agent(run).add_work_item(id="a", content="c")
                await run.store()
            document = await harness.threads.export("t")
            assert document["layers"]["agent-state"] == {"state": {**NOTHING, "workItems": [ITEM]}}  # type: ignore[index,call-overload]
            assert set(await harness.threads.read("t")) == {"task-state", "agent-state"}
            await harness.threads.import_(json.loads(json.dumps(document)), thread_id="u")
            assert await harness.threads.read("u") == await harness.threads.read("t")
            assert [(info.thread_id, info.layers, info.checkpoints) for info in await harness.threads.list()] == [
                ("t", ("agent-state", "task-state"), 2),
                ("u", ("agent-state", "task-state"), 2),
            ]
            async with harness.execution(thread_id="u") as run:
                await agent(run).set_work_item_status(id="a", status="done")
            assert (await harness.threads.read("t"))["agent-state"] == {**NOTHING, "workItems": [ITEM]}
            assert await harness.threads.delete("u") == 2

    asyncio.run(scenario())


def test_the_harness_without_await_has_the_layer_too() -> None:
    storage = MemoryStorage()
    with sync.Harness(layers=layers(), storage=storage) as harness, harness.execution(thread_id="t") as run:
        assert run.context["agent-state"].add_work_item(id="a", content="c") == ITEM
        assert run.call_tool("agent-state/setWorkItemStatus", '{"id": "a", "status": "done"}')["status"] == "done"
        with run.spawn() as child:
            child.context["agent-state"].add_decision(id="d", content="x")
        with pytest.raises(AgentStateError):
            run.context["agent-state"].apply(operations=[{"op": "removeDecision", "args": ["d"]}, 7])
        assert "<agent_state>" in run.recall()[1]["content"]
    with sync.Harness(layers=layers(), storage=storage) as harness:
        state = harness.threads.read("t")["agent-state"]
        assert state == {
            **NOTHING,
            "workItems": [{**ITEM, "status": "done"}],
            "decisions": [{"id": "d", "content": "x"}],
        }


def test_a_disabled_layer_is_disabled_in_children_too_and_has_no_view() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        await storage.set("layers/agent-state/t/state", {"schemaVersion": 9})
        layer = agent_state_layer(on_init_error="disable")
        async with running(storage, task_layer(), layer) as run:
            with pytest.raises(LifecycleError, match="is disabled in this run"):
                _ = run.context["agent-state"].view
            async with run.spawn() as child:
                with pytest.raises(LifecycleError, match="is disabled in this run"):
                    await child.call_tool("agent-state/addWorkItem", {"id": "a", "content": "c"})
            assert run.state("agent-state") is None

    asyncio.run(scenario())
