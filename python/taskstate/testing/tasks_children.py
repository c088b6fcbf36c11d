"""Children: fan-outs, bounded ones, and how their parent is resumed."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio

import pytest

from ..errors import TaskExistsError
from ..tasks.records import Ending, Filter, NewWait, Placed
from .tasks_suite import DONE, FAILED, LEASE_MS, Bench, TaskStoreSuite, scenario


class SpawnConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_child_belongs_to_its_parent(self, b: Bench) -> None:
        root = await b.running(owner="u", conversation="c", generation=4)
        (child,) = await b.fan_out(root.lease, 1, owner="another", conversation="d", generation=9, priority=3)
        row = await b.row(child)
        assert (row.owner, row.conversation, row.generation, row.priority) == ("u", "c", 4, 3)
        assert (row.parent_id, row.parent_ordinal, row.root_id, row.state) == (root.id, 0, root.id, "ready")
        claim = await b.claim(child)
        assert (claim.parent_id, claim.root_id, claim.owner) == (root.id, root.id, "u")
        (grandchild,) = await b.fan_out(claim.lease, 1)
        row = await b.row(grandchild)
        assert (row.parent_id, row.root_id) == (child, root.id)
        assert await b.store.generation("d") is None

    @scenario
    async def test_a_step_that_was_spawned_gives_the_children_that_are_there(self, b: Bench) -> None:
        claim = await b.running()
        first = await b.fan_out(claim.lease, 3)
        again = [b.new() for _ in range(3)]
        placed = await b.store.spawn(claim.lease, "step", again, wait=NewWait("w", "step", "children"))
        assert placed == [Placed(task_id, created=False) for task_id in first]
        assert await b.store.get([one.id for one in again]) == []
        assert [one.id for one in await b.store.children(claim.id, "step")] == first
        assert len(await b.store.waits(claim.id)) == 1

    @scenario
    async def test_children_of_different_steps_are_different(self, b: Bench) -> None:
        claim = await b.running()
        one = await b.fan_out(claim.lease, 2, key="a")
        other = await b.fan_out(claim.lease, 1, key="b", waited=False)
        assert [child.id for child in await b.store.children(claim.id, "a")] == one
        assert [child.id for child in await b.store.children(claim.id, "b")] == other
        assert await b.store.children(claim.id, "c") == []
        assert [wait.key for wait in await b.store.waits(claim.id)] == ["a"]

    @scenario
    async def test_all_children_of_a_step_are_stored_or_none(self, b: Bench) -> None:
        claim, taken = await b.running(), await b.put()
        before = await b.everything([claim.id, taken])
        twice = b.new()
        for children in ([b.new(), b.new(id=taken)], [twice, b.new(), twice]):
            with pytest.raises(TaskExistsError):
                await b.store.spawn(claim.lease, "step", children, wait=NewWait("w", "step", "children"))
        assert await b.everything([claim.id, taken]) == before
        assert len(await b.store.list(Filter())) == 2
        assert await b.store.waits(claim.id) == []

    @scenario
    async def test_outcomes_are_in_the_order_of_the_children_however_they_end(self, b: Bench) -> None:
        claim, children = await b.parent(6)
        for task_id in (children[n] for n in (3, 0, 5, 2, 1, 4)):
            await b.work(task_id, FAILED if task_id == children[2] else Ending("succeeded", result=f'"{task_id}"'))
        outcomes = await b.store.children(claim.id, "step")
        assert [(one.id, one.ordinal) for one in outcomes] == [(task_id, n) for n, task_id in enumerate(children)]
        assert [one.result for one in outcomes] == [
            None if n == 2 else f'"{task_id}"' for n, task_id in enumerate(children)
        ]
        assert (outcomes[2].state, outcomes[2].code, outcomes[2].message) == ("failed", "broken", "it broke")

    @scenario
    async def test_a_child_that_has_not_ended_has_no_outcome(self, b: Bench) -> None:
        claim, (_, child) = await b.parent(2)
        await b.work(child, Ending("failed", code="x", message="y", retry_ms=1000))
        _, outcome = await b.store.children(claim.id, "step")
        assert (outcome.id, outcome.ordinal, outcome.state) == (child, 1, "scheduled")
        assert (outcome.result, outcome.code, outcome.message) == (None, None, None)

    @scenario
    async def test_a_step_without_children_is_over_at_once(self, b: Bench) -> None:
        claim = await b.running()
        assert await b.fan_out(claim.lease, 0) == []
        (ended,) = await b.store.suspend(claim.lease, ["step"], "children")
        assert ended.outcome == "children"

    @scenario
    async def test_a_delayed_child_is_scheduled(self, b: Bench) -> None:
        claim = await b.running()
        (child,) = await b.fan_out(claim.lease, 1, delay_ms=1000)
        assert await b.state(child) == "scheduled"
        await b.later(1000)
        assert (await b.store.sweep()).promoted == 1

    @scenario
    async def test_children_of_a_parent_that_is_asked_to_cancel_are_born_cancelled(self, b: Bench) -> None:
        # Reported of other libraries as mattapperson/noetic 6d36c976: children started after the cancel were missed.
        claim = await b.running(conversation="c", generation=1)
        await b.store.cancel(claim.id, grace_ms=1000)
        children = await b.fan_out(claim.lease, 3, limit=1, notify=True)
        assert await b.states(children) == ["cancelled"] * 3
        assert await b.store.claim("w", [], 1) == []
        assert await b.events() == []
        (ended,) = await b.store.suspend(claim.lease, ["step"], "children")
        assert ended.outcome == "children"


class ResumeConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_parent_is_resumed_once_when_all_its_children_have_ended(self, b: Bench) -> None:
        claim, children = await b.parent(3)
        for task_id in children:
            assert await b.state(claim.id) == "suspended"
            await b.work(task_id)
            await b.settle()
        row = await b.row(claim.id)
        assert (row.state, row.fence, row.resume_reason) == ("ready", claim.fence + 2, "children")
        await b.settle()
        assert (await b.row(claim.id)).fence == claim.fence + 2
        again = await b.claim(claim.id)
        (wait,) = (await b.store.load(again.lease))[1]
        assert (wait.kind, wait.outcome) == ("children", "children")

    @scenario
    async def test_the_end_of_a_child_doesn_t_touch_its_parent_until_it_is_dispatched(self, b: Bench) -> None:
        claim, (child,) = await b.parent()
        before = await b.everything([claim.id])
        await b.work(child)
        assert await b.everything([claim.id]) == before
        assert await b.deliveries(child, "parent") == [("pending", None)]
        done = await b.store.dispatch()
        assert (done.resumed, done.delivered) == (1, 1)
        assert await b.deliveries(child, "parent") == [("delivered", None)]

    @scenario
    async def test_children_that_end_together_resume_their_parent_once(self, b: Bench) -> None:
        claim, children = await b.parent(8)
        claims = [await b.claim(task_id) for task_id in children]

        async def end(lease: object) -> int:
            await b.store.finish(lease, DONE)  # type: ignore[arg-type]
            return (await b.store.dispatch()).resumed

        await asyncio.gather(*(end(one.lease) for one in claims))
        await asyncio.gather(*(b.store.dispatch() for _ in range(4)))
        assert (await b.row(claim.id)).fence == claim.fence + 2
        assert await b.state(claim.id) == "ready"

    @scenario
    async def test_children_may_end_before_their_parent_waits(self, b: Bench) -> None:
        # Reported of other libraries as anthropics/claude-code#87675: completions during work were dropped.
        claim = await b.running()
        children = await b.fan_out(claim.lease, 19)
        for task_id in children:
            await b.work(task_id)
        await b.settle()
        assert (await b.row(claim.id)).fence == claim.fence
        (ended,) = await b.store.suspend(claim.lease, ["step"], "children")
        assert ended.outcome == "children"
        assert len(await b.store.children(claim.id, "step")) == 19

    @scenario
    async def test_a_child_ends_for_its_parent_however_it_ends(self, b: Bench) -> None:
        claim, children = await b.parent(4, max_attempts=3)
        await b.work(children[0], FAILED)
        await b.store.cancel(children[1])
        running = await b.claim(children[2])
        await b.store.cancel(running.id)
        for _ in range(3):
            await b.claim(children[3])
            await b.later(LEASE_MS)
            await b.store.sweep()
        await b.settle()
        assert await b.state(claim.id) == "ready"
        found = [(one.state, one.code) for one in await b.store.children(claim.id, "step")]
        assert found == [("failed", "broken"), ("cancelled", None), ("cancelled", None), ("failed", "poisoned")]

    @scenario
    async def test_nobody_is_resumed_by_children_that_are_not_waited_for(self, b: Bench) -> None:
        claim = await b.running()
        (child,) = await b.fan_out(claim.lease, 1, waited=False)
        await b.store.wait(claim.lease, [wait := b.wait()])
        await b.store.suspend(claim.lease, [wait.key], "why")
        await b.work(child)
        await b.settle()
        assert await b.state(claim.id) == "suspended"
        assert await b.deliveries(child, "parent") == []

    @scenario
    async def test_one_of_several_waits_is_enough_to_resume(self, b: Bench) -> None:
        claim = await b.running()
        (child,) = await b.fan_out(claim.lease, 1)
        await b.store.wait(claim.lease, [wait := b.wait()])
        await b.store.suspend(claim.lease, [wait.key, "step"], "either")
        await b.store.signal(claim.id, "answer", "1", signal_id="s")
        await b.work(child)
        await b.settle()
        row = await b.row(claim.id)
        assert (row.state, row.fence) == ("ready", claim.fence + 2)
        again = await b.claim(claim.id)
        assert {one.outcome for one in (await b.store.load(again.lease))[1]} == {"signal", "children"}

    @scenario
    async def test_a_wait_for_children_may_time_out(self, b: Bench) -> None:
        claim = await b.running()
        children = [b.new(), b.new()]
        await b.store.spawn(claim.lease, "step", children, wait=NewWait("w", "step", "children", None, 1000), limit=1)
        await b.store.suspend(claim.lease, ["step"], "children")
        await b.later(1000)
        assert (await b.store.sweep()).woken == 1
        again = await b.claim(claim.id)
        assert [one.outcome for one in (await b.store.load(again.lease))[1]] == ["timeout"]
        for child in children:
            await b.work(child.id)
            await b.settle()
        assert (await b.row(claim.id)).fence == again.fence
        assert [one.outcome for one in (await b.store.load(again.lease))[1]] == ["timeout"]

    @scenario
    async def test_a_result_that_is_for_an_ended_parent_is_suppressed(self, b: Bench) -> None:
        claim, (child,) = await b.parent()
        running = await b.claim(child)
        await b.store.cancel(claim.id, grace_ms=1000)
        await b.store.finish(running.lease, DONE)
        await b.settle()
        assert await b.deliveries(child, "parent") == [("suppressed", "parent_ended")]
        assert await b.state(claim.id) == "cancelled"


class BoundedConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_no_more_children_are_active_than_there_are_places(self, b: Bench) -> None:
        claim, children = await b.parent(7, limit=2)
        assert await b.states(children) == ["ready"] * 2 + ["scheduled"] * 5
        started: list[str] = []
        while await b.state(claim.id) == "suspended":
            active = [task_id for task_id in children if await b.state(task_id) in {"ready", "running"}]
            assert 1 <= len(active) <= 2
            started += [task_id for task_id in active if task_id not in started]
            await b.work(active[-1])
            await b.settle()
        assert started == children
        assert await b.states(children) == ["succeeded"] * 7

    @scenario
    async def test_a_place_is_free_when_its_child_has_ended_however_that_is(self, b: Bench) -> None:
        _, children = await b.parent(5, limit=1)
        await b.work(children[0], FAILED)
        await b.settle()
        assert await b.states(children[1:]) == ["ready"] + ["scheduled"] * 3
        await b.store.cancel(children[1])
        await b.store.cancel(children[2])
        await b.settle()
        assert await b.states(children[3:]) == ["ready", "scheduled"]

    @scenario
    async def test_a_child_keeps_its_place_until_it_has_ended(self, b: Bench) -> None:
        _, (first, second) = await b.parent(2, limit=1)
        await b.work(first, Ending("failed", code="x", retry_ms=1000))
        await b.settle()
        assert await b.states([first, second]) == ["scheduled", "scheduled"]
        assert (await b.row(second)).available_at is None
        await b.later(1000)
        assert (await b.store.sweep()).promoted == 1
        claim = await b.claim(first)
        await b.store.wait(claim.lease, [wait := b.wait()])
        await b.store.suspend(claim.lease, [wait.key], "why")
        await b.settle()
        assert await b.states([first, second]) == ["suspended", "scheduled"]

    @scenario
    async def test_places_are_kept_when_many_end_at_the_same_time(self, b: Bench) -> None:
        claim, children = await b.parent(12, limit=4)
        for step in range(3):
            ready = [task_id for task_id in children if await b.state(task_id) == "ready"]
            assert ready == children[4 * step : 4 * step + 4]
            await asyncio.gather(*[b.store.finish((await b.claim(task_id)).lease, DONE) for task_id in ready])
            await asyncio.gather(*(b.store.dispatch(3) for _ in range(6)))
            await b.settle()
        assert await b.state(claim.id) == "ready"

    @scenario
    async def test_a_limit_counts_for_children_that_are_waited_for(self, b: Bench) -> None:
        claim = await b.running()
        children = await b.fan_out(claim.lease, 3, limit=1, waited=False)
        assert await b.states(children) == ["ready"] * 3

    @scenario
    async def test_fan_outs_within_each_other_need_no_more_than_one_worker(self, b: Bench) -> None:
        root, children = await b.parent(2, limit=1)
        for task_id in children:
            claim = await b.claim(task_id)
            grandchildren = await b.fan_out(claim.lease, 2, limit=1)
            await b.store.suspend(claim.lease, ["step"], "children")
            for grandchild in grandchildren:
                await b.work(grandchild)
                await b.settle()
            await b.work(task_id)
            await b.settle()
        assert await b.work(root.id) == "succeeded"
