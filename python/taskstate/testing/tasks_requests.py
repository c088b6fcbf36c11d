"""What a task store does with requests for tasks."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ..errors import NotFoundError, SingleFlightError, StaleGenerationError, TaskExistsError
from ..tasks.records import ENDED, Ending, Filter, Placed
from .tasks_suite import DONE, FAILED, Bench, TaskStoreSuite, scenario

ODD_TEXTS = ("x') OR 1=1 --", 'x" OR ""="', "a.b", "$1", "%s", "?", ":a", "a\\b", "{}", "\u20ac\U0001f600", " ", "")
PAYLOADS = (
    "null",
    '{"b":1,"a":2}',
    '"\\u0000"',
    '"\\ud800"',
    "18446744073709551615",
    "0.1",
    '"\u2028\U0001f600"',
    '"' + "x" * 300_000 + '"',
)


class EnqueueConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_a_request_becomes_a_task_that_is_ready(self, b: Bench) -> None:
        new = b.new(
            name="n",
            version=3,
            mode="foreground",
            owner="u",
            conversation="c",
            generation=4,
            single_flight="k",
            priority=7,
        )
        assert await b.store.enqueue([new]) == [Placed(new.id, created=True)]
        row = await b.row(new.id)
        assert (row.id, row.name, row.version, row.mode, row.state) == (new.id, "n", 3, "foreground", "ready")
        assert (row.owner, row.conversation, row.generation, row.single_flight) == ("u", "c", 4, "k")
        assert (row.priority, row.failures, row.max_attempts, row.fence, row.worker) == (7, 0, 3, 0, None)
        assert (row.parent_id, row.parent_ordinal, row.root_id) == (None, None, new.id)
        assert (row.input, row.result, row.error_code, row.error) == (new.input, None, None, None)
        assert (row.available_at, row.started_at, row.finished_at, row.cancel_requested_at) == (None, None, None, None)

    @scenario
    async def test_tasks_are_stored_in_the_order_of_the_request(self, b: Bench) -> None:
        new = [b.new(name="n") for _ in range(2000)]
        placed = await b.store.enqueue(new)
        assert placed == [Placed(one.id, created=True) for one in new]
        assert [row.id for row in await b.store.list(Filter(limit=5000))] == [one.id for one in new[::-1]]

    @scenario
    async def test_an_empty_request_stores_nothing(self, b: Bench) -> None:
        assert await b.store.enqueue([]) == []
        assert await b.store.list(Filter()) == []

    @scenario
    async def test_a_delayed_task_is_scheduled_until_its_time_has_come(self, b: Bench) -> None:
        task_id = await b.put(delay_ms=5000)
        row = await b.row(task_id)
        assert (row.state, row.available_at) == ("scheduled", row.created_at + 5000)
        assert (await b.store.sweep()).promoted == 0
        await b.later(5000)
        assert (await b.store.sweep()).promoted == 1
        assert (await b.row(task_id)).available_at is None
        assert await b.work(task_id) == "succeeded"

    @scenario
    async def test_the_same_request_again_gives_the_same_task_and_changes_nothing(self, b: Bench) -> None:
        new = b.new(conversation="c", generation=1, notify=True)
        await b.store.enqueue([new])
        before = await b.everything([new.id])
        assert await b.store.enqueue([new]) == [Placed(new.id, created=False)]
        assert await b.everything([new.id]) == before
        await b.work(new.id)
        assert await b.store.enqueue([new]) == [Placed(new.id, created=False)]
        assert len(await b.events()) == 1

    @scenario
    async def test_equal_ids_in_one_request_are_one_task(self, b: Bench) -> None:
        new = b.new()
        assert await b.store.enqueue([new, new]) == [Placed(new.id, created=True), Placed(new.id, created=False)]

    @pytest.mark.parametrize("change", [{"name": "another"}, {"owner": "another"}, {"input_hash": "another"}])
    @scenario
    async def test_an_id_that_is_taken_is_refused(self, b: Bench, change: dict[str, str]) -> None:
        task_id = await b.put(name="n")
        before = await b.everything([task_id])
        with pytest.raises(TaskExistsError) as refused:
            await b.put(**{"id": task_id, "name": "n", **change})
        assert refused.value.task_id == task_id
        assert await b.everything([task_id]) == before

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            ({"id": "task-000001", "name": "n", "input_hash": "another"}, TaskExistsError),
            ({"name": "n", "single_flight": "k", "input_hash": "another"}, SingleFlightError),
            ({"conversation": "c", "generation": 1}, StaleGenerationError),
            ({"conversation": "c", "generation": 2, "owner": "another"}, NotFoundError),
        ],
    )
    @scenario
    async def test_all_of_a_request_is_stored_or_none(self, b: Bench, change: Any, error: type[Exception]) -> None:
        first = await b.put(name="n", single_flight="k", conversation="c", generation=2)
        before = await b.everything([first])
        with pytest.raises(error):
            await b.store.enqueue([b.new(conversation="d"), b.new(**change), b.new()])
        assert await b.everything([first]) == before
        assert [row.id for row in await b.store.list(Filter())] == [first]
        assert await b.store.generation("d") is None

    @pytest.mark.parametrize("text", ODD_TEXTS)
    @scenario
    async def test_no_text_is_taken_for_anything_else(self, b: Bench, text: str) -> None:
        # Reported of other libraries as langchain-ai/langgraph PR#5666: keys became part of the SQL text.
        filters = (Filter(name=text), Filter(owner=text), Filter(conversation=text))
        names: dict[str, Any] = {"name": text, "owner": text, "conversation": text, "single_flight": text}
        task_id = await b.put(**names, notify=True)
        other = await b.put(name="other", owner="other", conversation="other")
        for wanted in filters:
            assert [row.id for row in await b.store.list(wanted)] == [task_id]
        claim = await b.claim(task_id, worker=text)
        assert (await b.store.checkpoint(claim.lease, text, 1, text, '"v"')).key == text
        assert await b.store.publish(claim.lease, text, '"p"') == 1
        (wait,) = await b.store.wait(claim.lease, [b.wait(name=text)])
        assert await b.store.signal(task_id, text, '"s"', signal_id=text, owner=text) == wait.id
        await b.store.finish(claim.lease, Ending("failed", code=text, message=text, in_flight=[text]))
        row = await b.row(task_id)
        assert (row.name, row.owner, row.conversation, row.error_code, row.error) == (text, text, text, text, text)
        assert [event.task_id for event in await b.events(text, owner=text)] == [task_id, task_id]
        assert await b.state(other) == "ready"

    @pytest.mark.parametrize("number", range(len(PAYLOADS)))
    @scenario
    async def test_payloads_come_back_character_by_character(self, b: Bench, number: int) -> None:
        text = PAYLOADS[number]
        claim = await b.running(
            input=text, conversation="c", generation=1, notify=True, max_result_bytes=len(text.encode())
        )
        assert claim.input == text
        assert (await b.store.checkpoint(claim.lease, "k", 1, "h", text)).value == text
        await b.store.publish(claim.lease, "k", text)
        await b.store.wait(claim.lease, [b.wait()])
        await b.store.signal(claim.id, "answer", text, signal_id="s")
        (checkpoint,), (wait,) = await b.store.load(claim.lease)
        assert (checkpoint.value, wait.value) == (text, text)
        await b.store.finish(claim.lease, Ending("succeeded", result=text))
        row = await b.row(claim.id)
        assert (row.input, row.result) == (text, text)
        assert [event.value for event in await b.events()] == [text, text]


class SingleFlightConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @scenario
    async def test_requests_with_one_key_share_one_task(self, b: Bench) -> None:
        first = await b.put(name="n", single_flight="k")
        other = b.new(name="n", single_flight="k")
        assert await b.store.enqueue([other]) == [Placed(first, created=False)]
        assert await b.store.get([other.id]) == []
        await b.claim(first)
        assert await b.store.enqueue([other]) == [Placed(first, created=False)]

    @scenario
    async def test_requests_with_one_key_in_one_call_share_one_task(self, b: Bench) -> None:
        first, second = (b.new(name="n", single_flight="k") for _ in range(2))
        assert await b.store.enqueue([first, second]) == [
            Placed(first.id, created=True),
            Placed(first.id, created=False),
        ]

    @scenario
    async def test_requests_with_one_key_at_the_same_time_share_one_task(self, b: Bench) -> None:
        requests = [b.new(name="n", single_flight="k") for _ in range(20)]
        placed = await asyncio.gather(*(b.store.enqueue([new]) for new in requests))
        assert len({one.id for (one,) in placed}) == 1
        assert sum(one.created for (one,) in placed) == 1
        assert len(await b.store.list(Filter())) == 1

    @scenario
    async def test_a_key_with_another_input_is_refused(self, b: Bench) -> None:
        first = await b.put(name="n", single_flight="k")
        with pytest.raises(SingleFlightError) as refused:
            await b.put(name="n", single_flight="k", input_hash="another")
        assert (refused.value.name, refused.value.key, refused.value.task_id) == ("n", "k", first)
        with pytest.raises(SingleFlightError):
            await b.store.enqueue(
                [b.new(name="m", single_flight="k"), b.new(name="m", single_flight="k", input_hash="another")]
            )
        assert len(await b.store.list(Filter())) == 1

    @pytest.mark.parametrize("change", [{"name": "m"}, {"owner": "another"}, {"single_flight": "l"}])
    @scenario
    async def test_another_key_name_or_owner_is_independent(self, b: Bench, change: dict[str, str]) -> None:
        first = await b.put(name="n", single_flight="k")
        second = await b.put(**{"name": "n", "single_flight": "k", "input_hash": "another", **change})
        assert second != first

    @pytest.mark.parametrize("state", ENDED)
    @scenario
    async def test_a_task_that_has_ended_holds_no_key(self, b: Bench, state: str) -> None:
        first = await b.put(name="n", single_flight="k", conversation="c", generation=1)
        if state == "cancelled":
            await b.store.cancel(first)
        elif state == "superseded":
            await b.store.advance("c", 2, owner="owner")
        else:
            await b.work(first, DONE if state == "succeeded" else FAILED)
        assert await b.state(first) == state
        assert await b.put(name="n", single_flight="k", input_hash="another") != first

    @scenario
    async def test_a_task_that_waits_to_be_tried_again_holds_its_key(self, b: Bench) -> None:
        first = await b.put(name="n", single_flight="k")
        await b.work(first, Ending("failed", code="x", retry_ms=1000))
        assert await b.put(name="n", single_flight="k") == first

    @scenario
    async def test_a_task_that_is_asked_to_cancel_holds_no_key(self, b: Bench) -> None:
        first = await b.running(name="n", single_flight="k")
        await b.store.cancel(first.id, grace_ms=1000)
        second = await b.put(name="n", single_flight="k")
        assert second != first.id
        await b.store.finish(first.lease, DONE)
        assert await b.put(name="n", single_flight="k") == second

    @scenario
    async def test_each_conversation_that_asked_gets_the_result_under_its_own_generation(self, b: Bench) -> None:
        first = await b.heard("c", 1, name="n", single_flight="k")
        for conversation, generation in (("d", 7), ("d", 7), ("c", 1)):
            assert await b.heard(conversation, generation, name="n", single_flight="k") == first
        assert await b.put(name="n", single_flight="k", conversation="e") == first
        await b.work(first)
        for conversation, generation in (("c", 1), ("d", 7)):
            (event,) = await b.events(conversation)
            assert (event.task_id, event.generation, event.conversation) == (first, generation, conversation)
            assert (event.state, event.value) == ("succeeded", DONE.result)
        assert await b.events("e") == []

    @scenario
    async def test_a_task_that_the_request_itself_supersedes_is_not_joined(self, b: Bench) -> None:
        first = await b.put(name="n", single_flight="k", conversation="c", generation=1)
        second = await b.put(name="n", single_flight="k", conversation="c", generation=2, input_hash="another")
        assert second != first
        assert await b.states([first, second]) == ["superseded", "ready"]
