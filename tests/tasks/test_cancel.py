"""A cancel reaches all below, lets end in order what can, frees what was held and leaves a record."""

from __future__ import annotations

import asyncio
import os

import pytest

from tasks.programs import works
from taskstate.errors import TaskUnsuccessfulError
from taskstate.tasks import TaskContext, task

from .site import Site, eventually, kept_late, outcomes, state

pytestmark = pytest.mark.once


async def test_a_cancel_during_a_tool_call_is_seen_then_cuts_it_off_and_is_recorded(site: Site) -> None:
    async with site.tasks(*works.TYPES, concurrency=1) as tasks:
        handle = await tasks.start(works.tool, "never")
        await site.noted("called")
        behind = await tasks.start(works.quick, 1)
        assert await tasks.cancel(handle.id) == {"ended": [], "asked": [handle.id]}
        (seen,) = await site.noted("seen", cancelled=True)
        (cut,) = await site.noted("cut off")
        assert 0.15 < cut["at"] - seen["at"] < 2.0
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await handle.result(10)
        assert caught.value.state == "cancelled"
        (attempt,) = (await tasks.history(handle.id))["attempts"]
        assert (attempt["outcome"], attempt["in_flight"]) == ("cancelled", ["call"])
        assert await behind.result(10) == 1


async def test_a_cancel_asked_elsewhere_reaches_a_worker_at_once(shared_site: Site) -> None:
    site = shared_site
    await site.worker(concurrency=1, poll_s=30)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.tool, "never")
        await site.noted("called")
        await handle.cancel()
        await site.noted("seen", "cut off", count=2)
        assert await state(tasks, handle.id, "cancelled") == "cancelled"
        assert await tasks.run(works.quick, 1, timeout=10) == 1


async def test_a_function_may_end_in_order_and_its_result_is_kept_for_audit_only(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.orderly, "", conversation="c")
        await site.noted("begun")
        await handle.cancel()
        await state(tasks, handle.id, "cancelled")
        assert (await handle.info())["result"] is None
        (late,) = await kept_late(tasks, handle.id)
        assert (late["kind"], late["result"]) == ("succeeded", '"in order"')
        assert await tasks.inbox("c").take(wait_s=0.3) == []


async def test_what_does_not_run_is_cancelled_at_once_with_all_below(site: Site) -> None:
    site.open("before-g")
    async with site.tasks(*works.TYPES, concurrency=1) as tasks:
        late = await tasks.start(works.quick, 1, delay_s=60)
        handle = await tasks.start(works.parent, "g")
        (child,) = await site.noted("begun", name="gated")
        await state(tasks, handle.id, "suspended")
        queued = await tasks.start(works.quick, 2)
        assert await tasks.cancel(handle.id) == {"ended": [handle.id], "asked": [child["task"]]}
        for one in (late, queued):
            assert await tasks.cancel(one.id) == {"ended": [one.id], "asked": []}
        await state(tasks, child["task"], "cancelled")
        assert site.count("ran") == site.count("resumed") == 0
        assert await tasks.cancel(handle.id) == {"ended": [], "asked": []}


async def test_a_cancel_while_a_grandchild_starts_a_process_leaves_neither_task_nor_process(site: Site) -> None:
    # Reported of other systems as mattapperson/noetic#60 and multica-ai/multica#5918.
    async with site.tasks(*works.TYPES, concurrency=4) as tasks:
        handles = []
        for number in range(6):
            handle = await tasks.start(works.grandparent, None)
            handles.append(handle)
            if number < 5:
                await asyncio.sleep(0.012 * number)
            else:
                await site.noted("process", count=site.count("process") + 1)
            await handle.cancel()

        async def all_ended() -> bool:
            return not await tasks.list(states=["scheduled", "ready", "running", "suspended"])

        await eventually(all_ended)
        assert {task["state"] for task in await tasks.list()} == {"cancelled"}
        processes = [note["process"] for note in site.notes("process")]
        await eventually(lambda: not any(exists(process) for process in processes))
        assert await tasks.run(works.quick, 1, timeout=10) == 1


def exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_child_that_is_started_after_the_cancel_is_born_cancelled(site: Site) -> None:
    @task("defiant", limits=works.QUICK)
    async def defiant(ctx: TaskContext, input: None) -> None:
        works.begun(ctx)
        await ctx.wait_cancelled()
        await ctx.start(works.quick, 1)

    async with site.tasks(*works.TYPES, defiant) as tasks:
        handle = await tasks.start(defiant, None)
        await site.noted("begun")
        await handle.cancel()
        await state(tasks, handle.id, "cancelled")
        (child,) = await tasks.list(parent_id=handle.id)
        assert child["state"] == "cancelled"
        assert site.count("ran") == 0


async def test_a_cancel_that_meets_a_completion_leaves_one_outcome(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        for number in range(12):
            handle = await tasks.start(works.quick, number, conversation="c")
            await asyncio.sleep(0.002 * (number % 6))
            await handle.cancel()
            ended = await state(tasks, handle.id, "succeeded", "cancelled")
            events = await tasks.inbox("c", offer_s=0.0).take(wait_s=5 if ended == "succeeded" else 0.0)
            await tasks.inbox("c").ack(events)
            assert [event["task_id"] for event in events] == ([handle.id] if ended == "succeeded" else [])
            assert await outcomes(tasks, handle.id) in ([ended], [])


async def test_a_task_whose_worker_died_after_the_cancel_ends_cancelled(shared_site: Site) -> None:
    site = shared_site
    doomed = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.gated, "never")
        await site.noted("begun")
        await site.stop(doomed)
        await handle.cancel()
        doomed.kill()
        await site.worker()
        await state(tasks, handle.id, "cancelled")
        assert site.count("begun") == 1


async def test_a_retry_of_a_cancelled_task_repeats_no_completed_step(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.counting, "g")
        await site.noted("step", step="one")
        await handle.cancel()
        await state(tasks, handle.id, "cancelled")
        site.open("g")
        assert await tasks.retry(handle.id) == [handle.id]
        assert await handle.result(10) == 2
        assert site.count("step", step="one") == len((await tasks.history(handle.id))["checkpoints"]) - 1
