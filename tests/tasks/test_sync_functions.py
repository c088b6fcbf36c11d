"""A function that isn't async runs in a thread, with the same rules."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tasks.programs import works
from taskstate.errors import TaskUnsuccessfulError
from taskstate.tasks import Limits, SyncTaskContext, task

from .site import Site, eventually, kept_late, outcomes, state

pytestmark = pytest.mark.once


async def test_functions_in_threads_run_at_once_and_leave_the_event_loop_free(site: Site) -> None:
    met = threading.Barrier(3, timeout=10)

    @task("meeting")
    def meeting(ctx: SyncTaskContext, input: int) -> int:
        met.wait()
        return input

    async with site.tasks(meeting) as tasks:
        handles = await tasks.start_many(meeting, range(2))
        await asyncio.to_thread(met.wait)
        assert [await handle.result(10) for handle in handles] == [0, 1]


async def test_a_function_in_a_thread_is_suspended_and_run_again_like_any_other(site: Site) -> None:
    legs: list[int] = []

    @task("blocking")
    def blocking(ctx: SyncTaskContext, input: int) -> list[int]:
        legs.append(ctx.attempt)
        first = ctx.checkpoint("one", lambda: input + 1)
        ctx.sleep(0.05)
        second = ctx.run(works.quick, first)
        ctx.publish(second)
        ctx.ensure_current()
        third = ctx.wait_for("more", 10)
        return [first, second, third, *ctx.fan_out(works.quick, [7, 8])]

    async with site.tasks(works.quick, blocking, concurrency=1) as tasks:
        handle = await tasks.start(blocking, 1, conversation="c")
        await handle.signal("more", 5)
        assert await handle.result(20) == [2, 2, 5, 7, 8]
        assert set(legs) == {1}
        assert set(await outcomes(tasks, handle.id)) == {"suspended", "succeeded"}


async def test_one_that_outlives_its_timeout_is_fenced_off_and_its_late_result_is_audit_only(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.overdue, "g")
        assert await handle.result(10) == "attempt 2"
        assert await outcomes(tasks, handle.id) == ["retry", "succeeded"]
        row = await handle.info()
        site.open("g")

        async def is_kept() -> bool:
            return bool(await kept_late(tasks, handle.id))

        await eventually(is_kept)
        assert await handle.info() == row
        attempts = (await tasks.history(handle.id))["attempts"]
        assert attempts[0]["late"]["result"] == '"attempt 1"'
        assert [one["code"] for one in attempts] == ["timeout", None]


async def test_timeout_is_running_time_of_an_attempt_and_waits_do_not_count(site: Site) -> None:
    @task("patient", limits=Limits(attempts=1, timeout_s=0.3))
    async def patient(ctx: object, input: None) -> str:
        await ctx.sleep(0.5)  # type: ignore[attr-defined]
        return "slept"

    @task("slow", limits=Limits(attempts=1, timeout_s=0.1))
    async def slow(ctx: object, input: None) -> None:
        await asyncio.sleep(20)

    async with site.tasks(patient, slow) as tasks:
        assert await tasks.run(patient, None, timeout=10) == "slept"
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await tasks.run(slow, None, timeout=10)
        assert caught.value.error_code == "timeout"


async def test_a_thread_sees_that_its_task_was_cancelled(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.threaded, "never")
        await site.noted("begun")
        await handle.cancel()
        await state(tasks, handle.id, "cancelled")
        (late,) = await kept_late(tasks, handle.id)
        assert late["result"] == '"never cancelled"'


async def test_a_thread_that_never_ends_keeps_no_place_and_no_process(shared_site: Site) -> None:
    site = shared_site
    process = await site.worker("works:TYPES", concurrency=1, grace_s=0.1)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.overdue, "never")
        assert await handle.result(10) == "attempt 2"
        assert await tasks.run(works.quick, 1, timeout=10) == 1
        asked = time.monotonic()
        process.terminate()
        assert await process.ended() == 0
        assert time.monotonic() - asked < 10
        await eventually(lambda: not process.alive)
