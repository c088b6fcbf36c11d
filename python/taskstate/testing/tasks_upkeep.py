"""Upkeep, retention and retries."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio
import itertools
from dataclasses import astuple

import pytest

from ..errors import NotFoundError, SingleFlightError, StaleGenerationError, TaskEndedError
from ..tasks.records import ENDED, Ending, Filter
from .tasks_suite import DONE, FAILED, LEASE_MS, Bench, TaskStoreSuite, scenario


class UpkeepConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_sweep_tells_when_the_next_thing_is_due(self, b: Bench) -> None:
        async def due(ms: int | None) -> None:
            found = (await b.store.sweep()).next_due_ms
            assert (found is None) == (ms is None)
            assert found is None or ms is None or ms - 2000 < found <= ms

        await due(None)
        await b.put()
        await due(None)
        claim = await b.running()
        await due(LEASE_MS)
        await b.put(delay_ms=50_000)
        await due(50_000)
        other = await b.running()
        await b.store.wait(other.lease, [sleep := b.wait("sleep", timeout_ms=40_000)])
        await b.store.suspend(other.lease, [sleep.key], "why")
        await due(40_000)
        await b.store.cancel(claim.id, grace_ms=30_000)
        await due(30_000)

    @scenario
    async def test_a_sweep_does_a_bounded_batch_and_tells_if_there_is_more(self, b: Bench) -> None:
        ids = [await b.put(delay_ms=10 + n) for n in range(5)]
        await b.later(1000)
        counts = []
        for _ in range(3):
            swept = await b.store.sweep(2)
            counts.append(swept.promoted)
        assert counts == [2, 2, 1]
        assert await b.states(ids) == ["ready"] * 5
        assert not (await b.store.sweep(2)).more
        for task_id in ids:
            await b.claim(task_id)
        await b.later(LEASE_MS)
        swept = await b.store.sweep(3)
        assert (swept.reclaimed, swept.more) == (3, True)

    @scenario
    async def test_a_dispatch_is_bounded_and_tells_if_there_is_more(self, b: Bench) -> None:
        for conversation in "cde":
            await b.work(await b.heard(conversation))
        done = await b.store.dispatch(2)
        assert (done.delivered, done.more) == (2, True)
        assert (await b.store.dispatch(2)).delivered == 1
        done = await b.store.dispatch(2)
        assert (done.delivered, done.resumed, done.suppressed, done.failed, done.more) == (0, 0, 0, 0, False)

    @scenario
    async def test_upkeep_at_the_same_time_does_each_thing_once(self, b: Bench) -> None:
        scheduled = [await b.put(delay_ms=10) for _ in range(10)]
        running = [await b.running() for _ in range(10)]
        await b.later(LEASE_MS)
        swept = await asyncio.gather(*(b.store.sweep(3) for _ in range(8)))
        assert sum(one.promoted for one in swept) == 10
        assert sum(one.reclaimed for one in swept) == 10
        assert {row.failures for row in await b.store.get([claim.id for claim in running])} == {1}
        for task_id in scheduled:
            await b.work(task_id)
        claims = [await b.running(conversation="c", generation=1, notify=True) for _ in range(10)]
        await asyncio.gather(*(b.store.finish(claim.lease, DONE) for claim in claims))
        done = await asyncio.gather(*(b.store.dispatch(3) for _ in range(8)))
        await b.settle()
        assert sum(one.delivered for one in done) <= 10
        assert sorted(event.seq for event in await b.events()) == list(range(1, 11))


class PurgeConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_what_ended_longer_ago_than_its_state_s_time_is_removed(self, b: Bench) -> None:
        well, ill, live = await b.put(), await b.put(), await b.put()
        await b.work(well)
        await b.work(ill, FAILED)
        await b.later(5000)
        late = await b.put()
        await b.work(late)
        await b.later(1000)
        assert await b.store.purge({"succeeded": 60_000, "failed": 60_000}) == 0
        assert await b.store.purge({}) == 0
        assert await b.store.purge({"succeeded": 3000}) == 1
        assert [row.id for row in await b.store.get([well, ill, live, late])] == [ill, live, late]
        assert await b.store.purge(dict.fromkeys(ENDED, 0)) == 2
        assert [row.id for row in await b.store.list(Filter())] == [live]

    @scenario
    async def test_all_that_belongs_to_a_task_goes_with_it(self, b: Bench) -> None:
        # Reported of other libraries as aegra/aegra#288: checkpoints and blobs were left behind.
        new = b.new(name="n", conversation="c", generation=1, notify=True, single_flight="k")
        await b.store.enqueue([new])
        claim = await b.claim(new.id)
        for number in range(10):
            await b.store.checkpoint(claim.lease, f"k{number}", number, "h", "1")
        await b.store.publish(claim.lease, "p", '"one"')
        await b.store.signal(new.id, "answer", "1", signal_id="s")
        (child,) = await b.fan_out(claim.lease, 1)
        await b.work(child)
        await b.store.finish(claim.lease, DONE)
        assert len(await b.events()) == 2
        await b.later(1000)
        assert await b.store.purge({"succeeded": 0}) == 2
        assert await b.store.list(Filter()) == []
        assert [*itertools.chain.from_iterable(astuple(await b.store.history(new.id)))] == []
        assert await b.store.children(new.id, "step") == []
        assert await b.events() == []
        assert await b.store.generation("c") == 1
        await b.store.enqueue([new])
        assert [*itertools.chain.from_iterable(astuple(await b.store.history(new.id)))] == []
        again = await b.claim(new.id)
        assert again.fresh
        assert await b.store.load(again.lease) == ([], [])
        assert await b.store.publish(again.lease, "p", '"two"') == 1
        assert [event.value for event in await b.events()] == ['"two"']

    @scenario
    async def test_a_tree_stays_while_anything_in_it_has_not_ended(self, b: Bench) -> None:
        claim = await b.running()
        done, live = await b.fan_out(claim.lease, 2, waited=False)
        await b.work(done)
        await b.store.finish(claim.lease, DONE)
        await b.later(1000)
        assert await b.store.purge({"succeeded": 0}) == 0
        await b.work(live)
        assert await b.store.purge({"succeeded": 0}) == 3

    @scenario
    async def test_a_purge_is_bounded_by_root_tasks_oldest_first(self, b: Bench) -> None:
        ids = [await b.put() for _ in range(5)]
        for task_id in reversed(ids):
            await b.work(task_id)
            await b.later(10)
        assert await b.store.purge({"succeeded": 0}, limit=2) == 2
        assert [row.id for row in await b.store.get(ids)] == ids[:3]

    @scenario
    async def test_events_of_other_tasks_stay(self, b: Bench) -> None:
        old, new = await b.heard(), await b.heard()
        await b.work(old)
        await b.later(5000)
        await b.work(new)
        await b.events()
        await b.store.purge({"succeeded": 3000})
        assert [(event.task_id, event.seq) for event in await b.events()] == [(new, 2)]
        await b.work(await b.heard())
        assert [event.seq for event in await b.events()] == [2, 3]


class RetryConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @pytest.mark.parametrize("state", ["failed", "cancelled"])
    @scenario
    async def test_a_task_that_failed_or_was_cancelled_begins_anew_with_its_checkpoints(
        self, b: Bench, state: str
    ) -> None:
        task_id = await b.put(max_attempts=2)
        for ending in (Ending("failed", code="x", message="y", retry_ms=0), FAILED):
            claim = await b.claim(task_id)
            await b.store.checkpoint(claim.lease, "k", 1, "h", "1")
            if state == "cancelled":
                await b.store.cancel(task_id, grace_ms=1000)
                ending = Ending("cancelled")  # noqa: PLW2901
            assert await b.store.finish(claim.lease, ending) in {"ready", state}
            if state == "cancelled":
                break
        over = await b.row(task_id)
        assert over.state == state
        assert await b.store.retry(task_id) == [task_id]
        row = await b.row(task_id)
        assert row.fence == over.fence + 1
        assert (row.state, row.failures, row.error_code, row.error) == ("ready", 0, None, None)
        assert (row.finished_at, row.cancel_requested_at, row.result) == (None, None, None)
        again = await b.claim(task_id)
        assert (again.failures, again.fresh) == (0, False)
        assert [one.key for one in (await b.store.load(again.lease))[0]] == ["k"]
        assert await b.store.finish(again.lease, DONE) == "succeeded"

    @scenario
    async def test_only_a_root_task_that_failed_or_was_cancelled_is_retried(self, b: Bench) -> None:
        ready, running = await b.put(), await b.running()
        well, over = await b.put(), await b.put(conversation="c", generation=1)
        await b.work(well)
        await b.store.advance("c", 2, owner="owner")
        (child,) = await b.fan_out(running.lease, 1)
        await b.work(child, FAILED)
        for task_id in (ready, running.id, well, over, child):
            before = await b.everything([task_id])
            with pytest.raises(TaskEndedError) as refused:
                await b.store.retry(task_id)
            assert refused.value.task_id == task_id
            assert await b.everything([task_id]) == before
        for missing, owner in (("no such task", None), (well, "another")):
            with pytest.raises(NotFoundError):
                await b.store.retry(missing, owner=owner)

    @scenario
    async def test_a_task_whose_conversation_has_gone_on_is_not_retried(self, b: Bench) -> None:
        task_id = await b.put(conversation="c", generation=1)
        await b.work(task_id, FAILED)
        await b.store.advance("c", 2, owner="owner")
        with pytest.raises(StaleGenerationError):
            await b.store.retry(task_id)
        assert await b.state(task_id) == "failed"

    @scenario
    async def test_a_task_whose_key_is_held_by_another_is_not_retried(self, b: Bench) -> None:
        task_id = await b.put(name="n", single_flight="k")
        await b.work(task_id, FAILED)
        holder = await b.put(name="n", single_flight="k")
        with pytest.raises(SingleFlightError) as refused:
            await b.store.retry(task_id)
        assert refused.value.task_id == holder
        await b.work(holder)
        assert await b.store.retry(task_id) == [task_id]
        assert await b.put(name="n", single_flight="k") == task_id

    @scenario
    async def test_children_that_were_waited_for_are_tried_again_and_their_parent_waits_again(self, b: Bench) -> None:
        root, children = await b.parent(3)
        middle = await b.claim(children[0])
        (grandchild,) = await b.fan_out(middle.lease, 1)
        await b.store.suspend(middle.lease, ["step"], "children")
        await b.work(grandchild, FAILED)
        await b.settle()
        await b.work(children[0], FAILED)
        await b.work(children[1])
        await b.store.cancel(children[2])
        await b.settle()
        again = await b.claim(root.id)
        (free,) = await b.fan_out(again.lease, 1, key="background", waited=False)
        await b.work(free, FAILED)
        await b.store.finish(again.lease, FAILED)
        await b.settle()
        assert set(await b.store.retry(root.id)) == {root.id, children[0], grandchild, children[2]}
        assert await b.states([*children, grandchild, free]) == ["ready", "succeeded", "ready", "ready", "failed"]
        for task_id, kind in ((root.id, "children"), (children[0], "children")):
            assert [wait.kind for wait in await b.store.waits(task_id)] == [kind]
        third = await b.claim(root.id)
        assert await b.store.suspend(third.lease, ["step"], "children") == []
        for task_id in (grandchild, children[0], children[2]):
            assert await b.work(task_id) == "succeeded"
            await b.settle()
        assert await b.state(root.id) == "ready"

    @scenario
    async def test_children_in_bounded_places_are_tried_again_within_them(self, b: Bench) -> None:
        root, children = await b.parent(4, limit=2)
        for task_id in children:
            await b.work(task_id, DONE if task_id == children[3] else FAILED)
            await b.settle()
        await b.work(root.id, FAILED)
        await b.store.retry(root.id)
        assert await b.states(children) == ["ready", "ready", "scheduled", "succeeded"]
        await b.work(children[1])
        await b.settle()
        assert await b.states(children) == ["ready", "succeeded", "ready", "succeeded"]
