"""Whoever asks may be cancelled at any moment: what was asked for is done whole, or not at all."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest

from tasks.programs import works

from .site import Site, eventually

pytestmark = pytest.mark.once

ROUNDS = 24


async def cut_off(work: Coroutine[Any, Any, Any], moment: int) -> bool:
    """Cancel some work after so many rounds of the event loop, later ones longer; whether it had ended."""
    running = asyncio.ensure_future(work)
    for _ in range(moment % 8):
        await asyncio.sleep(0)
    if moment >= 8:
        await asyncio.sleep(0.0004 * (moment - 7))
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    return not running.cancelled()


async def test_a_start_that_is_cancelled_has_stored_all_of_it_or_nothing(site: Site) -> None:
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        for moment in range(ROUNDS):
            ids = [f"{moment}-{number}" for number in range(3)]
            binding = {"owner": "u", "conversation": f"c{moment}", "generation": 1}
            ended = await cut_off(tasks.start_many(works.quick, [1, 2, 3], task_ids=ids, **binding), moment)
            # What is asked next comes after it.
            again = await tasks.start_many(works.quick, [1, 2, 3], task_ids=ids, **binding)
            assert len({handle.created for handle in again}) == 1
            assert not (ended and again[0].created)
        assert len(await tasks.list()) == min(100, ROUNDS * 3)
    async with site.tasks(*works.TYPES) as tasks:
        for moment in range(ROUNDS):
            for number in range(3):
                assert await tasks.result(f"{moment}-{number}", timeout=10) == number + 1
            assert len(await tasks.inbox(f"c{moment}").take(wait_s=10)) >= 1
        assert site.count("ran") == ROUNDS * 3


async def test_a_run_or_a_wait_that_is_cancelled_leaves_the_task_to_go_on(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        started = []
        for moment in range(ROUNDS):
            await cut_off(tasks.run(works.quick, moment, task_id=str(moment)), moment)
            handle = await tasks.start(works.quick, moment)
            started.append(handle)
            await cut_off(handle.result(), moment)
        for moment, handle in enumerate(started):
            assert await handle.result(10) == moment
            assert await tasks.run(works.quick, moment, task_id=str(moment), timeout=10) == moment
        assert len({note["task"] for note in site.notes("ran")}) == site.count("ran") == 2 * ROUNDS


async def test_requests_that_are_cancelled_midway_leave_tasks_that_end(site: Site) -> None:
    async with site.tasks(*works.TYPES) as tasks:
        for moment in range(0, ROUNDS, 2):
            handle = await tasks.start(works.gated, "g", conversation="c", generation=moment)
            await cut_off(tasks.cancel(handle.id), moment)
            await cut_off(tasks.advance_generation("c", moment + 1), moment)
            await cut_off(tasks.inbox("c", offer_s=0.0).take(), moment)
        site.open("g")

        async def all_ended() -> bool:
            return not await tasks.list(states=["scheduled", "ready", "running", "suspended"])

        await eventually(all_ended)
        for task in await tasks.list():
            assert task["state"] in ("succeeded", "cancelled", "superseded")


async def test_closing_that_is_cancelled_can_be_done_again(shared_site: Site) -> None:
    for moment in range(0, ROUNDS, 4):
        tasks = shared_site.tasks(*works.TYPES)
        await tasks.__aenter__()
        await tasks.start(works.quick, moment)
        await cut_off(tasks.close(), moment)
        await tasks.close()
    async with shared_site.tasks(*works.TYPES) as tasks:
        for task in await tasks.list():
            assert await tasks.result(task["id"], timeout=10) is not None


async def test_closing_that_is_cancelled_gives_back_what_runs_at_once_and_leaves_no_thread(site: Site) -> None:
    threads = set(threading.enumerate())
    tasks = site.tasks(*works.TYPES)
    await tasks.__aenter__()
    handle = await tasks.start(works.gated, "g")
    await site.noted("begun")
    begun = time.monotonic()
    closing = asyncio.create_task(tasks.close(grace_s=60))
    await asyncio.sleep(0.05)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert time.monotonic() - begun < 10
    await eventually(lambda: not [one for one in threading.enumerate() if one not in threads and "heart" in one.name])
    async with site.tasks(*works.TYPES, worker=False) as others:
        assert (await others.get(handle.id))["state"] == "ready"
