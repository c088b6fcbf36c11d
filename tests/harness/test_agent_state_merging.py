"""Children that work on an agent state: what they did comes back item by item, and conflicts are named."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from taskstate import agent_state_layer
from taskstate.errors import MergeConflict, ParallelError
from taskstate.harness import Diagnostic, Execution
from taskstate.storage import MemoryStorage

from .support import running, task_layer, tools

KEY = "layers/agent-state/t/state"


def agent(run: Execution) -> Any:
    """The agent-state layer of a run."""
    return run.context["agent-state"]


def layers() -> Any:
    return task_layer(), agent_state_layer()


def statuses(run: Execution) -> dict[str, str]:
    return {item["id"]: item["status"] for item in agent(run).workItems}


async def fill(run: Execution, *ids: str) -> None:
    for item_id in ids:
        await agent(run).add_work_item(id=item_id, content="c")


def conflicts(seen: list[Diagnostic]) -> list[tuple[str, str, str, str]]:
    for one in seen:
        assert isinstance(one.error, MergeConflict)
        assert (one.layer_id, one.hook, one.execution_id) == ("agent-state", "on_return", one.error.parent_id)
    return [(e.path, e.parent_id, e.child_id, e.kept) for one in seen if isinstance(e := one.error, MergeConflict)]


def test_a_child_begins_with_a_copy_and_what_it_did_comes_back() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        seen: list[Diagnostic] = []
        async with running(storage, *layers(), diagnostics=seen.append) as run:
            await fill(run, "a", "b", "c")
            await agent(run).add_decision(id="d", content="x")
            async with run.spawn() as child:
                assert child.state("agent-state") == run.state("agent-state")
                await agent(child).set_work_item_status(id="a", status="done")
                await agent(child).remove_work_item(id="b")
                await agent(child).remove_decision(id="d")
                await agent(child).set_objective(objective="o")
                await fill(child, "e")
                await tools(child).set_task_data(key="k", value=1)
                assert statuses(run) == {"a": "open", "b": "open", "c": "open"}
                assert await storage.get(KEY) == run.state("agent-state")
                await agent(run).set_work_item_status(id="c", status="blocked")
            assert statuses(run) == {"a": "done", "c": "blocked", "e": "open"}
            assert agent(run).decisions == []
            assert agent(run).objective == "o"
            assert tools(run).data == {"k": 1}
            assert await storage.get(KEY) == run.state("agent-state")
        assert seen == []

    asyncio.run(scenario())


def test_conflicts_of_both_kinds_say_whose_change_was_kept() -> None:
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(None, *layers(), execution_id="root", diagnostics=seen.append) as run:
            await fill(run, "a", "b")
            async with run.spawn(execution_id="first") as first, run.spawn(execution_id="late") as late:
                await agent(first).set_work_item_status(id="a", status="blocked")
                await agent(late).set_work_item_status(id="a", status="done")
                await agent(first).remove_work_item(id="b")
                await agent(late).set_work_item_content(id="b", content="d")
                await agent(first).add_work_item(id="n", content="one")
                await agent(late).add_work_item(id="n", content="two")
                await agent(late).add_decision(id="m", content="one")
                await agent(first).add_decision(id="m", content="one")
            # The child that was spawned last returns first.
            assert conflicts(seen) == [
                ("workItems.a", "root", "first", "child"),
                ("workItems.b", "root", "first", "child"),
                ("workItems.n", "root", "first", "parent"),
            ]
            assert statuses(run) == {"a": "blocked", "n": "open"}
            assert agent(run).workItems[1]["content"] == "two"
            assert agent(run).decisions == [{"id": "m", "content": "one"}]
            assert "one" not in str(seen[2].error)
            assert "kept: the parent's" in str(seen[2].error)

    asyncio.run(scenario())


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_parallel_children_with_work_of_their_own_do_not_depend_on_their_order(order: tuple[int, ...]) -> None:
    def worker(n: int) -> Any:
        async def work(child: Execution) -> None:
            await agent(child).set_work_item_status(id=f"W-{n}", status="in_progress")
            await asyncio.sleep(0.01 * order[n])
            await agent(child).set_work_item_status(id=f"W-{n}", status="done")
            await agent(child).add_work_item(id=f"N-{n}", content=f"found by {n}", status="blocked")
            await agent(child).add_decision(id=f"D-{n}", content="x")

        return work

    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(None, *layers(), diagnostics=seen.append) as run:
            await fill(run, "W-0", "W-1", "W-2", "W-3")
            await run.in_parallel([worker(n) for n in range(3)])
            done = {f"W-{n}": "done" for n in range(3)}
            assert statuses(run) == {**done, "W-3": "open", **{f"N-{n}": "blocked" for n in range(3)}}
            assert {item["id"] for item in agent(run).decisions} == {"D-0", "D-1", "D-2"}
        assert seen == []

    asyncio.run(scenario())


def test_a_child_that_fails_leaves_nothing() -> None:
    async def fail(child: Execution) -> None:
        await agent(child).add_work_item(id="lost", content="c")
        await agent(child).set_work_item_status(id="a", status="done")
        raise KeyError("no")

    async def work(child: Execution) -> None:
        await agent(child).add_work_item(id="kept", content="c")

    async def scenario() -> None:
        storage = MemoryStorage()
        async with running(storage, *layers()) as run:
            await fill(run, "a")
            with pytest.raises(KeyError):
                async with run.spawn() as child:
                    await fail(child)
            with pytest.raises(ParallelError):
                await run.in_parallel([fail, work])
            assert statuses(run) == {"a": "open", "kept": "open"}
        assert [item["id"] for item in (await storage.get(KEY))["workItems"]] == ["a", "kept"]  # type: ignore[index,call-overload]

    asyncio.run(scenario())


def test_a_grandchilds_work_arrives_at_the_root_through_its_parent() -> None:
    async def scenario() -> None:
        async with running(None, *layers()) as run:
            await fill(run, "a")
            async with run.spawn() as child:
                async with child.spawn() as grandchild:
                    await agent(grandchild).set_work_item_status(id="a", status="done")
                    await fill(grandchild, "b")
                assert statuses(child) == {"a": "done", "b": "open"}
                assert statuses(run) == {"a": "open"}
            assert statuses(run) == {"a": "done", "b": "open"}

    asyncio.run(scenario())


def test_a_child_of_a_state_that_holds_nothing_brings_its_own() -> None:
    async def scenario() -> None:
        async with running(None, *layers()) as run:
            async with run.spawn() as child:
                assert statuses(child) == {}
                await fill(child, "a")
            assert statuses(run) == {"a": "open"}

    asyncio.run(scenario())


def test_forty_children_at_once_bring_everything() -> None:
    async def scenario() -> None:
        async with running(None, *layers()) as run:
            await fill(run, "a")

            async def work(child: Execution) -> None:
                await fill(child, child.execution_id)

            await run.in_parallel([work] * 40, ids=[f"c{n}" for n in range(40)], limit=7)
            assert set(statuses(run)) == {"a", *(f"c{n}" for n in range(40))}

    asyncio.run(scenario())
