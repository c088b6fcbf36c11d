"""Several processes at once on the same tasks."""

from __future__ import annotations

import asyncio

import pytest

from tasks.programs import works
from taskstate.errors import SingleFlightError

from .site import Site, eventually

pytestmark = pytest.mark.once


async def test_two_workers_that_contend_for_a_thousand_tasks_run_each_once(shared_site: Site) -> None:
    # Reported of another library as dbos-inc/dbos-transact-py#541.
    site = shared_site
    await asyncio.gather(*(site.worker(concurrency=4) for _ in range(2)))
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handles = await tasks.start_many(works.quick, range(1000))
        await asyncio.gather(*(handle.result(60) for handle in handles))
        ran = site.notes("ran")
        assert len(ran) == 1000
        assert sorted(note["input"] for note in ran) == list(range(1000))
        assert {note["task"] for note in ran} == {handle.id for handle in handles}
        assert len({note["pid"] for note in ran}) == 2


async def test_requests_of_several_processes_under_one_key_share_one_task(shared_site: Site) -> None:
    site = shared_site
    processes = [site.ask("asking:share", 10, "g") for _ in range(3)]
    await site.noted("asking", count=3)
    async with site.tasks(*works.TYPES, concurrency=20) as tasks:
        site.open("ask")
        shared = await site.noted("shared", count=30)
        assert len({note["task"] for note in shared}) == 1
        assert sum(note["created"] for note in shared) == 1
        own = await site.noted("own", count=9)
        assert len({note["task"] for note in own}) == 3
        with pytest.raises(SingleFlightError) as caught:
            await tasks.start(works.gated, "another input", owner="u", single_flight="same")
        assert caught.value.task_id == shared[0]["task"]
        another = await tasks.start(works.gated, "g", owner="v", single_flight="same")
        assert another.created
        site.open("g")
        assert len(await site.noted("result", value="g", count=30)) == 30
        await eventually(lambda: not any(process.alive for process in processes))
        await another.result(10)
        assert site.count("begun", task=shared[0]["task"]) == 1


async def test_requests_that_share_a_task_get_its_result_each_under_their_own_generation(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        first = await tasks.start(works.gated, "g", owner="u", conversation="c1", generation=3, single_flight="k")
        second = await tasks.start(works.gated, "g", owner="u", conversation="c2", generation=8, single_flight="k")
        assert (second.id, second.created) == (first.id, False)
        await site.noted("begun")
        site.open("g")
        for conversation, generation in (("c1", 3), ("c2", 8)):
            (event,) = await tasks.inbox(conversation, owner="u").take(wait_s=10)
            assert (event["task_id"], event["generation"], event["result"]) == (first.id, generation, "g")
        assert site.count("begun") == 1
        again = await tasks.start(works.gated, "g", owner="u", single_flight="k")
        assert again.created
