"""Waits, signals and suspended tasks."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio

import pytest

from ..errors import NotFoundError, SignalError, TaskEndedError
from ..tasks.records import Ending
from .tasks_suite import DONE, FAILED, Bench, TaskStoreSuite, scenario


class WaitConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_wait_is_opened_once_and_stays_as_it_is(self, b: Bench) -> None:
        claim = await b.running()
        asked = [b.wait(name="answer", timeout_ms=5000), b.wait("sleep", timeout_ms=9000), b.wait(name="other")]
        opened = await b.store.wait(claim.lease, asked)
        assert [(one.id, one.key, one.kind, one.name) for one in opened] == [
            (one.id, one.key, one.kind, one.name) for one in asked
        ]
        assert [one.due_at and one.due_at - one.opened_at for one in opened] == [5000, 9000, None]
        assert {(one.task_id, one.outcome, one.value) for one in opened} == {(claim.id, None, None)}
        await b.later(100)
        again = [b.wait("sleep", timeout_ms=1), asked[0]]
        again[0] = asked[1].__class__("another id", asked[1].key, "signal", "another name", 1)
        assert await b.store.wait(claim.lease, again) == [opened[1], opened[0]]
        assert len(await b.store.waits(claim.id)) == 3

    @scenario
    async def test_a_suspended_task_has_a_reason_and_no_owner(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.wait(claim.lease, [late := b.wait(timeout_ms=5000), soon := b.wait("sleep", timeout_ms=2000)])
        await b.store.wait(claim.lease, [b.wait("sleep", timeout_ms=10)])
        assert await b.store.suspend(claim.lease, [late.key, soon.key], "approval") == []
        row = await b.row(claim.id)
        assert (row.state, row.resume_reason, row.worker, row.fence) == ("suspended", "approval", None, claim.fence + 1)
        due = {wait.id: wait.due_at for wait in await b.store.waits(claim.id)}
        assert row.available_at == due[soon.id]
        assert await b.attempts(claim.id) == [(1, "suspended")]

    @scenario
    async def test_a_task_is_not_suspended_while_one_of_its_waits_has_ended(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.wait(claim.lease, [first := b.wait(name="a"), second := b.wait(name="b")])
        await b.store.signal(claim.id, "b", '"yes"', signal_id="s")
        (ended,) = await b.store.suspend(claim.lease, [first.key, second.key], "why")
        assert (ended.id, ended.outcome, ended.value) == (second.id, "signal", '"yes"')
        row = await b.row(claim.id)
        assert (row.state, row.fence) == ("running", claim.fence)
        assert await b.store.suspend(claim.lease, [first.key], "why") == []

    @scenario
    async def test_with_hold_a_task_stays_running(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.wait(claim.lease, [sleep := b.wait("sleep", timeout_ms=1000)])
        assert await b.store.suspend(claim.lease, [sleep.key], "why", hold=True) == []
        assert (await b.row(claim.id)).fence == claim.fence
        await b.later(1000)
        (ended,) = await b.store.suspend(claim.lease, [sleep.key], "why", hold=True)
        assert ended.outcome == "elapsed"
        assert await b.store.finish(claim.lease, DONE) == "succeeded"

    @pytest.mark.parametrize(("kind", "outcome"), [("sleep", "elapsed"), ("signal", "timeout")])
    @scenario
    async def test_a_wait_whose_time_is_over_ends_before_a_task_is_suspended(
        self, b: Bench, kind: str, outcome: str
    ) -> None:
        claim = await b.running()
        await b.store.wait(claim.lease, [wait := b.wait(kind, timeout_ms=1000)])
        await b.later(1000)
        (ended,) = await b.store.suspend(claim.lease, [wait.key], "why")
        assert (ended.outcome, ended.value) == (outcome, None)

    @pytest.mark.parametrize(("kind", "outcome"), [("sleep", "elapsed"), ("signal", "timeout")])
    @scenario
    async def test_a_suspended_task_wakes_when_the_time_is_over(self, b: Bench, kind: str, outcome: str) -> None:
        claim = await b.running()
        await b.store.wait(claim.lease, [wait := b.wait(kind, timeout_ms=5000)])
        await b.store.suspend(claim.lease, [wait.key], "why")
        await b.later(4000)
        assert (await b.store.sweep()).woken == 0
        await b.later(1000)
        assert (await b.store.sweep()).woken == 1
        assert (await b.store.sweep()).woken == 0
        row = await b.row(claim.id)
        assert (row.state, row.fence, row.resume_reason) == ("ready", claim.fence + 2, "why")
        again = await b.claim(claim.id)
        assert [one.outcome for one in (await b.store.load(again.lease))[1]] == [outcome]

    @scenario
    async def test_only_the_waits_that_it_was_suspended_for_wake_a_task(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.wait(
            claim.lease, [awaited := b.wait(name="a"), b.wait(name="b"), b.wait("sleep", timeout_ms=1000)]
        )
        await b.store.suspend(claim.lease, [awaited.key], "why")
        assert await b.store.signal(claim.id, "b", "1", signal_id="s1") is not None
        await b.later(1000)
        assert (await b.store.sweep()).woken == 0
        assert await b.state(claim.id) == "suspended"
        await b.store.signal(claim.id, "a", "1", signal_id="s2")
        assert await b.state(claim.id) == "ready"

    @scenario
    async def test_a_suspension_that_is_recorded_already_gives_the_same_answer(self, b: Bench) -> None:
        claim, wait = await b.suspended()
        before = await b.everything([claim.id])
        assert await b.store.suspend(claim.lease, [wait.key], "a reason") == []
        assert await b.everything([claim.id]) == before

    @scenario
    async def test_running_time_before_a_suspension_counts_for_the_attempt(self, b: Bench) -> None:
        claim = await b.running()
        await b.later(700)
        await b.store.wait(claim.lease, [wait := b.wait()])
        await b.store.suspend(claim.lease, [wait.key], "why")
        await b.later(100_000)
        await b.store.signal(claim.id, "answer", "1", signal_id="s")
        second = await b.claim(claim.id)
        assert 700 <= second.spent_ms < 100_000
        assert second.failures == 0
        await b.later(300)
        await b.store.finish(second.lease, Ending("released"))
        third = await b.claim(claim.id)
        assert third.spent_ms == second.spent_ms
        await b.store.finish(third.lease, Ending("failed", retry_ms=0))
        assert (await b.claim(claim.id)).spent_ms == 0

    @scenario
    async def test_a_resume_is_no_attempt(self, b: Bench) -> None:
        task_id = await b.put(max_attempts=1)
        for number in range(3):
            claim = await b.claim(task_id)
            await b.store.wait(claim.lease, [wait := b.wait()])
            await b.store.suspend(claim.lease, [wait.key], "why")
            await b.store.signal(task_id, "answer", "1", signal_id=f"s{number}")
        assert await b.work(task_id) == "succeeded"
        assert await b.attempts(task_id) == [(1, "suspended")] * 3 + [(1, "succeeded")]

    @scenario
    async def test_open_waits_are_listed_for_a_task_and_below_it(self, b: Bench) -> None:
        parent, (child,) = await b.parent()
        claim = await b.claim(child)
        await b.store.wait(claim.lease, [wait := b.wait(), other := b.wait(name="other")])
        await b.store.signal(child, "other", "1", signal_id="s")
        assert [one.kind for one in await b.store.waits(parent.id)] == ["children"]
        assert {one.id for one in await b.store.waits(child)} == {wait.id}
        below = await b.store.waits(parent.id, below=True)
        assert {(one.task_id, one.kind) for one in below} == {(parent.id, "children"), (child, "signal")}
        await b.store.finish(claim.lease, DONE)
        assert [one.kind for one in await b.store.waits(parent.id, below=True)] == ["children"]
        assert await b.store.waits("no such task") == []
        found = {one["id"]: one["outcome"] for one in (await b.store.history(child)).waits}
        assert found == {wait.id: None, other.id: "signal"}


class SignalConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_signal_ends_the_wait_of_its_name_and_wakes_the_task(self, b: Bench) -> None:
        claim, wait = await b.suspended()
        assert await b.store.signal(claim.id, "answer", '"yes"', signal_id="s") == wait.id
        row = await b.row(claim.id)
        assert (row.state, row.fence, row.resume_reason, row.available_at) == (
            "ready",
            claim.fence + 2,
            "a reason",
            None,
        )
        again = await b.claim(claim.id)
        (ended,) = (await b.store.load(again.lease))[1]
        assert (ended.outcome, ended.value) == ("signal", '"yes"')
        assert await b.store.waits(claim.id) == []

    @scenario
    async def test_early_signals_are_kept_and_taken_in_the_order_in_which_they_came(self, b: Bench) -> None:
        task_id = await b.put()
        for number in range(3):
            assert await b.store.signal(task_id, "answer", str(number), signal_id=f"s{9 - number}") is None
        assert await b.store.signal(task_id, "other", '"other"', signal_id="o") is None
        claim = await b.claim(task_id)
        for number in range(3):
            (wait,) = await b.store.wait(claim.lease, [b.wait()])
            assert (wait.outcome, wait.value) == ("signal", str(number))
        (wait,) = await b.store.wait(claim.lease, [b.wait()])
        assert wait.outcome is None
        found = (await b.store.history(task_id)).signals
        assert [one["id"] for one in found] == ["s9", "s8", "s7", "o"]
        assert [one["wait_id"] is None for one in found] == [False, False, False, True]

    @scenario
    async def test_one_kept_signal_ends_one_wait(self, b: Bench) -> None:
        claim = await b.running()
        await b.store.signal(claim.id, "answer", "1", signal_id="s")
        waits = await b.store.wait(claim.lease, [b.wait(), b.wait()])
        assert [wait.outcome for wait in waits] == ["signal", None]

    @scenario
    async def test_a_signal_that_came_before_changes_nothing(self, b: Bench) -> None:
        claim, wait = await b.suspended()
        assert await b.store.signal(claim.id, "answer", "1", signal_id="s") == wait.id
        assert await b.store.signal(claim.id, "other", "2", signal_id="kept") is None
        before = await b.everything([claim.id])
        assert await b.store.signal(claim.id, "answer", "1", signal_id="s") == wait.id
        assert await b.store.signal(claim.id, "other", "2", signal_id="kept") is None
        assert await b.everything([claim.id]) == before
        await b.work(claim.id)
        assert await b.store.signal(claim.id, "answer", "1", signal_id="s") == wait.id

    @scenario
    async def test_signals_of_different_tasks_may_have_one_id(self, b: Bench) -> None:
        (one, first), (other, second) = await b.suspended(), await b.suspended()
        assert await b.store.signal(one.id, "answer", "1", signal_id="s") == first.id
        assert await b.store.signal(other.id, "answer", "1", signal_id="s") == second.id

    @scenario
    async def test_a_bare_signal_is_refused_while_several_waits_are_open(self, b: Bench) -> None:
        # Reported of other libraries as langchain-ai/langgraph#6626: answers reached the wrong question.
        claim = await b.running()
        await b.store.wait(claim.lease, [first := b.wait(), second := b.wait(), b.wait(name="other")])
        before = await b.everything([claim.id])
        with pytest.raises(SignalError) as refused:
            await b.store.signal(claim.id, "answer", "1", signal_id="s")
        assert set(refused.value.open_waits) == {first.id, second.id}
        assert await b.everything([claim.id]) == before
        assert await b.store.signal(claim.id, "answer", "1", signal_id="s", wait_id=second.id) == second.id
        assert await b.store.signal(claim.id, "answer", "1", signal_id="t") == first.id

    @scenario
    async def test_a_bare_signal_is_refused_while_only_tasks_below_wait_for_it(self, b: Bench) -> None:
        parent, children = await b.parent(2)
        waits = [b.wait(), b.wait()]
        for child, wait in zip(children, waits, strict=True):
            claim = await b.claim(child)
            await b.store.wait(claim.lease, [wait])
            await b.store.suspend(claim.lease, [wait.key], "why")
        with pytest.raises(SignalError) as refused:
            await b.store.signal(parent.id, "answer", "1", signal_id="s")
        assert set(refused.value.open_waits) == {wait.id for wait in waits}
        assert await b.store.signal(parent.id, "other", "1", signal_id="t") is None
        assert await b.store.signal(children[1], "answer", "1", signal_id="s", wait_id=waits[1].id) == waits[1].id
        assert await b.states(children) == ["suspended", "ready"]

    @scenario
    async def test_a_task_below_that_has_ended_waits_for_nothing(self, b: Bench) -> None:
        parent = await b.running()
        (child,) = await b.fan_out(parent.lease, 1)
        claim = await b.claim(child)
        await b.store.wait(claim.lease, [b.wait()])
        await b.store.finish(claim.lease, FAILED)
        assert await b.store.signal(parent.id, "answer", "1", signal_id="s") is None
        (wait,) = await b.store.wait(parent.lease, [b.wait()])
        assert wait.outcome == "signal"

    @scenario
    async def test_an_addressed_signal_answers_that_wait_whatever_its_name(self, b: Bench) -> None:
        claim, wait = await b.suspended()
        assert await b.store.signal(claim.id, "another name", "1", signal_id="s", wait_id=wait.id) == wait.id
        assert await b.state(claim.id) == "ready"

    @scenario
    async def test_a_signal_for_a_wait_that_is_not_open_is_refused(self, b: Bench) -> None:
        claim = await b.running()
        other, elsewhere = await b.suspended()
        await b.store.wait(claim.lease, [over := b.wait(), sleep := b.wait("sleep"), wait := b.wait(name="other")])
        await b.store.signal(claim.id, "answer", "1", signal_id="s")
        before = await b.everything([claim.id, other.id])
        for wait_id in (over.id, sleep.id, elsewhere.id, "no such wait"):
            with pytest.raises(SignalError) as refused:
                await b.store.signal(claim.id, "answer", "1", signal_id="t", wait_id=wait_id)
            assert list(refused.value.open_waits) == [wait.id]
        assert await b.everything([claim.id, other.id]) == before

    @scenario
    async def test_a_signal_for_no_task_or_an_ended_one_is_refused(self, b: Bench) -> None:
        task_id = await b.put()
        for missing, owner in (("no such task", None), (task_id, "another")):
            with pytest.raises(NotFoundError):
                await b.store.signal(missing, "answer", "1", signal_id="s", owner=owner)
        await b.work(task_id)
        with pytest.raises(TaskEndedError) as refused:
            await b.store.signal(task_id, "answer", "1", signal_id="s")
        assert (refused.value.task_id, refused.value.state) == (task_id, "succeeded")
        assert (await b.store.history(task_id)).signals == []

    @scenario
    async def test_a_signal_that_comes_before_the_time_out_is_noticed_counts(self, b: Bench) -> None:
        # Reported of other libraries as anthropics/claude-code#36532: "timed out" at the moment of completion.
        claim = await b.running()
        await b.store.wait(claim.lease, [wait := b.wait(timeout_ms=1000)])
        await b.store.suspend(claim.lease, [wait.key], "why")
        await b.later(1000)
        assert await b.store.signal(claim.id, "answer", "1", signal_id="s") == wait.id
        assert (await b.store.sweep()).woken == 0
        again = await b.claim(claim.id)
        assert [one.outcome for one in (await b.store.load(again.lease))[1]] == ["signal"]

    @scenario
    async def test_of_many_signals_at_the_same_time_one_wakes_the_task(self, b: Bench) -> None:
        claim, wait = await b.suspended()
        signals = [b.store.signal(claim.id, "answer", str(n), signal_id=f"s{n}") for n in range(10)]
        answers = await asyncio.gather(*signals)
        assert answers.count(wait.id) == 1
        assert answers.count(None) == 9
        assert (await b.row(claim.id)).fence == claim.fence + 2
        assert len((await b.store.history(claim.id)).signals) == 10
