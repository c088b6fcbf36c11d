"""A conversation that has gone on hears nothing of what an older generation started."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from tasks.programs import works
from tasks.programs.journal import note, passed
from taskstate.errors import NotFoundError, StaleGenerationError, TaskUnsuccessfulError
from taskstate.tasks import TaskContext, task

from .site import Site, eventually, kept_late, outcomes

pytestmark = pytest.mark.once


@task("polite")
async def polite(ctx: TaskContext, input: str) -> str:
    note("begun")
    with suppress(asyncio.CancelledError):
        await passed(input)
    try:
        await ctx.ensure_current()
    except BaseException:  # the error of a lost lease, or what ends a function that was left already
        note("not current")
        raise
    note("said to the user")
    return "said"


async def test_what_a_superseded_task_delivers_never_reaches_the_newer_conversation(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        old = await tasks.start(works.stubborn, "g", owner="u", conversation="c", generation=1)
        await site.noted("begun")
        assert await tasks.advance_generation("c", 2, owner="u") == [old.id]
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await old.result(10)
        assert caught.value.state == "superseded"

        async def is_kept() -> bool:
            return bool(await kept_late(tasks, old.id))

        await eventually(is_kept)
        (late,) = await kept_late(tasks, old.id)
        assert (late["kind"], late["result"]) == ("succeeded", '"g too late"')
        new = await tasks.start(works.quick, 2, owner="u", conversation="c", generation=2)
        (event,) = await tasks.inbox("c", owner="u").take(wait_s=10)
        assert (event["task_id"], event["generation"]) == (new.id, 2)
        assert await tasks.inbox("c", owner="u", offer_s=0.0).take(wait_s=0.3) in ([], [event])
        (delivery,) = (await tasks.history(old.id))["deliveries"]
        assert (delivery["state"], delivery["reason"]) == ("suppressed", "superseded")
        assert (await old.info())["result"] is None


async def test_a_result_delivered_before_the_conversation_went_on_is_not_offered_after(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.quick, 1, conversation="c", generation=1)
        assert len(await tasks.inbox("c", offer_s=0.0).take(wait_s=10)) == 1
        await tasks.advance_generation("c", 2)
        assert await tasks.inbox("c", offer_s=0.0).take() == []
        assert (await handle.info())["state"] == "succeeded"


async def test_a_request_of_a_newer_generation_supersedes_what_runs_and_what_waits(site: Site) -> None:
    async with site.tasks(*works.TYPES, concurrency=1) as tasks:
        runs = await tasks.start(works.gated, "g", conversation="c", generation=1)
        await site.noted("begun")
        waits = await tasks.start(works.quick, 1, conversation="c", generation=1)
        new = await tasks.start(works.quick, 2, conversation="c", generation=2)
        assert await new.result(10) == 2
        assert [(await one.info())["state"] for one in (runs, waits)] == ["superseded", "superseded"]
        assert site.count("ran", input=1) == 0
        with pytest.raises(StaleGenerationError):
            await tasks.start(works.quick, 3, conversation="c", generation=1)
        with pytest.raises(NotFoundError):
            await tasks.start(works.quick, 3, owner="v", conversation="c", generation=2)


async def test_a_task_can_ask_whether_it_is_current_before_what_a_user_sees(site: Site) -> None:
    async with site.tasks(polite) as tasks:
        old = await tasks.start(polite, "g", conversation="c", generation=1)
        await site.noted("begun")
        await tasks.advance_generation("c", 2)
        await site.noted("not current")
        assert site.count("said to the user") == 0
        assert (await old.info())["state"] == "superseded"
        site.open("g")
        new = await tasks.start(polite, "g", conversation="c", generation=2)
        assert await new.result(10) == "said"


async def test_children_of_a_superseded_task_are_superseded_with_it(site: Site) -> None:
    site.open("before-g")
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.parent, "g", conversation="c", generation=1)
        (child,) = await site.noted("begun", name="gated")
        assert sorted(await tasks.advance_generation("c", 2)) == sorted([handle.id, child["task"]])
        assert (await tasks.get(child["task"]))["state"] == "superseded"
        site.open("g")
        assert site.count("resumed") == 0


async def test_advancing_while_tasks_complete_leaves_each_with_one_outcome_and_no_stale_event(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        for generation in range(1, 9):
            handles = await tasks.start_many(works.quick, range(6), conversation="c", generation=generation)
            await asyncio.sleep(0.003 * (generation % 4))
            await tasks.advance_generation("c", generation + 1)
            for event in await tasks.inbox("c", offer_s=0.0).take():
                assert event["generation"] == generation + 1
            for handle in handles:
                info = await handle.info()
                assert info["state"] in ("succeeded", "superseded")
                assert (info["result"] is None) == (info["state"] == "superseded")
                assert len(await outcomes(tasks, handle.id)) <= 1
