"""What a worker writes while it owns a task, and how it leaves one."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import pytest

from ..errors import LeaseLostError, TaskStateError
from ..tasks.records import Ending, StoredCheckpoint
from .tasks_suite import DONE, FAILED, LEASE_MS, Bench, TaskStoreSuite, scenario

ENDINGS = {
    "succeeded": DONE,
    "failed": FAILED,
    "retry": Ending("failed", code="x", message="y", retry_ms=1000, in_flight=["k"]),
    "retry at once": Ending("failed", code="x", retry_ms=0),
    "released": Ending("released"),
    "cancelled": Ending("cancelled", in_flight=["k"]),
}


class CheckpointConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_checkpoint_is_kept_once_and_the_first_one_stays(self, b: Bench) -> None:
        claim = await b.running()
        first = StoredCheckpoint("k", 1, "h", '"first"')
        assert await b.store.checkpoint(claim.lease, "k", 1, "h", '"first"') == first
        assert await b.store.checkpoint(claim.lease, "k", 2, "another", '"second"') == first
        assert await b.store.load(claim.lease) == ([first], [])

    @scenario
    async def test_all_checkpoints_and_waits_are_there_for_the_next_owner(self, b: Bench) -> None:
        claim = await b.running()
        assert await b.store.load(claim.lease) == ([], [])
        kept = [await b.store.checkpoint(claim.lease, f"k{n}", n, f"h{n}", str(n)) for n in range(5)]
        waits = await b.store.wait(claim.lease, [b.wait(), b.wait("sleep", timeout_ms=1000)])
        await b.later(LEASE_MS)
        await b.store.sweep()
        again = await b.claim(claim.id)
        checkpoints, found = await b.store.load(again.lease)
        assert checkpoints == kept
        assert sorted(found, key=lambda wait: wait.id) == waits

    @scenario
    async def test_checkpoints_belong_to_one_task(self, b: Bench) -> None:
        one, other = await b.running(), await b.running()
        await b.store.checkpoint(one.lease, "k", 1, "h", "1")
        assert await b.store.load(other.lease) == ([], [])
        assert (await b.store.checkpoint(other.lease, "k", 1, "h", "2")).value == "2"

    @scenario
    async def test_history_tells_under_which_fence_a_step_was_completed(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.checkpoint(claim.lease, "a", 1, "h", '"\u20ac"')
        await b.store.finish(claim.lease, Ending("released"))
        again = await b.claim(claim.id)
        await b.store.checkpoint(again.lease, "b", 2, "h", "1")
        found = (await b.store.history(claim.id)).checkpoints
        assert [(one["key"], one["ordinal"], one["fence"], one["bytes"]) for one in found] == [
            ("a", 1, claim.fence, 5),
            ("b", 2, again.fence, 1),
        ]


class FinishConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_success_is_the_last_state_with_its_result(self, b: Bench) -> None:
        claim = await b.running()
        assert await b.store.finish(claim.lease, DONE) == "succeeded"
        row = await b.row(claim.id)
        assert (row.state, row.result, row.error_code, row.error) == ("succeeded", DONE.result, None, None)
        assert (row.failures, row.worker, row.fence) == (0, None, claim.fence)
        assert row.finished_at is not None
        assert await b.attempts(claim.id) == [(1, "succeeded")]

    @scenario
    async def test_a_failure_without_a_retry_is_final(self, b: Bench) -> None:
        claim = await b.running()
        assert await b.store.finish(claim.lease, FAILED) == "failed"
        row = await b.row(claim.id)
        assert (row.state, row.result, row.error_code, row.error) == ("failed", None, "broken", "it broke")
        assert (row.failures, row.worker) == (1, None)
        assert row.finished_at is not None

    @scenario
    async def test_a_failure_is_tried_again_after_its_time_while_attempts_are_left(self, b: Bench) -> None:
        task_id = await b.put(max_attempts=3)
        again = Ending("failed", code="x", message="y", retry_ms=5000)
        for failures in (1, 2):
            claim = await b.claim(task_id)
            assert await b.store.finish(claim.lease, again) == "scheduled"
            row = await b.row(task_id)
            assert (row.state, row.failures, row.worker, row.finished_at) == ("scheduled", failures, None, None)
            assert (row.error_code, row.error, row.fence) == ("x", "y", claim.fence + 1)
            await b.later(4000)
            assert (await b.store.sweep()).promoted == 0
            await b.later(1000)
            assert (await b.store.sweep()).promoted == 1
        assert await b.work(task_id, again) == "failed"
        assert await b.attempts(task_id) == [(1, "retry"), (2, "retry"), (3, "failed")]
        assert [one["code"] for one in (await b.store.history(task_id)).attempts] == ["x", "x", "x"]

    @scenario
    async def test_a_success_after_failures_leaves_no_error_behind(self, b: Bench) -> None:
        task_id = await b.put()
        assert await b.work(task_id, Ending("failed", code="x", message="y", retry_ms=0)) == "ready"
        assert (await b.row(task_id)).available_at is None
        assert await b.work(task_id) == "succeeded"
        row = await b.row(task_id)
        assert (row.failures, row.error_code, row.error) == (1, None, None)

    @scenario
    async def test_a_released_task_is_ready_as_if_it_had_not_been_claimed(self, b: Bench) -> None:
        task_id = await b.put(max_attempts=1)
        for _ in range(3):
            claim = await b.claim(task_id)
            await b.later(500)
            assert await b.store.finish(claim.lease, Ending("released")) == "ready"
            row = await b.row(task_id)
            assert (row.state, row.failures, row.worker, row.fence) == ("ready", 0, None, claim.fence + 1)
        assert (await b.claim(task_id)).spent_ms == 0
        assert await b.attempts(task_id) == [(1, "released")] * 3

    @scenario
    async def test_a_worker_may_leave_a_task_as_cancelled(self, b: Bench) -> None:
        claim = await b.running()
        assert await b.store.finish(claim.lease, Ending("cancelled", in_flight=["a", "b"])) == "cancelled"
        row = await b.row(claim.id)
        assert (row.state, row.result, row.error_code, row.failures) == ("cancelled", None, None, 0)
        (attempt,) = (await b.store.history(claim.id)).attempts
        assert (attempt["outcome"], attempt["in_flight"], attempt["late"]) == ("cancelled", ["a", "b"], None)

    @scenario
    async def test_an_attempt_tells_who_made_it_and_what_was_in_flight(self, b: Bench) -> None:
        claim = await b.claim(await b.put(), worker="somebody")
        await b.later(500)
        await b.store.finish(claim.lease, Ending("failed", code="x", in_flight=["call"]))
        (attempt,) = (await b.store.history(claim.id)).attempts
        assert (attempt["worker"], attempt["fence"], attempt["code"]) == ("somebody", claim.fence, "x")
        assert attempt["in_flight"] == ["call"]
        assert attempt["ended_at"] - attempt["started_at"] >= 500

    @pytest.mark.parametrize("name", ENDINGS)
    @scenario
    async def test_an_ending_that_is_recorded_already_gives_the_same_answer(self, b: Bench, name: str) -> None:
        # The first answer may have been lost with its connection.
        claim = await b.running(conversation="c", generation=1, notify=True)
        state = await b.store.finish(claim.lease, ENDINGS[name])
        before = await b.everything([claim.id])
        assert await b.store.finish(claim.lease, ENDINGS[name]) == state
        assert await b.everything([claim.id]) == before

    @pytest.mark.parametrize("first", ENDINGS)
    @pytest.mark.parametrize("second", ENDINGS)
    @scenario
    async def test_of_two_endings_the_first_one_counts(self, b: Bench, first: str, second: str) -> None:
        claim = await b.running()
        await b.store.finish(claim.lease, ENDINGS[first])
        before = await b.everything([claim.id])
        if first != second:
            with pytest.raises(LeaseLostError):
                await b.store.finish(claim.lease, ENDINGS[second])
        assert await b.everything([claim.id]) == before

    @scenario
    async def test_a_result_over_the_limit_is_not_kept(self, b: Bench) -> None:
        claim = await b.running(max_result_bytes=10, conversation="c", generation=1, notify=True)
        before = await b.everything([claim.id])
        with pytest.raises(TaskStateError):
            await b.store.finish(claim.lease, Ending("succeeded", result='"\u20ac\u20ac\u20ac"'))
        assert await b.everything([claim.id]) == before
        assert await b.store.finish(claim.lease, Ending("succeeded", result='"\u20ac\u20ac67"')) == "succeeded"

    @scenario
    async def test_what_came_too_late_is_kept_once_with_its_attempt(self, b: Bench) -> None:
        claim = await b.running()
        assert not await b.store.late(claim.lease, DONE)
        await b.later(LEASE_MS)
        await b.store.sweep()
        assert await b.store.late(claim.lease, FAILED)
        assert not await b.store.late(claim.lease, DONE)
        (attempt,) = (await b.store.history(claim.id)).attempts
        assert (attempt["outcome"], attempt["late"]["kind"], attempt["late"]["code"]) == ("lost", "failed", "broken")
        assert await b.state(claim.id) == "ready"

    @scenario
    async def test_what_a_failed_attempt_still_gives_is_kept_once_with_it(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.finish(claim.lease, FAILED)
        assert await b.store.late(claim.lease, DONE)
        assert not await b.store.late(claim.lease, DONE)
        (attempt,) = (await b.store.history(claim.id)).attempts
        assert (attempt["late"]["kind"], attempt["late"]["result"]) == ("succeeded", DONE.result)
        assert await b.state(claim.id) == "failed"

    @scenario
    async def test_what_ended_in_time_is_not_late(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.finish(claim.lease, DONE)
        assert not await b.store.late(claim.lease, FAILED)
        assert not await b.store.late(claim.lease._replace(fence=99), DONE)
        assert not await b.store.late(claim.lease._replace(id="no such task"), DONE)
