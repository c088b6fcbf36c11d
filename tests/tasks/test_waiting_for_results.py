"""Who waits for a result gets it: early, late, at the very moment, and many at once."""

from __future__ import annotations

import asyncio

import pytest

from tasks.programs import works
from taskstate.errors import NotFoundError, TaskTimeoutError

from .site import Site

pytestmark = pytest.mark.once


async def test_whoever_asks_after_the_end_gets_the_result_at_once(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.quick, 1)
        assert await handle.result() == 1
        assert await handle.result(timeout=0) == 1
        assert await tasks.result(handle.id, timeout=0) == 1


async def test_many_who_wait_for_one_task_all_get_its_result(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.gated, "g")
        waiting = [asyncio.ensure_future(handle.result(20)) for _ in range(50)]
        await site.noted("begun")
        site.open("g")
        assert await asyncio.gather(*waiting) == ["g"] * 50


async def test_a_timeout_says_where_the_task_stands_and_the_task_goes_on(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.gated, "g")
        await site.noted("begun")
        with pytest.raises(TaskTimeoutError) as caught:
            await handle.result(timeout=0.05)
        assert caught.value.state == "running"
        site.open("g")
        assert await handle.result(10) == "g"


async def test_a_wait_that_ends_as_the_task_does_gives_the_result_or_tells_its_state(site: Site) -> None:
    # Reported of another system as anthropics/claude-code#36532.
    async with site.tasks(*works.TYPES) as tasks:
        ended, states = 0, set()
        for number in range(25):
            handle = await tasks.start(works.quick, number)
            try:
                assert await handle.result(timeout=0.001 * (number % 12)) == number
                ended += 1
            except TaskTimeoutError as error:
                states.add(error.state)
            assert await handle.result(10) == number
        assert ended
        assert states <= {"ready", "running"}


async def test_a_wait_whose_time_is_over_gives_the_result_of_a_task_that_ended_unheard(shared_site: Site) -> None:
    async with (
        shared_site.tasks(*works.TYPES) as tasks,
        shared_site.tasks(*works.TYPES, worker=False, poll_s=3600) as deaf,
    ):
        deaf._hear = lambda topics: None  # type: ignore[method-assign]
        handle = await tasks.start(works.gated, "g")
        waiting = asyncio.ensure_future(deaf.result(handle.id, timeout=0.6))
        await shared_site.noted("begun")
        shared_site.open("g")
        await handle.result(10)
        assert await waiting == "g"


async def test_cancelling_a_wait_cancels_neither_the_task_nor_other_waits(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.gated, "g")
        first, second = (asyncio.ensure_future(handle.result(10)) for _ in range(2))
        await site.noted("begun")
        first.cancel()
        site.open("g")
        assert await second == "g"
        assert first.cancelled()


async def test_a_task_of_another_owner_reads_as_not_found(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        handle = await tasks.start(works.quick, 1, owner="u", conversation="c")
        await handle.result(10)
        for look in (tasks.get, tasks.result, tasks.history, tasks.waits, tasks.cancel, tasks.retry):
            with pytest.raises(NotFoundError):
                await look(handle.id, owner="v")  # type: ignore[operator]
        assert await tasks.list(owner="v") == []
        assert await tasks.inbox("c", owner="v").take() == []
        assert (await tasks.get(handle.id, owner="u"))["state"] == "succeeded"
