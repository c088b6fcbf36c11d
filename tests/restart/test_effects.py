"""Writes to the outside: what is stored of them, whatever becomes of the body and of the task meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from taskstate.errors import (
    ConflictError,
    ContradictionError,
    StorageError,
)
from taskstate.restart import RestartRecord
from taskstate.restart.effects import settle
from taskstate.restart.store import RecordStore
from taskstate.restart.transitions import SettledEffect
from taskstate.storage import MemoryStorage

from .stores import HASH, Wrapped, keeps_earlier_version, mail, noted, task, until_saved

APPLIED = SettledEffect(state="applied", evidence="receipt:1")
NOT_APPLIED = SettledEffect(state="not_applied", evidence="answer:1")


@pytest.fixture
def run(run: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Runs a scenario with a store on each storage."""
    return lambda scenario: run(lambda opened: scenario(RecordStore(opened, clock=lambda: 5)))


def state(record: RestartRecord, effect_id: str = "e") -> tuple[str, str | None]:
    effect = record.pending_effects[effect_id]
    return effect.state, effect.evidence


def test_an_effect_is_stored_as_pending_before_its_body_and_with_its_receipt_after_it(run: Any) -> None:
    async def scenario(store: RecordStore) -> None:
        async with mail(store, await store.create(task())) as write:
            begun = await store.load("t")
            assert begun == write.record
            assert begun.pending_effects["e"].model_dump(exclude_none=True) == {
                "kind": "mail",
                "target": "firm",
                "idempotency_key": "key-e",
                "request_hash": HASH,
                "state": "pending",
                "since": 5,
            }
            write.applied("receipt:1")
            assert state(await store.load("t")) == ("pending", None)
        assert await store.load("t") == write.record
        assert state(write.record) == ("applied", "receipt:1")
        assert write.record.state_version == 2
        await store.save(noted(write.record, "goes on"))

    run(scenario)


def test_32_effects_of_one_task_at_once_are_all_settled(run: Any) -> None:
    async def scenario(store: RecordStore) -> None:
        await store.create(task())
        ran: list[int] = []

        async def send(number: int) -> None:
            async def once(record: RestartRecord) -> None:
                async with mail(store, record, f"e{number}") as write:
                    ran.append(number)
                    await asyncio.sleep(0)
                    write.applied(f"receipt:{number}")

            await until_saved(store, "t", once)

        await asyncio.gather(*map(send, range(32)))
        record = await store.load("t")
        assert sorted(ran) == list(range(32))
        assert {key: state(record, key) for key in record.pending_effects} == {
            f"e{number}": ("applied", f"receipt:{number}") for number in range(32)
        }
        assert record.state_version == 64

    run(scenario)


@pytest.mark.parametrize("told", [APPLIED, NOT_APPLIED], ids=["applied", "not applied"])
def test_a_receipt_that_comes_after_the_effect_was_lost_settles_it(run: Any, told: SettledEffect) -> None:
    async def scenario(store: RecordStore) -> None:
        async with mail(store, await store.create(task())) as write:
            pass
        assert state(write.record) == ("unknown", None)
        assert state(await store.load("t")) == ("unknown", None)
        record = await settle(store, "t", "e", told)
        assert state(record) == state(await store.load("t")) == (told.state, told.evidence)
        assert await settle(store, "t", "e", told) == record

    run(scenario)


@pytest.mark.parametrize(("first", "then"), [(APPLIED, NOT_APPLIED), (NOT_APPLIED, APPLIED)])
def test_a_receipt_that_contradicts_what_is_recorded_overwrites_nothing(
    run: Any, first: SettledEffect, then: SettledEffect
) -> None:
    async def scenario(store: RecordStore) -> None:
        write = mail(store, await store.create(task()))
        await write.__aenter__()
        settled = await settle(store, "t", "e", first)
        write._tell(then.state, then.evidence)
        with pytest.raises(ContradictionError, match=f"recorded as {first.state}, now said to be {then.state}"):
            await write.__aexit__(None, None, None)
        with pytest.raises(ContradictionError):
            await settle(store, "t", "e", then)
        assert await store.load("t") == settled
        assert state(settled) == (first.state, first.evidence)

    run(scenario)


@pytest.mark.parametrize("error", [ValueError, TimeoutError, KeyboardInterrupt, asyncio.CancelledError])
def test_an_error_in_the_body_leaves_the_effect_unknown_and_goes_on(run: Any, error: type[BaseException]) -> None:
    async def scenario(store: RecordStore) -> None:
        raised = error("mine")
        write = mail(store, await store.create(task()))
        with pytest.raises(error) as caught:
            async with write:
                raise raised
        assert caught.value is raised
        assert await store.load("t") == write.record
        assert state(write.record) == ("unknown", None)

    run(scenario)


