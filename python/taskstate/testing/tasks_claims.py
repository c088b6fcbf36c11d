"""Who owns a task: claims, heartbeats, leases that run out."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio

import pytest

from ..tasks.records import Beat, Ending, Lease, Want
from .tasks_suite import DONE, FAILED, LEASE_MS, Bench, TaskStoreSuite, scenario


class ClaimConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_claim_says_all_that_a_worker_needs(self, b: Bench) -> None:
        new = b.new(
            name="n", version=2, mode="foreground", conversation="c", generation=4, max_attempts=5, traceparent="00-1"
        )
        await b.store.enqueue([new])
        (claim,) = await b.store.claim("w", [Want("n", 2, 1)], 1)
        assert (claim.id, claim.name, claim.version, claim.mode, claim.input) == (
            new.id,
            "n",
            2,
            "foreground",
            new.input,
        )
        assert (claim.owner, claim.conversation, claim.generation) == ("owner", "c", 4)
        assert (claim.failures, claim.max_attempts, claim.lease_ms, claim.spent_ms) == (0, 5, LEASE_MS, 0)
        assert (claim.root_id, claim.parent_id, claim.traceparent, claim.fresh) == (new.id, None, "00-1", True)
        row = await b.row(new.id)
        assert (row.state, row.worker, row.fence) == ("running", "w", claim.fence)
        assert row.started_at is not None

    @scenario
    async def test_only_names_and_versions_that_are_wanted_are_claimed(self, b: Bench) -> None:
        await b.store.enqueue([b.new(name=name, version=version) for name in "mn" for version in (1, 2)])
        assert await b.store.claim("w", [], 10) == []
        assert await b.store.claim("w", [Want("n", 3, 10), Want("o", 1, 10)], 10) == []
        claims = await b.store.claim("w", [Want("n", 2, 10), Want("m", 1, 10)], 10)
        assert {(claim.name, claim.version) for claim in claims} == {("n", 2), ("m", 1)}

    @scenario
    async def test_no_more_is_claimed_than_is_wanted_of_each_and_in_all(self, b: Bench) -> None:
        await b.store.enqueue([b.new(name=name) for name in "mn" for _ in range(5)])
        assert await b.store.claim("w", [Want("m", 1, 5)], 0) == []
        claims = await b.store.claim("w", [Want("m", 1, 2), Want("n", 1, 0)], 10)
        assert [claim.name for claim in claims] == ["m", "m"]
        claims = await b.store.claim("w", [Want("m", 1, 10), Want("n", 1, 10)], 4)
        assert len({claim.id for claim in claims}) == 4

    @scenario
    async def test_higher_priority_goes_first_and_then_what_was_stored_first(self, b: Bench) -> None:
        priorities = [0, 5, 0, -1, 5]
        ids = [await b.put(name="mn"[number % 2], priority=priority) for number, priority in enumerate(priorities)]
        order = [ids[number] for number in (1, 4, 0, 2, 3)]
        wants = [Want("n", 1, 10), Want("m", 1, 10)]
        claims = await b.store.claim("w", wants, 2)
        claims += await b.store.claim("w", wants, 10)
        assert [claim.id for claim in claims] == order

    @scenario
    async def test_no_task_is_claimed_twice_at_the_same_time(self, b: Bench) -> None:
        await b.store.enqueue([b.new(name="n") for _ in range(60)])
        claims = await asyncio.gather(*(b.store.claim(f"w{n}", [Want("n", 1, 4)], 4) for n in range(20)))
        ids = [claim.id for some in claims for claim in some]
        assert len(ids) == len(set(ids)) == 60

    @scenario
    async def test_only_ready_tasks_are_claimed(self, b: Bench) -> None:
        await b.put(name="n", delay_ms=1000)
        await b.store.cancel(await b.put(name="n"))
        claim = await b.running(name="n")
        wants = [Want("n", 1, 10)]
        assert await b.store.claim("w", wants, 10) == []
        await b.store.wait(claim.lease, [wait := b.wait()])
        await b.store.suspend(claim.lease, [wait.key], "a reason")
        assert await b.store.claim("w", wants, 10) == []

    @scenario
    async def test_only_the_first_claim_of_a_task_is_fresh(self, b: Bench) -> None:
        claim = await b.running()
        assert claim.fresh
        await b.store.finish(claim.lease, Ending("released"))
        assert not (await b.claim(claim.id)).fresh

    @scenario
    async def test_every_claim_has_a_higher_fence(self, b: Bench) -> None:
        task_id = await b.put(max_attempts=10)
        fences = []
        for ending in (Ending("released"), Ending("failed", retry_ms=0), Ending("released"), DONE):
            claim = await b.claim(task_id)
            fences.append(claim.fence)
            await b.store.finish(claim.lease, ending)
        assert fences == sorted(set(fences))


class LeaseConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_beat_extends_a_lease_by_its_own_time(self, b: Bench) -> None:
        claim = await b.running()
        pulse = b.store.pulse()
        for _ in range(4):
            await b.later(LEASE_MS // 2)
            assert await asyncio.to_thread(pulse.beat, [claim.lease]) == [Beat(*claim.lease, holds=True, cancel=False)]
            assert (await b.store.sweep()).reclaimed == 0
        pulse.close()
        await b.later(LEASE_MS)
        assert (await b.store.sweep()).reclaimed == 1

    @scenario
    async def test_a_beat_that_only_looks_extends_nothing(self, b: Bench) -> None:
        claim = await b.running()
        pulse = b.store.pulse()
        await b.later(LEASE_MS)
        beats = await asyncio.to_thread(pulse.beat, [claim.lease], extend=False)
        assert beats == [Beat(*claim.lease, holds=True, cancel=False)]
        pulse.close()
        assert (await b.store.sweep()).reclaimed == 1

    @scenario
    async def test_a_lease_that_ran_out_holds_until_somebody_reclaims_the_task(self, b: Bench) -> None:
        claim = await b.running()
        await b.later(3 * LEASE_MS)
        await b.store.checkpoint(claim.lease, "k", 1, "h", "1")
        pulse = b.store.pulse()
        (beat,) = await asyncio.to_thread(pulse.beat, [claim.lease])
        pulse.close()
        assert beat.holds
        assert (await b.store.sweep()).reclaimed == 0

    @scenario
    async def test_a_beat_tells_of_each_lease_how_it_stands(self, b: Bench) -> None:
        well, asked, over = [await b.running() for _ in range(3)]
        await b.store.cancel(asked.id, grace_ms=1000)
        await b.store.finish(over.lease, DONE)
        gone, wrong = Lease("no such task", 1), Lease(well.id, well.fence + 1)
        pulse = b.store.pulse()
        leases = [over.lease, asked.lease, gone, well.lease, wrong]
        beats = await asyncio.to_thread(pulse.beat, leases)
        assert await asyncio.to_thread(pulse.beat, []) == []
        pulse.close()
        found = {(beat.id, beat.fence): (beat.holds, beat.cancel) for beat in beats}
        assert found == {over.lease: (False, False), asked.lease: (True, True), gone: (False, False)} | {
            well.lease: (True, False),
            wrong: (False, False),
        }

    @scenario
    async def test_a_stale_beat_extends_nothing(self, b: Bench) -> None:
        claim = await b.running()
        await b.later(LEASE_MS)
        await b.store.sweep()
        await b.claim(claim.id)
        pulse = b.store.pulse()
        await b.later(LEASE_MS // 2)
        assert not (await asyncio.to_thread(pulse.beat, [claim.lease]))[0].holds
        pulse.close()
        await b.later(LEASE_MS // 2)
        assert (await b.store.sweep()).reclaimed == 1

    @scenario
    async def test_a_task_whose_lease_ran_out_is_ready_again_and_has_failed_once_more(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.checkpoint(claim.lease, "k", 1, "h", "1")
        await b.later(LEASE_MS - 1000)
        assert (await b.store.sweep()).reclaimed == 0
        await b.later(1000)
        swept = await b.store.sweep()
        assert (swept.reclaimed, swept.poisoned) == (1, 0)
        assert (await b.store.sweep()).reclaimed == 0
        row = await b.row(claim.id)
        assert (row.state, row.failures, row.worker, row.fence) == ("ready", 1, None, claim.fence + 1)
        second = await b.claim(claim.id)
        assert (second.failures, second.fresh, second.fence) == (1, False, claim.fence + 2)
        assert [one.key for one in (await b.store.load(second.lease))[0]] == ["k"]

    @scenario
    async def test_a_task_that_loses_every_lease_ends_poisoned(self, b: Bench) -> None:
        # A task that kills its worker must not be picked up for ever.
        task_id = await b.heard(max_attempts=3)
        for number in range(3):
            await b.claim(task_id)
            await b.later(LEASE_MS)
            swept = await b.store.sweep()
            assert (swept.reclaimed, swept.poisoned) == ((1, 0) if number < 2 else (0, 1))
        row = await b.row(task_id)
        assert (row.state, row.error_code, row.failures, row.result) == ("failed", "poisoned", 3, None)
        assert row.finished_at is not None
        assert await b.attempts(task_id) == [(1, "lost"), (2, "lost"), (3, "lost")]
        assert [(event.state, event.code) for event in await b.events()] == [("failed", "poisoned")]

    @scenario
    async def test_failures_and_lost_leases_count_together(self, b: Bench) -> None:
        # Reported of other libraries as earendil-works/absurd#16: attempts began again at zero after a lost lease.
        task_id = await b.put(max_attempts=3)
        await b.work(task_id, Ending("failed", code="x", retry_ms=0))
        await b.claim(task_id)
        await b.later(LEASE_MS)
        await b.store.sweep()
        claim = await b.claim(task_id)
        assert claim.failures == 2
        assert await b.store.finish(claim.lease, Ending("failed", code="x", retry_ms=0)) == "failed"
        assert await b.attempts(task_id) == [(1, "retry"), (2, "lost"), (3, "failed")]

    @pytest.mark.parametrize("ending", [DONE, FAILED], ids=["success", "failure"])
    @scenario
    async def test_only_the_outcome_of_the_last_owner_counts(self, b: Bench, ending: Ending) -> None:
        # Reported of other libraries as langchain-ai/langgraph#7417: both results were kept.
        stale = await b.running()
        await b.later(LEASE_MS)
        await b.store.sweep()
        owner = await b.claim(stale.id)
        assert await b.store.finish(owner.lease, ending) == ending.kind
        assert await b.store.late(stale.lease, Ending("succeeded", result='"stale"'))
        row = await b.row(stale.id)
        assert (row.state, row.result, row.error_code) == (ending.kind, ending.result, ending.code)
        first, second = (await b.store.history(stale.id)).attempts
        assert (first["outcome"], first["late"]["kind"], first["late"]["result"]) == ("lost", "succeeded", '"stale"')
        assert (second["outcome"], second["late"]) == (ending.kind, None)
