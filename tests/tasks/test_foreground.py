"""A parent is suspended for its child, and resumed once with what became of it."""

from __future__ import annotations

import pytest

from tasks.programs import works
from taskstate.errors import TaskUnsuccessfulError
from taskstate.tasks import DurableTasks, Limits, TaskContext, task

from .site import Site, outcomes, state

pytestmark = pytest.mark.once


async def test_a_parent_holds_no_worker_while_it_waits_and_is_resumed_once_with_the_result(site: Site) -> None:
    site.open("before-g")
    async with site.tasks(*works.TYPES, concurrency=1) as tasks:
        handle = await tasks.start(works.parent, "g")
        await site.noted("begun", name="gated")
        info = await handle.info()
        assert (info["state"], info["worker"], info["resume_reason"]) == ("suspended", None, "child:gated")
        site.open("g")
        assert await handle.result(10) == "parent of g"
        assert site.count("begun", name="parent") == 2
        assert site.count("resumed") == site.count("after") == 1
        assert await outcomes(tasks, handle.id) == ["suspended", "succeeded"]


async def test_a_parent_is_resumed_with_the_failure_of_its_child(site: Site) -> None:
    @task("bad", limits=Limits(attempts=1))
    async def bad(ctx: TaskContext, input: int) -> int:
        raise ValueError("it is bad")

    @task("above")
    async def above(ctx: TaskContext, input: int) -> list[str | None]:
        try:
            await ctx.run(bad, input)
        except TaskUnsuccessfulError as error:
            return [error.state, error.error_code, error.message]
        return []

    async with site.tasks(bad, above) as tasks:
        assert await tasks.run(above, 1, timeout=10) == ["failed", "error", "ValueError: it is bad"]


async def test_run_from_outside_waits_also_where_no_worker_is(shared_site: Site) -> None:
    await shared_site.worker()
    async with shared_site.tasks(*works.TYPES, worker=False) as tasks:
        assert await tasks.run(works.quick, 4, timeout=10) == 4


async def test_run_of_the_tasks_within_a_task_suspends_it_and_binds_the_child(site: Site) -> None:
    @task("outer")
    async def outer(ctx: TaskContext, input: str) -> str:
        return await tasks.run(works.gated, input)

    tasks: DurableTasks = site.tasks(*works.TYPES, outer, concurrency=1)
    async with tasks:
        handle = await tasks.start(outer, "g", owner="u", conversation="c", generation=3)
        await site.noted("begun", name="gated")
        assert await state(tasks, handle.id, "suspended") == "suspended"
        (child,) = await tasks.list(parent_id=handle.id)
        assert (child["owner"], child["conversation"], child["generation"]) == ("u", "c", 3)
        site.open("g")
        assert await handle.result(10) == "g"
        assert len(await tasks.list(name="gated")) == 1


@pytest.mark.parametrize("when", ["before the child", "while it waits"])
async def test_a_parent_whose_worker_was_killed_is_resumed_once(shared_site: Site, when: str) -> None:
    site = shared_site
    if when == "while it waits":
        site.open("before-g")
    doomed = await site.worker(concurrency=1)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.parent, "g")
        await site.noted("begun", name="gated" if when == "while it waits" else "parent")
        if when == "while it waits":
            await state(tasks, handle.id, "suspended")
        doomed.kill()
        site.open("before-g")
        await site.worker()
        await state(tasks, handle.id, "suspended")
        site.open("g")
        assert await handle.result(20) == "parent of g"
        assert site.count("resumed") == site.count("after") == 1
        assert len(await tasks.list(parent_id=handle.id)) == 1
        lost = ["lost"] if when == "before the child" else []
        assert await outcomes(tasks, handle.id) == [*lost, "suspended", "succeeded"]


async def test_a_parent_is_resumed_once_though_the_worker_of_its_child_was_killed(shared_site: Site) -> None:
    site = shared_site
    site.open("before-g")
    workers = [await site.worker() for _ in range(2)]
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.parent, "g")
        (child,) = await site.noted("begun", name="gated")
        await state(tasks, handle.id, "suspended")
        next(one for one in workers if one.pid == child["pid"]).kill()
        site.open("g")
        assert await handle.result(20) == "parent of g"
        assert site.count("begun", name="gated") == 2
        assert site.count("resumed") == site.count("after") == 1
        assert await outcomes(tasks, handle.id) == ["suspended", "succeeded"]
        assert await outcomes(tasks, child["task"]) == ["lost", "succeeded"]
