"""Children: what they inherit, what comes back, and what a failed one leaves."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from taskstate import ContextLayer, task_state
from taskstate.errors import LifecycleError
from taskstate.harness import Diagnostic, Harness, MergeConflict

from .support import EMPTY, KEY, Plain, running, stored, task_layer, tools

Open = Callable[[], Any]


async def put(run: Any, **values: Any) -> None:
    for key, value in values.items():
        await tools(run).set_task_data(key=key, value=value)


def test_a_child_starts_with_a_copy_and_is_merged_when_its_block_ends(open_storage: Open) -> None:
    async def scenario() -> None:
        async with running(open_storage()) as run:
            await put(run, a=1)
            async with run.spawn(execution_id="child") as child:
                assert (child.execution_id, child.thread_id, child.depth) == ("child", "t", 1)
                assert child.ctx.parent_id == run.execution_id
                assert child.state("task-state") == run.state("task-state")
                await put(child, a=2, b=3)
                await child.store()
                assert tools(run).data == (await stored(open_storage()))["data"] == {"a": 1}
            assert tools(run).data == (await stored(open_storage()))["data"] == {"a": 2, "b": 3}
            assert len(tools(run).checkpoints) == 1

    asyncio.run(scenario())


def test_a_nested_child_inherits_what_its_parent_has_now(open_storage: Open) -> None:
    async def scenario() -> None:
        async with running(open_storage()) as run:
            async with run.spawn() as child:
                await put(child, child=1)
                async with child.spawn() as grandchild:
                    assert grandchild.depth == 2
                    assert tools(grandchild).data == {"child": 1}
                    await put(grandchild, grandchild=2)
                assert tools(child).data == {"child": 1, "grandchild": 2}
                assert await stored(open_storage()) is None
            assert (await stored(open_storage()))["data"] == {"child": 1, "grandchild": 2}

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [ValueError(), asyncio.CancelledError(), KeyboardInterrupt(), SystemExit()], ids=repr)
def test_a_child_that_fails_leaves_nothing(open_storage: Open, error: BaseException) -> None:
    async def scenario() -> None:
        async with (
            Harness(storage=open_storage(), layers=[task_layer()]) as harness,
            harness.execution(thread_id="t") as run,
        ):
            await put(run, a=1)
            before = run.state("task-state")
            caught: BaseException | None = None
            try:
                async with run.spawn() as child:
                    async with child.spawn() as grandchild:
                        await put(grandchild, b=2)
                    await child.store()
                    raise error
            except BaseException as raised:
                caught = raised
            assert caught is error
            assert run.state("task-state") == await stored(open_storage()) == before
            assert list(harness.lifecycle.states.live()) == [run.execution_id]
            assert list(harness.lifecycle.states._inherited) == []

    asyncio.run(scenario())


def test_a_child_that_returns_after_its_parent_ended_changes_nothing() -> None:
    async def scenario() -> None:
        storage = Plain()
        go = asyncio.Event()

        async def work(parent: Any) -> None:
            async with parent.spawn() as child:
                await put(child, late=1)
                await go.wait()

        async with Harness(storage=storage, layers=[task_layer()]) as harness:
            async with harness.execution(thread_id="t") as run:
                task = asyncio.create_task(work(run))
                await asyncio.sleep(0.01)
            before = len(storage.writes)
            go.set()
            with pytest.raises(LifecycleError, match="after its parent had ended"):
                await task
            assert len(storage.writes) == before
            assert storage.records[KEY]["data"] == {"__outcome": "success"}
            assert harness.lifecycle.states.live() == {}
            assert harness._running == set()

    asyncio.run(scenario())


def test_children_are_merged_one_at_a_time() -> None:
    merged: list[str] = []

    class Watched(ContextLayer):
        def init(self) -> Any:
            return {"state": {"n": 0}}

        def on_spawn(self, parent_state: Any) -> Any:
            return {"child_state": parent_state}

        async def on_return(self, parent_state: Any, child_ctx: Any) -> Any:
            merged.append(child_ctx.execution_id)
            await asyncio.sleep(0.002)
            merged.append(child_ctx.execution_id)
            return {"parent_state": {"n": parent_state["n"] + 1}}

    async def scenario() -> None:
        async with running(None, Watched("a"), Watched("b")) as run:
            await run.in_parallel([lambda child: None] * 6, ids=list("uvwxyz"))
            assert run.state("a") == run.state("b") == {"n": 6}
        assert "".join(merged) == "".join(execution_id * 4 for execution_id in merged[::4])

    asyncio.run(scenario())


def test_a_key_that_no_child_touched_is_no_conflict() -> None:
    # Reported of others as langchain-ai/langgraph#6446 and langchain-ai/deepagents#923.
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(diagnostics=seen.append) as run:
            await put(run, cfg={"x": 1})
            workers = [lambda child: put(child, b1=1), lambda child: put(child, b2=2)]
            await run.in_parallel(workers)
            assert tools(run).data == {"cfg": {"x": 1}, "b1": 1, "b2": 2}
            assert seen == []

    asyncio.run(scenario())


def test_the_changes_of_parallel_children_all_survive_in_any_order() -> None:
    # Reported of another library as google/adk-python#1153: only one child's change survived.
    async def outcome(order: tuple[int, ...]) -> Any:
        turns = {number: asyncio.Event() for number in order}
        turns[order[0]].set()

        def worker(number: int) -> Any:
            async def work(child: Any) -> None:
                table = tools(child).data["table"]
                await put(child, **{f"own{number}": number}, table={**table, f"k{number}": number})
                await turns[number].wait()

            return work

        async with running() as run:
            await put(run, table={"kept": True})
            results = asyncio.create_task(run.in_parallel([worker(number) for number in range(3)]))
            for number, following in itertools.pairwise([*order, None]):
                while f"own{number}" not in tools(run).data:  # noqa: ASYNC110
                    await asyncio.sleep(0)
                if following is not None:
                    turns[following].set()
            await results
            return tools(run).data

    async def scenario() -> None:
        wanted = {"table": {"kept": True, "k0": 0, "k1": 1, "k2": 2}, "own0": 0, "own1": 1, "own2": 2}
        for order in itertools.permutations(range(3)):
            assert await outcome(order) == wanted

    asyncio.run(scenario())


def test_a_child_is_merged_once() -> None:
    # Reported of another library as langchain-ai/langgraph#4007, #3648 and #6290: what was inherited doubled.
    async def scenario() -> None:
        async with running() as run:
            await put(run, entries=["a", "b"], counter=5)
            await tools(run).record_artifact(path="p.md")
            block = run.spawn()
            async with block as child:
                data = tools(child).data
                await put(child, entries=[*data["entries"], "c"], counter=data["counter"] + 1)
                await tools(child).record_artifact(path="c.md")
            merged = run.state("task-state")
            assert merged["data"] == {"entries": ["a", "b", "c"], "counter": 6}
            assert merged["files"] == ["p.md", "c.md"]
            with pytest.raises(LifecycleError, match="has ended"):
                await child.store()
            await block.__aexit__(None, None, None)
            assert run.state("task-state") == merged

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["shallow", "namespace", "three_way"])
def test_a_childs_work_reaches_a_parent_that_had_nothing(mode: Any) -> None:
    # Reported of another library as mattapperson/noetic commit 6b0bd017.
    async def scenario() -> None:
        async with running(None, task_layer(merge_data=mode)) as run:
            assert run.state("task-state") == EMPTY
            async with run.spawn(execution_id="c") as child:
                await put(child, k=1)
                await tools(child).record_artifact(path="x")
                await child.store()
            data = {"c": {"k": 1}} if mode == "namespace" else {"k": 1}
            checkpoints = [{"timestamp": 1, "depth": 1}]
            assert run.state("task-state") == {"checkpoints": checkpoints, "files": ["x"], "data": data}

    asyncio.run(scenario())


def test_a_nested_change_keeps_its_siblings_and_a_removal_is_carried() -> None:
    # Reported of another library as mattapperson/noetic commit 10929924.
    async def scenario() -> None:
        async with running() as run:
            await put(run, cfg={"a": 1, "b": {"c": 2, "d": 3}})
            async with run.spawn() as first, run.spawn() as second:
                await put(first, cfg={"a": 1, "b": {"c": 9, "d": 3}})
                await put(second, cfg={"b": {"c": 2, "d": 3}})
            assert tools(run).data == {"cfg": {"b": {"c": 9, "d": 3}}}

    asyncio.run(scenario())


def test_a_conflict_names_the_path_and_both_executions_and_the_later_merge_wins() -> None:
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(diagnostics=seen.append, execution_id="root") as run:
            await put(run, cfg={"a": {"b": 0}})
            async with run.spawn(execution_id="late") as late:
                async with run.spawn(execution_id="early") as early:
                    await put(early, cfg={"a": {"b": "sk-early"}})
                await put(late, cfg={"a": {"b": "sk-late"}})
            assert tools(run).data == {"cfg": {"a": {"b": "sk-late"}}}
            (report,) = seen
            assert (report.layer_id, report.hook, report.execution_id) == ("task-state", "on_return", "root")
            assert isinstance(report.error, MergeConflict)
            assert (report.error.path, report.error.parent_id, report.error.child_id) == (
                "data.cfg.a.b",
                "root",
                "late",
            )
            assert str(report.error) == "data.cfg.a.b: changed by root and by its child late; kept: the child's"

    asyncio.run(scenario())


def test_forty_children_grow_with_what_they_wrote() -> None:
    async def size(children: int) -> int:
        async with running() as run:
            await put(run, base={"text": "x" * 1000})
            for number in range(children):
                async with run.spawn(execution_id=f"exec-{number:04d}") as child:
                    await put(child, **{f"result{number:04d}": "y" * 100})
            return len(orjson.dumps(run.state("task-state")))

    async def scenario() -> None:
        ten, twenty, forty = await size(10), await size(20), await size(40)
        assert forty - twenty == 2 * (twenty - ten)
        assert forty < 7000

    asyncio.run(scenario())


def test_four_levels_of_children_do_not_multiply_the_state(open_storage: Open, raw_bytes: Callable[[], bytes]) -> None:
    # Reported of another library as cloudwego/eino PR#1232: each level doubled what was stored.
    async def scenario() -> None:
        async with running(open_storage()) as run:
            await put(run, payload="x" * 100_000)
            async with run.spawn() as one, one.spawn() as two, two.spawn() as three, three.spawn() as four:
                for child in (four, three, two, one):
                    await child.store()
            await run.store()
        kept = await stored(open_storage())
        assert len(orjson.dumps(kept)) < 101_000
        assert len(await open_storage().list("")) == 1

    asyncio.run(scenario())


def test_layers_shared_by_harnesses_keep_their_children_apart() -> None:
    layer = task_state(merge_data="three_way")

    async def work(thread_id: str, kept: str) -> Any:
        async with running(None, layer, thread_id=thread_id) as run:
            await put(run, **{kept: 1}, shared={"x": 0})
            async with run.spawn(execution_id="worker") as child:
                await asyncio.sleep(0.01)
                await put(child, **{thread_id: 2})
            return tools(run).data

    async def scenario() -> None:
        seen = await asyncio.gather(work("t1", "a"), work("t2", "b"))
        assert seen == [{"a": 1, "shared": {"x": 0}, "t1": 2}, {"b": 1, "shared": {"x": 0}, "t2": 2}]

    asyncio.run(scenario())


def test_the_result_of_a_child_goes_through_the_layers() -> None:
    class Judge(ContextLayer):
        def init(self) -> Any:
            return {"state": {"seen": []}}

        def on_spawn(self, parent_state: Any) -> Any:
            return {"child_state": parent_state}

        def on_return(self, parent_state: Any, result: Any) -> Any:
            return {"parent_state": {"seen": [*parent_state["seen"], result]}, "result": f"{result}!"}

    async def scenario() -> None:
        async with running(None, Judge("judge")) as run:
            async with run.spawn() as child:
                child.result = "one"
            assert child.result == "one!"
            assert await run.in_parallel([lambda child: "two"]) == ["two!"]
            assert run.state("judge") == {"seen": ["one", "two"]}

    asyncio.run(scenario())


def test_an_outcome_of_one_run_is_not_inherited_by_the_result_of_another(open_storage: Open) -> None:
    async def scenario() -> None:
        for fails in (True, False):
            try:
                async with running(open_storage()) as run:
                    async with run.spawn() as child:
                        await child.store()
                    if fails:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                assert (await stored(open_storage()))["data"] == {"__outcome": "failure"}
        assert (await stored(open_storage()))["data"] == {"__outcome": "success"}

    asyncio.run(scenario())


def test_only_the_newest_fifty_checkpoints_are_kept() -> None:
    async def scenario() -> None:
        async with running() as run:
            for _ in range(60):
                await run.store()
            async with run.spawn() as child:
                for _ in range(60):
                    await child.store()
            points = tools(run).checkpoints
            assert [point["timestamp"] for point in points] == list(range(71, 121))
            assert {point["depth"] for point in points} == {1}

    asyncio.run(scenario())
