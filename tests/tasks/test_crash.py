"""Workers die; what was recorded is not done again, and what was not is."""

from __future__ import annotations

import pytest

from tasks.programs import works
from taskstate.errors import TaskUnsuccessfulError

from .site import Site, checkpoints, outcomes

pytestmark = pytest.mark.once


async def test_a_step_completed_before_a_crash_is_not_run_again(any_site: Site) -> None:
    site = any_site
    doomed = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.counting, "g")
        await site.noted("step", step="one")
        await checkpoints(tasks, handle.id, 1)
        doomed.kill()
        site.open("g")
        await site.worker()
        assert await handle.result(20) == 2
        assert site.count("begun") == 2
        assert [note["step"] for note in site.notes("step")] == ["one", "two"]
        assert await outcomes(tasks, handle.id) == ["lost", "succeeded"]


async def test_a_step_whose_worker_died_before_it_was_recorded_runs_again_with_the_same_key(shared_site: Site) -> None:
    site = shared_site
    doomed = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.unrecorded, "g")
        await site.noted("step")
        doomed.kill()
        site.open("g")
        await site.worker()
        assert await handle.result(20) == 1
        assert [note["key"] for note in site.notes("step")] == [f"{handle.id}:one"] * 2


async def test_a_task_that_kills_its_worker_ends_as_poisoned(shared_site: Site) -> None:
    site = shared_site
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.killer, None)
        for _ in range(2):
            await (await site.worker()).ended()
        await site.worker()
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await handle.result(20)
        assert (caught.value.state, caught.value.error_code) == ("failed", "poisoned")
        assert site.count("begun") == 2
        assert await outcomes(tasks, handle.id) == ["lost", "lost"]


async def test_attempts_are_counted_over_failures_and_crashes_and_restarts(shared_site: Site) -> None:
    # Reported of other libraries as UKGovernmentBEIS/inspect_ai#4975 and earendil-works/absurd#16.
    site = shared_site
    doomed = await site.worker()
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.thrice, "g")
        await site.noted("begun", attempt=2)
        info = await handle.info()
        assert (info["attempt"], info["max_attempts"]) == (2, 3)
        doomed.kill()
        await site.worker()
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await handle.result(20)
        assert caught.value.message == "ValueError: attempt 3"
        assert [note["attempt"] for note in site.notes("begun")] == [1, 2, 3]
        assert await outcomes(tasks, handle.id) == ["retry", "lost", "failed"]


async def test_a_worker_that_comes_back_under_the_same_name_is_another_one(shared_site: Site) -> None:
    # Reported of another library as procrastinate-org/procrastinate#1518.
    site = shared_site
    doomed = await site.worker(name="w")
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handle = await tasks.start(works.stubborn, "g")
        await site.noted("begun")
        doomed.kill()
        await site.worker(name="w")
        assert await handle.result(20) == "g by attempt 2"
        attempts = (await tasks.history(handle.id))["attempts"]
        assert [(one["worker"], one["outcome"]) for one in attempts] == [("w", "lost"), ("w", "succeeded")]
        assert attempts[0]["fence"] < attempts[1]["fence"]
