"""Who owns a task is decided by the store: not by stopped processes, wrong clocks or blocked event loops."""

from __future__ import annotations

import asyncio

import pytest

from tasks.programs import works

from .site import Site, checkpoints, eventually, kept_late, outcomes

pytestmark = pytest.mark.once


async def test_what_a_worker_gives_that_was_stopped_beyond_its_lease_is_kept_for_audit_only(any_site: Site) -> None:
    # Reported of other libraries as langchain-ai/langgraph#7417 and dbos-inc/dbos-transact-java#491.
    site = any_site
    stopped = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.stubborn, "g")
        await site.noted("begun")
        await site.stop(stopped)
        await site.worker()
        assert await handle.result(20) == "g by attempt 2"
        row = await handle.info()
        site.open("g")
        stopped.go_on()

        async def is_kept() -> bool:
            return bool(await kept_late(tasks, handle.id))

        await eventually(is_kept)
        (late,) = await kept_late(tasks, handle.id)
        assert late["result"] in ('"g too late"', '"g by attempt 1"')
        assert await outcomes(tasks, handle.id) == ["lost", "succeeded"]
        assert await handle.info() == row


async def test_what_is_written_under_a_lost_lease_is_refused_while_its_new_owner_works(shared_site: Site) -> None:
    site = shared_site
    stopped = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.hasty, "g")
        await site.noted("begun", attempt=1)
        await site.stop(stopped)
        await site.worker()
        await site.noted("begun", attempt=2)
        site.open("g1")
        stopped.go_on()

        async def is_kept() -> bool:
            return bool(await kept_late(tasks, handle.id))

        await eventually(is_kept)
        info = await handle.info()
        assert (info["state"], info["result"], info["attempt"]) == ("running", None, 2)
        site.open("g2")
        assert await handle.result(10) == "attempt 2"
        assert await outcomes(tasks, handle.id) == ["lost", "succeeded"]


async def test_a_stopped_worker_that_goes_on_writes_no_step(shared_site: Site) -> None:
    site = shared_site
    stopped = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.counting, "g")
        await site.noted("step", step="one")
        await checkpoints(tasks, handle.id, 1)
        await site.stop(stopped)
        await site.worker()
        await site.noted("begun", count=2)
        site.open("g")
        stopped.go_on()
        assert await handle.result(20) == 2
        assert len((await tasks.history(handle.id))["checkpoints"]) == 2
        assert (await outcomes(tasks, handle.id))[0] == "lost"


async def test_workers_whose_clocks_are_wrong_by_an_hour_steal_nothing(shared_site: Site) -> None:
    # Reported of other libraries as Krzysztof318/MailFathom#1989 and kagkarlsson/db-scheduler#433.
    site = shared_site
    for offset in (3600.0, -3600.0):
        await site.worker(clock_offset=offset, concurrency=2)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        held = await tasks.start_many(works.gated, ["g"] * 4)
        await site.noted("begun", count=4)
        assert len({note["pid"] for note in site.notes("begun")}) == 2
        await asyncio.sleep(2 * works.LEASE)
        site.open("g")
        for handle in held:
            assert await handle.result(10) == "g"
            assert await outcomes(tasks, handle.id) == ["succeeded"]
        asleep = await tasks.start_many(works.sleeper, [0.2] * 2)
        await asyncio.sleep(0.1)
        assert site.count("woke") == 0
        for handle in asleep:
            assert await handle.result(10) == "rested"


async def test_a_function_that_blocks_the_event_loop_for_three_leases_keeps_its_lease(shared_site: Site) -> None:
    site = shared_site
    await site.worker(concurrency=1)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.blocking, 3 * works.LEASE)
        await site.noted("begun")
        await site.worker()
        assert await handle.result(20) == "kept"
        assert site.count("begun") == 1
        assert await outcomes(tasks, handle.id) == ["succeeded"]