def test_a_cancelled_call_leaves_the_effect_unknown(run: Any) -> None:
    async def scenario(store: RecordStore) -> None:
        calling = asyncio.Event()
        record = await store.create(task())

        async def work() -> None:
            async with mail(store, record):
                calling.set()
                await asyncio.sleep(60)

        working = asyncio.create_task(work())
        await calling.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert state(await store.load("t")) == ("unknown", None)

    run(scenario)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 6, 9, 15])
def test_a_cancellation_before_the_body_leaves_an_effect_that_was_never_made_or_a_pending_one(
    run: Any, steps: int
) -> None:
    async def scenario(store: RecordStore) -> None:
        record = await store.create(task())
        ran = False

        async def work() -> None:
            nonlocal ran
            async with mail(store, record):
                ran = True
                await asyncio.sleep(60)

        working = asyncio.create_task(work())
        for _ in range(steps):
            await asyncio.sleep(0)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        states = [effect.state for effect in (await store.load("t")).pending_effects.values()]
        assert states in ([["unknown"]] if ran else [[], ["pending"]])

    run(scenario)


def test_a_call_that_takes_too_long_leaves_the_effect_unknown(run: Any) -> None:
    async def scenario(store: RecordStore) -> None:
        record = await store.create(task())
        with pytest.raises(TimeoutError):
            async with mail(store, record), asyncio.timeout(0.01):
                await asyncio.sleep(60)
        assert state(await store.load("t")) == ("unknown", None)

    run(scenario)


def test_an_error_after_the_receipt_keeps_the_receipt(run: Any) -> None:
    async def scenario(store: RecordStore) -> None:
        async def work(record: RestartRecord) -> None:
            async with mail(store, record) as write:
                write.applied("receipt:1")
                raise ValueError("mine")

        record = await store.create(task())
        with pytest.raises(ValueError, match="mine"):
            await work(record)
        assert state(await store.load("t")) == ("applied", "receipt:1")

    run(scenario)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.covers("memory")
def test_a_cancellation_while_the_receipt_is_stored_waits_for_it(times: int) -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        plain = RecordStore(storage)
        storing, go_on = asyncio.Event(), asyncio.Event()

        async def slow(method: str, key: str) -> None:
            if method == "compare_and_set" and state(await plain.load("t"), "e")[0] == "pending":
                storing.set()
                await go_on.wait()

        async def work(record: RestartRecord) -> None:
            async with mail(plain, record) as write:
                write.applied("receipt:1")
                write._store = RecordStore(Wrapped(storage, slow))

        working = asyncio.create_task(work(await plain.create(task())))
        await storing.wait()
        for _ in range(times):
            working.cancel()
            await asyncio.sleep(0)
        assert not working.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert state(await plain.load("t")) == ("applied", "receipt:1")

    asyncio.run(scenario())


@pytest.mark.parametrize("told", [True, False], ids=["receipt", "lost"])
@pytest.mark.covers("memory")
def test_a_worker_that_lost_its_task_meanwhile_leaves_the_outcome_and_gets_no_record_to_go_on_with(told: bool) -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        write = mail(store, await store.create(task()))
        await write.__aenter__()
        taken = await store.save(noted(await store.resume("t"), "theirs"))
        if told:
            write.applied("receipt:1")
        with pytest.raises(ConflictError, match="another worker took the task over"):
            await write.__aexit__(None, None, None)
        now = await store.load("t")
        assert state(now) == (("applied", "receipt:1") if told else ("unknown", None))
        assert (now.generation, now.phase, now.state_version) == (2, "theirs", taken.state_version + 1)
        with pytest.raises(ConflictError):
            await store.save(noted(write.record, "mine"))

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_what_others_reconciled_meanwhile_stays_when_the_body_says_nothing() -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        async with mail(store, await store.create(task())) as write:
            await settle(store, "t", "e", APPLIED)
        assert state(write.record) == ("applied", "receipt:1")
        assert await store.load("t") == write.record

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_the_error_of_the_body_is_kept_when_the_outcome_can_not_be_stored(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        full = False

        async def fill(method: str, key: str) -> None:
            if full and keeps_earlier_version(method, key):
                raise StorageError("k", "the disk is full")

        async def work(record: RestartRecord) -> None:
            nonlocal full
            async with mail(store, record):
                full = True
                raise ValueError("mine")

        store = RecordStore(Wrapped(storage, fill))
        record = await store.create(task())
        with pytest.raises(ValueError, match="mine") as caught:
            await work(record)
        assert caught.value.__notes__ == ["k: the disk is full"]
        assert state(await store.load("t")) == ("pending", None)

    with caplog.at_level(logging.WARNING, "taskstate"):
        asyncio.run(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        "how an effect ended was not recorded as it should be: StorageError"
    ]
