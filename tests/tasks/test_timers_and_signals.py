"""Sleeps and signals: they hold no worker, outlive processes, and none is lost or mistaken."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tasks.programs import works
from taskstate.errors import NotFoundError, SignalError, TaskEndedError, WaitTimeoutError
from taskstate.tasks import TaskContext, task

from .site import Site, eventually, state

pytestmark = pytest.mark.once


@task("asking")
async def asking(ctx: TaskContext, input: str) -> Any:
    return [input, await ctx.wait_for("answer")]


@task("family")
async def family(ctx: TaskContext, input: list[str]) -> list[Any]:
    return await ctx.fan_out(asking, input)


@task("both")
async def both(ctx: TaskContext, input: None) -> list[Any]:
    return list(await asyncio.gather(ctx.wait_for("answer"), ctx.wait_for("answer"), ctx.wait_for("other")))


@task("hurried")
async def hurried(ctx: TaskContext, input: float) -> Any:
    try:
        return await ctx.wait_for("answer", timeout=input)
    except WaitTimeoutError:
        return ["nothing", await ctx.wait_for("answer")]


async def open_waits(tasks: Any, id: str, count: int) -> list[Any]:
    async def are_open() -> bool:
        return len(await tasks.waits(id)) >= count

    await eventually(are_open)
    return list(await tasks.waits(id))


async def test_many_sleep_at_once_with_a_worker_that_runs_one_task_at_once(site: Site) -> None:
    @task("nap")
    async def nap(ctx: TaskContext, input: float) -> float:
        await ctx.sleep(input)
        return input

    async with site.tasks(nap, works.quick, concurrency=1) as tasks:
        begun = time.monotonic()
        handles = await tasks.start_many(nap, [0.4] * 16)
        assert await tasks.run(works.quick, 1, timeout=10) == 1
        for handle in handles:
            assert await handle.result(10) == 0.4
        assert 0.4 <= time.monotonic() - begun < 6.0
        info = await handles[0].info()
        assert info["resume_reason"] == "sleep"


async def test_a_sleep_goes_on_while_no_worker_is_there(shared_site: Site) -> None:
    site = shared_site
    doomed = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.sleeper, 0.3)
        await state(tasks, handle.id, "suspended")
        doomed.kill()
        await asyncio.sleep(0.3)
        begun = time.monotonic()
        await site.worker()
        await site.noted("woke")
        assert time.monotonic() - begun < 5
        assert await handle.result(10) == "rested"


async def test_a_signal_that_comes_early_is_kept_and_several_are_taken_in_order(site: Site) -> None:
    @task("late", limits=works.QUICK)
    async def late(ctx: TaskContext, input: str) -> list[Any]:
        return [await ctx.wait_for("answer"), await ctx.wait_for("answer")]

    async with site.tasks(late, worker=False) as tasks:
        handle = await tasks.start(late, "")
        assert [await handle.signal("answer", number) for number in (1, 2)] == [None, None]
        await tasks.close()
    async with site.tasks(late) as tasks:
        assert await tasks.result(handle.id, timeout=10) == [1, 2]


async def test_two_equal_questions_of_two_children_are_answered_each_by_its_own_id(site: Site) -> None:
    # Reported of another library as langchain-ai/langgraph#6626.
    async with site.tasks(asking, family) as tasks:
        handle = await tasks.start(family, ["a", "b"])
        waits = [wait for wait in await open_waits(tasks, handle.id, 3) if wait["kind"] == "signal"]
        assert len({wait["id"] for wait in waits}) == 2
        children = {task["id"]: task["input"] for task in await tasks.list(parent_id=handle.id)}
        ids = {children[wait["task_id"]]: wait["id"] for wait in waits}
        with pytest.raises(SignalError) as caught:
            await handle.signal("answer", "which?")
        assert set(caught.value.open_waits) == set(ids.values())
        second = next(wait for wait in waits if wait["id"] == ids["b"])
        assert await tasks.signal(second["task_id"], "answer", "for b", wait_id=ids["b"]) == ids["b"]
        with pytest.raises((SignalError, TaskEndedError)):
            await tasks.signal(second["task_id"], "answer", "again", wait_id=ids["b"])
        first = next(wait for wait in waits if wait["id"] == ids["a"])
        assert await tasks.signal(first["task_id"], "answer", "for a") == ids["a"]
        assert await handle.result(10) == [["a", "for a"], ["b", "for b"]]


async def test_several_waits_of_one_task_have_ids_of_their_own(site: Site) -> None:
    async with site.tasks(both) as tasks:
        handle = await tasks.start(both, None)
        waits = await open_waits(tasks, handle.id, 3)
        first, second = [wait["id"] for wait in waits if wait["name"] == "answer"]
        with pytest.raises(SignalError) as caught:
            await handle.signal("answer", 0)
        assert set(caught.value.open_waits) == {first, second}
        assert await handle.signal("answer", 2, wait_id=second) == second
        await handle.signal("other", 3)
        assert await handle.signal("answer", 1) == first
        assert await handle.result(10) in ([1, 2, 3], [2, 1, 3])


async def test_a_wait_ends_in_time_and_a_signal_that_comes_later_is_kept(site: Site) -> None:
    async with site.tasks(hurried) as tasks:
        handle = await tasks.start(hurried, 0.1)
        (wait,) = await open_waits(tasks, handle.id, 1)

        async def is_over() -> bool:
            found = await tasks.waits(handle.id)
            return bool(found) and found[0]["id"] != wait["id"]

        await eventually(is_over)
        await handle.signal("answer", "late")
        assert await handle.result(10) == ["nothing", "late"]


async def test_a_signal_that_meets_the_end_of_the_time_is_taken_once(site: Site) -> None:
    async with site.tasks(hurried) as tasks:
        for number in range(6):
            handle = await tasks.start(hurried, 0.05)
            await asyncio.sleep(0.04 + 0.006 * number)
            await handle.signal("answer", number)
            assert await handle.result(10) in (number, ["nothing", number])
            (signal,) = (await tasks.history(handle.id))["signals"]
            assert signal["wait_id"] is not None


async def test_the_same_signal_again_changes_nothing(site: Site) -> None:
    async with site.tasks(asking, both) as tasks:
        handle = await tasks.start(asking, "a")
        await open_waits(tasks, handle.id, 1)
        answers = [await tasks.signal(handle.id, "answer", 1, signal_id="s") for _ in range(3)]
        assert len(set(answers)) == 1
        assert await handle.result(10) == ["a", 1]
        with pytest.raises(TaskEndedError):
            await handle.signal("answer", 2)
        with pytest.raises(NotFoundError):
            await tasks.signal("none", "answer", 2)


async def test_an_approval_given_while_no_worker_is_there_is_acted_on_later(shared_site: Site) -> None:
    async with shared_site.tasks(asking) as tasks:
        handle = await tasks.start(asking, "a")
        await open_waits(tasks, handle.id, 1)
        await state(tasks, handle.id, "suspended")
    async with shared_site.tasks(asking, worker=False) as tasks:
        await tasks.signal(handle.id, "answer", {"by": "someone"})
        assert (await tasks.get(handle.id))["state"] == "ready"
    async with shared_site.tasks(asking) as tasks:
        assert await tasks.result(handle.id, timeout=10) == ["a", {"by": "someone"}]
