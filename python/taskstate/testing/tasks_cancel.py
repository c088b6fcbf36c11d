"""Cancelling: what it reaches, and that nobody hears of what was cancelled."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio

import pytest

from ..errors import LeaseLostError, NotFoundError
from ..tasks.records import Cancelled, Ending, NewWait
from .tasks_suite import DONE, FAILED, LEASE_MS, Bench, TaskStoreSuite, scenario

ENDINGS = {
    "success": DONE,
    "failure": FAILED,
    "retry": Ending("failed", code="broken", retry_ms=0),
    "release": Ending("released"),
    "cancelled": Ending("cancelled", in_flight=["call"]),
}


class CancelConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_what_is_not_running_ends_as_cancelled_at_once(self, b: Bench) -> None:
        ready, scheduled, (suspended, _) = await b.put(), await b.put(delay_ms=1000), await b.suspended()
        for task_id in (ready, scheduled, suspended.id):
            fence = (await b.row(task_id)).fence
            assert await b.store.cancel(task_id) == Cancelled([task_id], [])
            row = await b.row(task_id)
            assert (row.state, row.fence, row.worker, row.result) == ("cancelled", fence + 1, None, None)
            assert (row.available_at, row.resume_reason) == (None, None)
            assert row.finished_at is not None
            assert row.cancel_requested_at is not None
        await b.later(1000)
        swept = await b.store.sweep()
        assert (swept.promoted, swept.woken, swept.cancelled) == (0, 0, 0)

    @scenario
    async def test_what_is_running_is_asked_to_stop_and_ends_when_its_grace_is_over(self, b: Bench) -> None:
        claim = await b.running()
        assert await b.store.cancel(claim.id, grace_ms=5000) == Cancelled([], [claim.id])
        row = await b.row(claim.id)
        assert (row.state, row.fence) == ("running", claim.fence)
        assert row.cancel_requested_at is not None
        await b.store.checkpoint(claim.lease, "k", 1, "h", "1")
        await b.later(4000)
        assert (await b.store.sweep()).cancelled == 0
        await b.later(1000)
        assert (await b.store.sweep()).cancelled == 1
        row = await b.row(claim.id)
        assert (row.state, row.fence, row.worker) == ("cancelled", claim.fence + 1, None)
        assert await b.attempts(claim.id) == [(1, "cancelled")]
        assert await b.store.late(claim.lease, DONE)

    @scenario
    async def test_asked_again_the_earlier_request_stands_with_the_shorter_grace(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.cancel(claim.id, grace_ms=5000)
        asked_at = (await b.row(claim.id)).cancel_requested_at
        await b.later(100)
        assert await b.store.cancel(claim.id, grace_ms=50_000) == Cancelled([], [claim.id])
        assert (await b.row(claim.id)).cancel_requested_at == asked_at
        await b.store.cancel(claim.id, grace_ms=1000)
        await b.later(1000)
        assert (await b.store.sweep()).cancelled == 1

    @pytest.mark.parametrize("ending", [DONE, FAILED], ids=["success", "failure"])
    @scenario
    async def test_what_has_ended_stays_as_it_is(self, b: Bench, ending: Ending) -> None:
        task_id = await b.put()
        await b.work(task_id, ending)
        before = await b.everything([task_id])
        assert await b.store.cancel(task_id) == Cancelled([], [])
        assert await b.everything([task_id]) == before

    @scenario
    async def test_no_task_and_another_owner_s_read_the_same(self, b: Bench) -> None:
        task_id = await b.put()
        for missing, owner in (("no such task", None), (task_id, "another")):
            with pytest.raises(NotFoundError) as refused:
                await b.store.cancel(missing, owner=owner)
            assert refused.value.id == missing
        assert await b.state(task_id) == "ready"
        assert await b.store.cancel(task_id, owner="owner") == Cancelled([task_id], [])

    @pytest.mark.parametrize("name", ENDINGS)
    @scenario
    async def test_a_task_that_was_asked_to_cancel_is_cancelled_whatever_it_ends_with(
        self, b: Bench, name: str
    ) -> None:
        claim = await b.running(conversation="c", generation=1, notify=True)
        await b.store.cancel(claim.id, grace_ms=1000)
        assert await b.store.finish(claim.lease, ENDINGS[name]) == "cancelled"
        row = await b.row(claim.id)
        assert (row.state, row.result, row.error_code, row.error) == ("cancelled", None, None, None)
        (attempt,) = (await b.store.history(claim.id)).attempts
        assert (attempt["outcome"], attempt["in_flight"]) == ("cancelled", list(ENDINGS[name].in_flight))
        if name == "success":
            assert (attempt["late"]["kind"], attempt["late"]["result"]) == ("succeeded", DONE.result)
        if name == "failure":
            assert (attempt["late"]["kind"], attempt["late"]["code"]) == ("failed", "broken")
        if name == "cancelled":
            assert attempt["late"] is None
        assert await b.events() == []
        assert await b.deliveries(claim.id, "conversation") == [("suppressed", "cancelled")]

    @scenario
    async def test_a_cancel_reaches_all_below_and_nothing_beside(self, b: Bench) -> None:
        root, children = await b.parent(3)
        claim = await b.claim(children[0])
        (grandchild,) = await b.fan_out(claim.lease, 1, waited=False)
        held = await b.claim(children[1])
        (beside,) = await b.fan_out(held.lease, 1, waited=False)
        await b.work(beside)
        bystander = await b.put()
        cancelled = await b.store.cancel(root.id, grace_ms=1000)
        assert set(cancelled.ended) == {root.id, children[2], grandchild}
        assert set(cancelled.asked) == {children[0], children[1]}
        assert await b.states([beside, bystander]) == ["succeeded", "ready"]
        assert await b.deliveries(root.id, "orphans") == []  # the cancel itself has reached the children
        await b.later(1000)
        assert (await b.store.sweep()).cancelled == 2
        assert await b.states(children) == ["cancelled"] * 3

    @scenario
    async def test_a_cancel_of_a_child_leaves_its_parent_alone(self, b: Bench) -> None:
        root, children = await b.parent(2)
        await b.store.cancel(children[0])
        await b.settle()
        assert await b.states([root.id, children[1]]) == ["suspended", "ready"]

    @scenario
    async def test_a_task_that_is_asked_to_cancel_is_not_suspended(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.wait(claim.lease, [wait := b.wait()])
        await b.store.cancel(claim.id, grace_ms=1000)
        assert await b.store.suspend(claim.lease, [wait.key], "why") == []
        row = await b.row(claim.id)
        assert (row.state, row.fence) == ("cancelled", claim.fence + 1)
        assert await b.attempts(claim.id) == [(1, "cancelled")]

    @scenario
    async def test_a_task_that_is_asked_to_cancel_ends_when_its_lease_runs_out(self, b: Bench) -> None:
        claim = await b.running(max_attempts=1)
        await b.store.cancel(claim.id, grace_ms=10 * LEASE_MS)
        await b.later(LEASE_MS)
        swept = await b.store.sweep()
        assert (swept.cancelled, swept.reclaimed, swept.poisoned) == (1, 0, 0)
        row = await b.row(claim.id)
        assert (row.state, row.failures, row.error_code) == ("cancelled", 0, None)

    @scenario
    async def test_progress_that_was_not_delivered_yet_is_suppressed_by_a_cancel(self, b: Bench) -> None:
        claim, wait = await b.suspended(conversation="c", generation=1, notify=True)
        await b.store.signal(claim.id, "answer", "1", signal_id="s", wait_id=wait.id)
        again = await b.claim(claim.id)
        await b.store.publish(again.lease, "first", "1")
        assert [event.value for event in await b.events()] == ["1"]
        await b.store.publish(again.lease, "second", "2")
        await b.store.cancel(claim.id)
        await b.store.finish(again.lease, DONE)
        assert [event.value for event in await b.events()] == ["1"]
        assert await b.deliveries(claim.id, "conversation") == [
            ("delivered", None),
            ("suppressed", "cancelled"),
            ("suppressed", "cancelled"),
        ]

    @scenario
    async def test_a_cancel_and_a_completion_at_the_same_time_have_one_outcome(self, b: Bench) -> None:
        for _ in range(20):
            claim = await b.running(conversation="c", generation=1, notify=True)
            finish, cancel = b.store.finish(claim.lease, DONE), b.store.cancel(claim.id, grace_ms=1000)
            state, _ = await asyncio.gather(finish, cancel)
            assert state == await b.state(claim.id)
            events = [event.state for event in await b.events() if event.task_id == claim.id]
            assert events == (["succeeded"] if state == "succeeded" else [])


class OrphanConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @pytest.mark.parametrize("ending", [DONE, FAILED], ids=["success", "failure"])
    @scenario
    async def test_children_whose_parent_ends_without_them_are_cancelled(self, b: Bench, ending: Ending) -> None:
        claim = await b.running()
        waited = await b.fan_out(claim.lease, 3)
        (free,) = await b.fan_out(claim.lease, 1, key="background", waited=False)
        await b.work(waited[0])
        running = await b.claim(waited[1])
        (below,) = await b.fan_out(running.lease, 1)
        await b.store.finish(claim.lease, ending)
        assert await b.deliveries(claim.id, "orphans") == [("pending", None)]
        await b.settle()
        assert await b.deliveries(claim.id, "orphans") == [("delivered", None)]
        assert await b.states([*waited, free, below]) == ["succeeded", "running", "cancelled", "ready", "cancelled"]
        with pytest.raises(LeaseLostError) as lost:
            await b.store.current(running.lease)
        assert lost.value.reason == "cancelled"

    @scenario
    async def test_a_failure_that_is_tried_again_leaves_no_orphans(self, b: Bench) -> None:
        claim = await b.running()
        (child,) = await b.fan_out(claim.lease, 1)
        await b.store.finish(claim.lease, Ending("failed", code="x", retry_ms=0))
        await b.settle()
        assert await b.state(child) == "ready"

    @scenario
    async def test_children_of_a_poisoned_task_are_cancelled(self, b: Bench) -> None:
        claim = await b.running(max_attempts=1)
        (child,) = await b.fan_out(claim.lease, 1)
        await b.later(LEASE_MS)
        assert (await b.store.sweep()).poisoned == 1
        await b.settle()
        assert await b.state(child) == "cancelled"

    @scenario
    async def test_children_of_a_wait_that_is_over_are_left_alone(self, b: Bench) -> None:
        claim = await b.running()
        child = b.new()
        await b.store.spawn(claim.lease, "step", [child], wait=NewWait("w", "step", "children", None, 1000))
        await b.later(1000)
        (over,) = await b.store.suspend(claim.lease, ["step"], "why")
        assert over.outcome == "timeout"
        await b.store.finish(claim.lease, DONE)
        await b.settle()
        assert await b.state(child.id) == "ready"
        assert await b.deliveries(claim.id, "orphans") == []

    @scenario
    async def test_a_task_that_was_retried_meanwhile_keeps_its_children(self, b: Bench) -> None:
        claim = await b.running()
        (child,) = await b.fan_out(claim.lease, 1)
        await b.store.finish(claim.lease, FAILED)
        await b.store.retry(claim.id)
        await b.settle()
        assert await b.state(child) == "ready"
        assert await b.deliveries(claim.id, "orphans") == [("suppressed", "retried")]
