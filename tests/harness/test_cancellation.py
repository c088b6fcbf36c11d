"""Cancelled at any await: the old state or the new one, no lock held, the next call works.

Reported of another library as openai/openai-agents-python#1658: a state was half saved when the caller went away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from taskstate.harness import Harness
from taskstate.storage import MemoryStorage

from .support import KEY, Notes, Plain, cancel_at, running, stored, task_layer, tools

Open = Callable[[], Any]
NOTES = "layers/notes/t/state"


async def spawn_and_merge(run: Any) -> None:
    async with run.spawn() as child:
        await tools(child).set_task_data(key="a", value=1)
        await tools(child).set_task_data(key="b", value=1)
        await tools(child).record_artifact(path="c.md")
        await child.store("r")


async def in_parallel(run: Any) -> None:
    await run.in_parallel([spawn_and_merge], limit=1)


WORKS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "store": lambda run: run.store("r"),
    "recall": lambda run: run.recall(),
    "tool": lambda run: tools(run).set_task_data(key="k", value={"a": [1, 2, 3]}),
    "merge": spawn_and_merge,
    "parallel": in_parallel,
}


@pytest.fixture(params=["storage without versions", "storage with versions"])
def adapter(request: pytest.FixtureRequest) -> Any:
    return (lambda: Plain(0.0)) if "without" in request.param else MemoryStorage


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("layers", ["ours", "ours and a user's"])
def test_a_state_is_the_old_or_the_new_one(work: str, layers: str, adapter: Any) -> None:
    def fresh() -> list[Any]:
        return [task_layer()] if layers == "ours" else [task_layer(), Notes(slot=200)]

    async def once(step: int) -> tuple[bool, Any, Any]:
        storage = adapter()
        async with Harness(storage=storage, layers=fresh()) as harness:
            async with harness.execution(thread_id="t", execution_id="r") as run:
                await tools(run).set_task_data(key="old", value=0)
                before = await stored(storage)
                cut = await cancel_at(WORKS[work](run), step)
                assert not any(lock.locked() for lock in harness.lifecycle._busy.values())
                assert not run._merging.locked()
                assert list(harness.lifecycle.states.live()) == ["r"]
                await harness.lifecycle.records.drain()
                live, kept = run.state("task-state"), await stored(storage)
                assert live == kept
                for key in ("a", "b"):
                    assert (key in kept["data"]) == (kept["files"] == ["c.md"])
                seen = run.state("notes")["seen"] if len(run.context) > 1 else []
                assert len(seen) in (0, 2)
                if len(run.context) > 1 and work in ("merge", "parallel"):
                    assert bool(seen) == ("a" in kept["data"]), "merged in one layer only"
                assert (await storage.get(NOTES) or {"seen": []}) == {"seen": seen}
                await tools(run).set_task_data(key="next", value=1)
                await run.store("n")
                async with run.spawn() as child:
                    await tools(child).set_task_data(key="child", value=1)
                assert (await stored(storage))["data"] == {**kept["data"], "next": 1, "child": 1}
            return cut, before, kept

    async def scenario() -> None:
        found = {"old": 0, "new": 0}
        _, old, new = await once(10_000)
        for step in range(1, 1000):
            cut, before, kept = await once(step)
            assert before == old
            assert kept in (old, new)
            found["new" if kept == new else "old"] += 1
            if not cut:
                break
        else:
            raise AssertionError("the work never came to its end")
        assert work == "recall" or found["new"]
        assert work == "recall" or step > 1

    asyncio.run(scenario())


def test_a_whole_run_is_recorded_as_aborted_or_not_at_all(adapter: Any) -> None:
    async def whole(harness: Harness) -> None:
        async with harness, harness.execution(thread_id="t") as run:
            await tools(run).set_task_data(key="k", value=1)
            await spawn_and_merge(run)
            await run.store()

    async def scenario() -> None:
        outcomes: list[Any] = []
        cut, step = True, 0
        while cut:
            step += 1
            storage = adapter()
            harness = Harness(storage=storage, layers=[task_layer()])
            cut = await cancel_at(whole(harness), step)
            assert harness._running == set()
            assert harness.lifecycle.states.live() == {}
            state = await stored(storage)
            outcomes.append(state and state["data"].get("__outcome"))
            if state is not None:
                assert outcomes[-1] is not None
                data = {key: 1 for key in ("k", "a", "b") if key in state["data"]}
                assert state["data"] == {**data, "__outcome": outcomes[-1]}
                assert ("a" in data) == ("b" in data) == (state["files"] == ["c.md"])
            async with running(storage) as run:
                assert run.state("task-state") == (state or {"checkpoints": [], "files": [], "data": {}})
        assert outcomes[-1] == "success"
        assert set(outcomes) <= {None, "aborted", "success"}
        assert "aborted" in outcomes

    asyncio.run(scenario())


@pytest.mark.parametrize("work", ["store", "tool", "merge"])
def test_a_cancellation_at_any_time_leaves_the_old_or_the_new_state_on_disk(open_storage: Open, work: str) -> None:
    async def scenario() -> None:
        async with Harness(storage=open_storage(), layers=[task_layer()]) as harness:
            cut, step = True, 0
            while cut and step < 30:
                step += 1
                await open_storage().delete(KEY)
                async with harness.execution(thread_id="t") as run:
                    await tools(run).set_task_data(key="old", value=0)
                    old = await stored(open_storage())
                    cut = await cancel_at(WORKS[work](run), step)
                    await harness.lifecycle.flush(run.ctx)
                    live = run.state("task-state")
                    assert await stored(open_storage()) == live
                    assert (live == old) or work != "store" or len(live["checkpoints"]) == 1
                    assert (live["data"].keys() >= {"a", "b"}) == (live["files"] == ["c.md"])
                    await tools(run).set_task_data(key="next", value=1)
                    assert (await stored(open_storage()))["data"]["next"] == 1
            assert not cut

    asyncio.run(scenario())


def test_a_caller_that_is_cancelled_while_others_wait_does_not_take_them_along() -> None:
    async def scenario() -> None:
        storage = Plain(delay=0.01)
        async with running(storage) as run:
            calls = [asyncio.ensure_future(tools(run).set_task_data(key=f"k{n}", value=n)) for n in range(6)]
            await asyncio.sleep(0)
            for call in calls[::2]:
                call.cancel()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(result) for result in results] == [asyncio.CancelledError, str] * 3
            assert storage.records[KEY]["data"].keys() >= {"k1", "k3", "k5"}
            assert storage.records[KEY] == run.state("task-state")

    asyncio.run(scenario())


def test_the_end_of_a_run_is_not_cut_short(open_storage: Open) -> None:
    async def scenario() -> None:
        for delay in (0.0, 0.001, 0.003):
            started = asyncio.Event()

            async def work(started: asyncio.Event = started) -> None:
                async with running(open_storage()) as run:
                    await tools(run).set_task_data(key="k", value=1)
                    started.set()

            task = asyncio.create_task(work())
            await started.wait()
            await asyncio.sleep(delay)
            task.cancel()
            await asyncio.wait({task})
            assert (await stored(open_storage()))["data"] == {"k": 1, "__outcome": "success"}

    asyncio.run(scenario())
