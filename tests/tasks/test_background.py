"""A background task ends by itself, and its conversation hears of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tasks.programs import works
from tasks.programs.journal import note, passed
from taskstate.tasks import DurableTasks, Limits, TaskContext, task

from .site import Site

pytestmark = pytest.mark.once


async def taken(tasks: DurableTasks, conversation: str, count: int) -> list[dict[str, Any]]:
    """So many events, taken and acknowledged."""
    inbox = tasks.inbox(conversation)
    events: list[Any] = []
    while len(events) < count:
        more = await inbox.take(wait_s=10)
        assert more, f"only {len(events)} events came"
        events += more
        await inbox.ack(more)
    return events


async def test_a_completion_is_an_event_in_the_inbox_of_the_conversation(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.quick, 5, owner="u", conversation="c", generation=7)
        (event,) = await taken(tasks, "c", 1)
        del event["id"], event["at"]
        assert event == {
            "task_id": handle.id,
            "name": "quick",
            "kind": "result",
            "state": "succeeded",
            "result": 5,
            "error_code": None,
            "conversation": "c",
            "generation": 7,
            "seq": 1,
        }
        assert await tasks.inbox("c", offer_s=0.0).take(wait_s=0.3) == []


async def test_a_failure_is_an_event_with_its_code(site: Site) -> None:
    @task("bad", limits=Limits(attempts=1))
    async def bad(ctx: TaskContext, input: None) -> None:
        raise ValueError("it is bad")

    async with site.tasks(bad) as tasks:
        await tasks.start(bad, None, conversation="c")
        (event,) = await taken(tasks, "c", 1)
        assert (event["state"], event["result"], event["error_code"]) == ("failed", None, "error")


async def test_partial_and_final_results_keep_their_order_across_a_crash(shared_site: Site) -> None:
    site = shared_site
    doomed = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        await tasks.start(works.reporting, "g", conversation="c")
        await site.noted("begun")
        doomed.kill()
        site.open("g")
        await site.worker()
        events = await taken(tasks, "c", 4)
        assert [(event["seq"], event["kind"], event["result"]) for event in events] == [
            (1, "progress", "first"),
            (2, "progress", "second"),
            (3, "progress", "third"),
            (4, "result", "all"),
        ]


async def test_a_task_that_reported_and_was_suspended_still_delivers_its_result(site: Site) -> None:
    # Reported of another system as anthropics/claude-code#96170.
    @task("twice")
    async def twice(ctx: TaskContext, input: None) -> str:
        await ctx.publish("half")
        return str(await ctx.wait_for("more"))

    async with site.tasks(twice) as tasks:
        handle = await tasks.start(twice, None, conversation="c")
        (half,) = await taken(tasks, "c", 1)
        await handle.signal("more", "whole")
        (whole,) = await taken(tasks, "c", 1)
        assert [(event["seq"], event["kind"], event["result"]) for event in (half, whole)] == [
            (1, "progress", "half"),
            (2, "result", "whole"),
        ]


async def test_an_event_is_offered_again_when_its_reader_died(shared_site: Site) -> None:
    site = shared_site
    reader = site.ask("asking:take", "c")
    async with site.tasks(*works.TYPES) as tasks:
        await tasks.start(works.quick, 5, conversation="c")
        await site.noted("taken", seqs=[1])
        reader.kill()
        (event,) = await tasks.inbox("c").take(wait_s=10)
        assert event["result"] == 5
        assert await tasks.inbox("c").ack(event) == 1
        assert await tasks.inbox("c").ack(event) == 0


async def test_the_iterator_of_events_acknowledges_one_when_the_next_is_asked_for(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        for number in range(3):
            await (await tasks.start(works.quick, number, conversation="c")).result(10)
        seen = []
        events = tasks.events("c")
        async for event in events:
            seen.append(event)
            if len(seen) == 3:
                break
        await events.aclose()  # type: ignore[attr-defined]
        assert [event["result"] for event in seen] == [0, 1, 2]
        assert [await tasks.inbox("c").ack(event) for event in seen] == [0, 0, 1]


async def test_completions_that_come_while_the_parent_is_busy_are_all_heard_of_once(site: Site) -> None:
    # Reported of another system as anthropics/claude-code#87675.
    @task("busy")
    async def busy(ctx: TaskContext, input: int) -> int:
        for number in range(input):
            await ctx.start(works.quick, number)
        waited = asyncio.ensure_future(ctx.fan_out(works.quick, range(100, 100 + input)))
        note("busy")
        await passed("g")
        return len(await waited)

    async with site.tasks(*works.TYPES, busy, concurrency=30) as tasks:
        handle = await tasks.start(busy, 19, conversation="c")
        await site.noted("ran", count=38)
        site.open("g")
        assert await handle.result(10) == 19
        events = await taken(tasks, "c", 20)
        notices = [event for event in events if event["name"] == "quick"]
        assert sorted(event["result"] for event in notices) == list(range(19))
        assert len({event["task_id"] for event in notices}) == 19
        assert await tasks.inbox("c", offer_s=0.0).take() == []


async def test_the_result_of_a_child_that_was_waited_for_is_no_event(site: Site) -> None:
    site.open("before-g")
    site.open("g")
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.parent, "g", conversation="c")
        await handle.result(10)
        (event,) = await taken(tasks, "c", 1)
        assert event["task_id"] == handle.id
        assert await tasks.inbox("c", offer_s=0.0).take() == []
