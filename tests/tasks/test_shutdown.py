"""A worker that is told to stop."""

from __future__ import annotations

import pytest

from tasks.programs import works
from taskstate.tasks import Stopped

from .site import Site, eventually, outcomes, state

pytestmark = pytest.mark.once


async def test_a_worker_on_sigterm_finishes_or_gives_back_what_it_holds_and_says_which(shared_site: Site) -> None:
    site = shared_site
    process = await site.worker(concurrency=3, grace_s=0.4)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        soon, never, thread = [
            await tasks.start(definition, gate)
            for definition, gate in ((works.gated, "soon"), (works.counting, "never"), (works.overdue, "never"))
        ]
        await site.noted("begun", count=3)
        await site.noted("step", step="one")
        process.terminate()
        behind = await tasks.start(works.quick, 1)
        site.open("soon")
        assert await process.ended() == 0
        (stopped,) = site.notes("stopped")
        assert soon.id in stopped["finished"]
        assert set(stopped["released"]) <= {never.id, thread.id}
        assert never.id in stopped["released"]
        assert stopped["lost"] == []
        assert site.count("ran") == 0
        assert [(await one.info())["state"] for one in (soon, never, behind)] == ["succeeded", "ready", "ready"]
        site.open("never")
        await site.worker()
        assert await never.result(10) == 2
        assert await behind.result(10) == 1
        assert site.count("step", step="one") == 1
        assert {note["attempt"] for note in site.notes("begun", task=never.id)} == {1}
        assert await outcomes(tasks, never.id) == ["released", "succeeded"]
        await thread.result(10)


async def test_close_says_what_became_of_each_task(site: Site) -> None:
    async with site.tasks(*works.TYPES, concurrency=2) as tasks:
        held = [await tasks.start(works.gated, gate) for gate in ("soon", "never")]
        await site.noted("begun", count=2)
        site.open("soon")
        await held[0].result(10)
        stopped = await tasks.close(grace_s=0.05)
        assert (stopped.released, stopped.lost) == ([held[1].id], [])
        assert set(stopped.finished) <= {held[0].id}
        assert await tasks.close() == Stopped()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        assert (await tasks.get(held[1].id))["state"] == "ready"


async def test_what_was_suspended_goes_on_with_another_worker(shared_site: Site) -> None:
    site = shared_site
    site.open("before-g")
    first = await site.worker(grace_s=0.1)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.parent, "g")
        await site.noted("begun", name="gated")
        await state(tasks, handle.id, "suspended")
        first.terminate()
        await eventually(lambda: not first.alive)
        site.open("g")
        await site.worker()
        assert await handle.result(10) == "parent of g"
        assert site.count("resumed") == 1
