"""Looking at what is stored, who hears of changes, and the life of a store."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Set as AbstractSet
from dataclasses import astuple
from typing import Any

from ..tasks.protocol import TaskStore
from ..tasks.records import Ending, Filter, Topic, Want
from .tasks_suite import Bench, TaskStoreSuite, scenario


class LookConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_tasks_are_given_in_the_order_asked_for(self, b: Bench) -> None:
        ids = [await b.put(owner="uv"[n % 2]) for n in range(4)]
        asked = [ids[2], "no such task", ids[0], ids[1]]
        assert [row.id for row in await b.store.get(asked)] == [ids[2], ids[0], ids[1]]
        assert [row.id for row in await b.store.get(asked, owner="u")] == [ids[2], ids[0]]
        assert await b.store.get([]) == []

    @scenario
    async def test_what_has_ended_or_is_not_there_is_told(self, b: Bench) -> None:
        live, over, other = await b.put(), await b.put(), await b.put()
        await b.work(over)
        await b.store.cancel(other)
        assert await b.store.ended([other, live, "no such task", over]) == [other, "no such task", over]
        assert await b.store.ended([]) == []

    @scenario
    async def test_lists_are_newest_first_filtered_and_in_pages(self, b: Bench) -> None:
        claim = await b.running(name="n", owner="u", conversation="c", generation=1)
        ids = [await b.put(name="mn"[n % 2], owner="uv"[n // 2 % 2]) for n in range(8)]
        children = await b.fan_out(claim.lease, 2, name="n")
        everything = [claim.id, *ids, *children][::-1]

        async def found(**filter: Any) -> list[str]:
            return [row.id for row in await b.store.list(Filter(**filter))]

        assert await found() == everything
        assert await found(limit=3) == everything[:3]
        assert await found(limit=3, before=everything[2]) == everything[3:6]
        assert await found(owner="v") == [ids[n] for n in (7, 6, 3, 2)]
        assert await found(owner="v", name="m") == [ids[n] for n in (6, 2)]
        assert await found(conversation="c") == [*children[::-1], claim.id]
        assert await found(parent_id=claim.id) == children[::-1]
        assert await found(states=["running"]) == [claim.id]
        assert await found(states=["running", "ready"]) == everything
        assert await found(states=["failed"]) == []

    @scenario
    async def test_there_is_no_history_of_no_task(self, b: Bench) -> None:
        assert [*itertools.chain.from_iterable(astuple(await b.store.history("no such task")))] == []


class HintConformance(TaskStoreSuite):
    """See `TaskStoreConformance`. Hints may come late, so these tests wait for them."""

    @scenario
    async def test_subscribers_hear_of_each_kind_of_change(self, b: Bench) -> None:
        heard: set[Topic] = set()

        def hear(topics: AbstractSet[Topic]) -> None:
            heard.update(topics)

        async def hears(*topics: Topic) -> None:
            async with asyncio.timeout(20):
                while not heard.issuperset(topics):  # noqa: ASYNC110 - hints come from other threads
                    await asyncio.sleep(0.005)
            heard.clear()

        stop = b.store.subscribe(hear)
        task_id = await b.heard()
        await hears("ready")
        await b.work(task_id)
        await hears("ended", "outbox")
        await b.settle()
        await hears("inbox")
        claim = await b.running()
        await b.store.wait(claim.lease, [b.wait()])
        await b.store.signal(claim.id, "answer", "1", signal_id="s")
        await hears("waits")
        await b.store.cancel(claim.id, grace_ms=1000)
        await hears("leases", "due")
        await b.put(delay_ms=1000)
        await hears("due")
        await b.suspended("sleep")
        await hears("due")
        await b.work(await b.put(), Ending("failed", code="x", retry_ms=1000))
        await hears("due")
        stop()
        stop()

    @scenario
    async def test_a_subscriber_that_fails_or_has_gone_is_nobody_s_trouble(self, b: Bench) -> None:
        def fail(topics: AbstractSet[Topic]) -> None:
            raise ZeroDivisionError

        heard: list[AbstractSet[Topic]] = []
        stop = b.store.subscribe(fail)
        b.store.subscribe(heard.append)()
        assert await b.work(await b.put()) == "succeeded"
        stop()
        assert heard == []


class LifeConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_it_has_the_methods_of_a_task_store(self, b: Bench) -> None:
        assert isinstance(b.store, TaskStore)

    @scenario
    async def test_open_and_close_may_be_called_again(self, b: Bench) -> None:
        task_id = await b.put(name="n")
        await b.store.open()
        await b.store.open(verify_only=True)
        assert await b.state(task_id) == "ready"
        await b.store.close()
        await b.store.close()

    @scenario
    async def test_a_cancelled_call_happens_whole_or_not_at_all(self, b: Bench) -> None:
        # Reported of other libraries as openai/openai-agents-python#1658.
        for step in range(20):
            new = [b.new(name=f"n{step}") for _ in range(5)]
            call = asyncio.ensure_future(b.store.enqueue(new))
            for _ in range(step if step < 10 else 0):
                await asyncio.sleep(0)
            await asyncio.sleep(step * 0.0003 if step >= 10 else 0)
            call.cancel()
            await asyncio.wait([call])
            # Whatever was asked for before is done before what is asked for now.
            assert len(await b.store.claim("w", [Want(f"n{step}", 1, 9)], 9)) in ({0, 5} if call.cancelled() else {5})
