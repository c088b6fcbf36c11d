"""Conversations: their generations, and what becomes of tasks of an older one."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

from typing import Any

import pytest

from ..errors import LeaseLostError, NotFoundError, StaleGenerationError
from ..tasks.records import Ending
from .tasks_suite import DONE, FAILED, Bench, TaskStoreSuite, scenario


class GenerationConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_conversation_is_created_by_its_first_task_and_belongs_to_its_owner(self, b: Bench) -> None:
        assert await b.store.generation("c") is None
        await b.put(owner="u", conversation="c", generation=3)
        assert await b.store.generation("c") == 3
        assert await b.store.generation("c", owner="u") == 3
        assert await b.store.generation("c", owner="another") is None
        with pytest.raises(NotFoundError) as refused:
            await b.put(owner="another", conversation="c", generation=3)
        assert (refused.value.kind, refused.value.id) == ("conversation", "c")

    @scenario
    async def test_a_request_of_an_older_generation_is_refused(self, b: Bench) -> None:
        await b.put(conversation="c", generation=3)
        with pytest.raises(StaleGenerationError) as refused:
            await b.put(conversation="c", generation=2)
        assert (refused.value.conversation, refused.value.generation, refused.value.current) == ("c", 2, 3)

    @pytest.mark.parametrize("generations", [(5, 7), (7, 5)])
    @scenario
    async def test_one_request_has_one_generation_of_a_conversation(
        self, b: Bench, generations: tuple[int, int]
    ) -> None:
        with pytest.raises(StaleGenerationError):
            await b.store.enqueue([b.new(conversation="c", generation=generation) for generation in generations])
        assert await b.store.generation("c") is None

    @scenario
    async def test_a_request_of_a_newer_generation_advances_the_conversation(self, b: Bench) -> None:
        old = await b.put(conversation="c", generation=3)
        new = await b.put(conversation="c", generation=4)
        assert await b.store.generation("c") == 4
        assert await b.states([old, new]) == ["superseded", "ready"]

    @scenario
    async def test_advance_creates_a_conversation_and_never_goes_back(self, b: Bench) -> None:
        assert await b.store.advance("c", 5, owner="owner") == []
        assert await b.store.generation("c") == 5
        task_id = await b.put(conversation="c", generation=5)
        assert await b.store.advance("c", 5, owner="owner") == []
        with pytest.raises(StaleGenerationError):
            await b.store.advance("c", 4, owner="owner")
        with pytest.raises(NotFoundError):
            await b.store.advance("c", 6, owner="another")
        assert await b.store.generation("c") == 5
        assert await b.state(task_id) == "ready"

    @scenario
    async def test_whatever_has_not_ended_is_superseded_running_or_not(self, b: Bench) -> None:
        bound: dict[str, Any] = {"conversation": "c", "generation": 1}
        ready, scheduled = await b.put(**bound), await b.put(**bound, delay_ms=1000)
        (suspended, _), running = await b.suspended(**bound), await b.running(**bound)
        over, elsewhere = await b.put(**bound), await b.put(conversation="d", generation=1)
        await b.work(over)
        ids = [ready, scheduled, suspended.id, running.id]
        fences = [row.fence for row in await b.store.get(ids)]
        assert set(await b.store.advance("c", 2, owner="owner")) == set(ids)
        rows = await b.store.get(ids)
        assert [row.state for row in rows] == ["superseded"] * 4
        assert [row.fence for row in rows] == [fence + 1 for fence in fences]
        assert await b.states([over, elsewhere]) == ["succeeded", "ready"]
        assert await b.attempts(running.id) == [(1, "superseded")]
        assert await b.attempts(ready) == []

    @scenario
    async def test_a_superseded_task_keeps_its_result_for_audit_only(self, b: Bench) -> None:
        claim = await b.running(conversation="c", generation=1, notify=True)
        await b.store.publish(claim.lease, "k", '"progress"')
        await b.store.advance("c", 2, owner="owner")
        with pytest.raises(LeaseLostError) as lost:
            await b.store.finish(claim.lease, DONE)
        assert lost.value.reason == "superseded"
        assert await b.store.late(claim.lease, DONE)
        row = await b.row(claim.id)
        assert (row.state, row.result, row.error_code) == ("superseded", None, None)
        (attempt,) = (await b.store.history(claim.id)).attempts
        assert (attempt["outcome"], attempt["late"]["result"]) == ("superseded", DONE.result)
        assert await b.events() == []
        assert await b.deliveries(claim.id, "conversation") == [("suppressed", "superseded")] * 2

    @scenario
    async def test_a_result_of_an_older_generation_is_suppressed(self, b: Bench) -> None:
        task_id = await b.heard("c", 1)
        await b.work(task_id)
        await b.store.advance("c", 2, owner="owner")
        assert await b.events() == []
        assert await b.deliveries(task_id, "conversation") == [("suppressed", "generation")]
        assert await b.state(task_id) == "succeeded"

    @scenario
    async def test_an_event_that_arrived_in_an_older_generation_is_not_offered(self, b: Bench) -> None:
        await b.work(await b.heard("c", 1))
        assert len(await b.events()) == 1
        await b.store.advance("c", 2, owner="owner")
        assert await b.events() == []
        await b.work(await b.heard("c", 2))
        assert [event.generation for event in await b.events()] == [2]

    @scenario
    async def test_a_task_that_another_conversation_wants_goes_on_for_that_one(self, b: Bench) -> None:
        task_id = await b.heard("c", 1, name="n", single_flight="k")
        await b.heard("d", 7, name="n", single_flight="k")
        await b.heard("e", 9, name="n", single_flight="k")
        assert await b.store.advance("c", 2, owner="owner") == []
        row = await b.row(task_id)
        assert (row.state, row.conversation, row.generation) == ("ready", "e", 9)
        assert await b.store.advance("e", 10, owner="owner") == []
        claim = await b.claim(task_id)
        assert (claim.conversation, claim.generation) == ("d", 7)
        await b.store.current(claim.lease)
        await b.store.finish(claim.lease, DONE)
        assert await b.events("c") == await b.events("e") == []
        assert [event.generation for event in await b.events("d")] == [7]

    @scenario
    async def test_a_task_that_nobody_wants_any_more_is_superseded(self, b: Bench) -> None:
        task_id = await b.heard("c", 1, name="n", single_flight="k")
        await b.heard("d", 7, name="n", single_flight="k")
        assert await b.store.advance("d", 8, owner="owner") == []
        assert (await b.row(task_id)).conversation == "c"
        assert await b.store.advance("c", 2, owner="owner") == [task_id]

    @scenario
    async def test_tasks_below_go_on_with_their_root(self, b: Bench) -> None:
        root = await b.heard("c", 1, name="n", single_flight="k")
        claim = await b.claim(root)
        await b.heard("d", 7, name="n", single_flight="k")
        (child,) = await b.fan_out(claim.lease, 1, notify=True, waited=False)
        assert await b.store.advance("c", 2, owner="owner") == []
        row = await b.row(child)
        assert (row.state, row.conversation, row.generation) == ("ready", "d", 7)
        assert set(await b.store.advance("d", 8, owner="owner")) == {root, child}

    @scenario
    async def test_a_superseded_tree_leaves_nothing_to_resume(self, b: Bench) -> None:
        root, children = await b.parent(2, conversation="c", generation=1)
        running = await b.claim(children[0])
        assert set(await b.store.advance("c", 2, owner="owner")) == {root.id, *children}
        await b.settle()
        assert await b.states([root.id, *children]) == ["superseded"] * 3
        assert await b.deliveries(root.id, "orphans") == []
        for child in children:
            assert [state for state, _ in await b.deliveries(child, "parent")] == ["suppressed"]
        assert await b.store.late(running.lease, DONE)


class InboxConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_completion_is_an_event_of_plain_data(self, b: Bench) -> None:
        well, ill = await b.heard("c", 4, name="n"), await b.heard("c", 4, name="m")
        await b.work(well)
        await b.work(ill, FAILED)
        first, second = await b.events()
        assert (first.task_id, first.name, first.kind, first.state) == (well, "n", "result", "succeeded")
        assert (first.value, first.code, first.seq, first.task_seq) == (DONE.result, None, 1, 1)
        assert (first.conversation, first.generation) == ("c", 4)
        assert (second.task_id, second.state, second.value, second.code) == (ill, "failed", None, "broken")
        assert (second.seq, second.task_seq) == (2, 1)
        assert first.delivery_id != second.delivery_id
        assert first.created_at <= second.created_at

    @scenario
    async def test_a_task_without_notify_or_conversation_tells_nobody(self, b: Bench) -> None:
        silent, alone = await b.put(conversation="c", generation=1), await b.put(notify=True)
        for task_id in (silent, alone):
            await b.work(task_id)
        assert await b.events() == []
        assert (await b.store.history(silent)).deliveries == []
        assert (await b.store.history(alone)).deliveries == []

    @scenario
    async def test_a_delivery_is_put_into_the_inbox_once(self, b: Bench) -> None:
        task_id = await b.heard()
        await b.work(task_id)
        assert await b.deliveries(task_id, "conversation") == [("pending", None)]
        assert (await b.store.dispatch()).delivered == 1
        assert (await b.store.dispatch()).delivered == 0
        assert await b.deliveries(task_id, "conversation") == [("delivered", None)]
        assert len(await b.events()) == 1

    @scenario
    async def test_an_event_is_offered_again_until_it_is_acknowledged(self, b: Bench) -> None:
        await b.work(await b.heard())
        (event,) = await b.events(offer_ms=1000)
        assert await b.events(offer_ms=1000) == []
        await b.later(1000)
        assert await b.events(offer_ms=0) == [event]
        assert await b.store.acknowledge("c", [event.delivery_id]) == 1
        assert await b.store.acknowledge("c", [event.delivery_id]) == 0
        await b.later(5000)
        assert await b.events() == []

    @scenario
    async def test_events_come_in_order_and_no_more_than_asked_for(self, b: Bench) -> None:
        ids = [await b.heard() for _ in range(5)]
        for task_id in ids:
            await b.work(task_id)
        assert [event.task_id for event in await b.events(limit=3, offer_ms=1000)] == ids[:3]
        assert [event.task_id for event in await b.events(limit=3, offer_ms=1000)] == ids[3:]
        await b.later(1000)
        found = await b.events()
        assert [event.task_id for event in found] == ids
        assert [event.seq for event in found] == [1, 2, 3, 4, 5]
        assert await b.store.acknowledge("c", [event.delivery_id for event in found[1:3]]) == 2
        assert [event.seq for event in await b.events()] == [1, 4, 5]

    @scenario
    async def test_inboxes_are_of_one_conversation_and_one_owner(self, b: Bench) -> None:
        await b.work(await b.heard("c"))
        await b.work(await b.heard("d"))
        ((mine,), (other,)) = (await b.events("c", owner="owner"), await b.events("d"))
        assert (mine.seq, other.seq) == (1, 1)
        assert await b.store.acknowledge("c", [other.delivery_id]) == 0
        for conversation, owner in (("c", "another"), ("no such conversation", "owner"), ("none", None)):
            with pytest.raises(NotFoundError):
                await b.store.take(conversation, owner=owner, limit=1, offer_ms=0)
        with pytest.raises(NotFoundError):
            await b.store.acknowledge("c", [mine.delivery_id], owner="another")
        assert await b.events("c") == [mine]

    @scenario
    async def test_progress_and_result_of_a_task_are_numbered_in_order(self, b: Bench) -> None:
        # Reported of other libraries as anthropics/claude-code#96170: after a partial result no final one came.
        claim = await b.running(conversation="c", generation=1, notify=True)
        assert await b.store.publish(claim.lease, "a", '"one"') == 1
        assert await b.store.publish(claim.lease, "b", '"two"') == 2
        assert await b.store.publish(claim.lease, "a", '"another"') == 1
        await b.store.wait(claim.lease, [wait := b.wait()])
        await b.store.suspend(claim.lease, [wait.key], "why")
        await b.store.signal(claim.id, "answer", "1", signal_id="s")
        again = await b.claim(claim.id)
        assert await b.store.publish(again.lease, "b", '"another"') == 2
        assert await b.store.publish(again.lease, "c", '"three"') == 3
        await b.store.finish(again.lease, DONE)
        found = [(event.task_seq, event.kind, event.state, event.value) for event in await b.events()]
        assert found == [
            (1, "progress", "running", '"one"'),
            (2, "progress", "running", '"two"'),
            (3, "progress", "running", '"three"'),
            (4, "result", "succeeded", DONE.result),
        ]

    @scenario
    async def test_progress_is_numbered_though_nobody_hears_it(self, b: Bench) -> None:
        claim = await b.running()
        assert [await b.store.publish(claim.lease, key, "1") for key in "aba"] == [1, 2, 1]

    @scenario
    async def test_events_of_many_tasks_keep_the_order_of_each(self, b: Bench) -> None:
        claims = [await b.running(conversation="c", generation=1, notify=True) for _ in range(4)]
        for number in range(3):
            for claim in claims:
                await b.store.publish(claim.lease, str(number), "1")
            await b.store.dispatch(5)
        for claim in claims[::-1]:
            await b.store.finish(claim.lease, DONE)
        found = await b.events()
        assert [event.seq for event in found] == list(range(1, 17))
        for claim in claims:
            assert [event.task_seq for event in found if event.task_id == claim.id] == [1, 2, 3, 4]

    @scenario
    async def test_a_result_that_goes_to_a_waiting_parent_does_not_go_to_the_conversation_as_well(
        self, b: Bench
    ) -> None:
        parent = await b.running(conversation="c", generation=1)
        (loud,) = await b.fan_out(parent.lease, 1, notify=True)
        (free,) = await b.fan_out(parent.lease, 1, key="background", waited=False, notify=True)
        held = await b.claim(loud)
        await b.store.publish(held.lease, "k", '"progress"')
        await b.store.finish(held.lease, DONE)
        await b.work(free)
        assert [(event.task_id, event.kind) for event in await b.events()] == [(loud, "progress"), (free, "result")]
        assert await b.deliveries(loud, "conversation") == [("delivered", None), ("suppressed", "consumed")]

    @scenario
    async def test_an_event_stays_what_it_was_when_its_task_is_retried(self, b: Bench) -> None:
        task_id = await b.heard()
        await b.work(task_id, FAILED)
        before = await b.events()
        await b.store.retry(task_id)
        assert await b.events() == before
        assert [(event.state, event.code) for event in before] == [("failed", "broken")]
        await b.work(task_id)
        assert [(event.state, event.task_seq) for event in await b.events()] == [("failed", 1), ("succeeded", 2)]

    @scenario
    async def test_a_task_succeeds_whether_or_not_its_event_is_delivered(self, b: Bench) -> None:
        task_id = await b.heard()
        assert await b.work(task_id) == "succeeded"
        before = await b.row(task_id)
        await b.settle()
        assert await b.row(task_id) == before
        silent = await b.put(name="n")
        assert await b.work(silent, Ending("succeeded")) == "succeeded"
