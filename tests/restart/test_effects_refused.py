"""Writes to the outside that are refused: their body doesn't run, and nothing is settled by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from taskstate.errors import (
    ConflictError,
    ContradictionError,
    InvalidRecordError,
    LifecycleError,
    StorageError,
    TransitionError,
)
from taskstate.restart import RestartRecord
from taskstate.restart.secrets import SecretError
from taskstate.restart.store import RecordStore
from taskstate.restart.transitions import SettledEffect
from taskstate.storage import MemoryStorage

from .stores import Wrapped, keeps_earlier_version, mail, task

APPLIED = SettledEffect(state="applied", evidence="receipt:1")
NOT_APPLIED = SettledEffect(state="not_applied", evidence="answer:1")


@pytest.fixture
def run(run: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Runs a scenario with a store on each storage."""
    return lambda scenario: run(lambda opened: scenario(RecordStore(opened, clock=lambda: 5)))


def state(record: RestartRecord, effect_id: str = "e") -> tuple[str, str | None]:
    effect = record.pending_effects[effect_id]
    return effect.state, effect.evidence


@pytest.mark.parametrize(
    "fields",
    [{"authorized": []}, {"authorized": [{"kind": "order"}]}, {"authorized": [{"kind": "mail", "target": "bank"}]}],
    ids=["nothing", "another kind", "another target"],
)
def test_a_write_that_is_not_authorized_is_never_made(run: Any, fields: dict[str, Any]) -> None:
    async def scenario(store: RecordStore) -> None:
        record = await store.create(task(**fields))
        with pytest.raises(TransitionError, match="aren't authorized"):
            async with mail(store, record):
                raise AssertionError("the body ran")
        assert await store.load("t") == record
        assert await store.history("t") == [0]

    run(scenario)


@pytest.mark.covers("memory")
def test_a_write_is_not_made_by_a_worker_whose_record_is_out_of_date() -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        old = await store.create(task())
        new = await store.resume("t")
        with pytest.raises(ConflictError):
            async with mail(store, old):
                raise AssertionError("the body ran")
        assert await store.load("t") == new

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_a_write_is_not_made_when_it_can_not_be_recorded_first() -> None:
    async def scenario() -> None:
        async def full(method: str, key: str) -> None:
            if keeps_earlier_version(method, key):
                raise StorageError(key, "the disk is full")

        storage = MemoryStorage()
        record = await RecordStore(storage).create(task())
        with pytest.raises(StorageError, match="the disk is full"):
            async with mail(RecordStore(Wrapped(storage, full)), record):
                raise AssertionError("the body ran")
        assert await RecordStore(storage).load("t") == record

    asyncio.run(scenario())


@pytest.mark.parametrize("told", [None, APPLIED, NOT_APPLIED], ids=["unknown", "applied", "not applied"])
@pytest.mark.covers("memory")
def test_an_effect_is_never_tried_twice(told: SettledEffect | None) -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        async with mail(store, await store.create(task())) as write:
            if told is not None:
                write._tell(told.state, told.evidence)
        record = await store.resume("t")
        with pytest.raises(TransitionError, match="recorded already"):
            async with mail(store, record):
                raise AssertionError("the body ran")
        again = mail(store, record, "again", idempotency_key="key-e")
        if told is NOT_APPLIED:  # then another try is another effect
            async with again:
                again.applied("receipt:2")
            assert state(again.record, "again") == ("applied", "receipt:2")
            return
        with pytest.raises(TransitionError, match="effect e is the same write"):
            async with again:
                raise AssertionError("the body ran")
        assert await store.load("t") == record

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_a_body_that_says_two_things_is_refused_the_second() -> None:
    async def scenario() -> None:
        async def work(record: RestartRecord) -> None:
            async with mail(store, record) as write:
                write.applied("receipt:1")
                write.applied("receipt:1")
                write.not_applied("answer:1")

        store = RecordStore(MemoryStorage())
        record = await store.create(task())
        with pytest.raises(ContradictionError, match="told as applied, now as not_applied"):
            await work(record)
        assert state(await store.load("t")) == ("applied", "receipt:1")

    asyncio.run(scenario())


@pytest.mark.parametrize("evidence", ["", " ", None, 1])
@pytest.mark.covers("memory")
def test_nothing_is_settled_without_evidence(evidence: Any) -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        record = await store.create(task())
        with pytest.raises(InvalidRecordError, match="evidence"):
            async with mail(store, record) as write:
                write.applied(evidence)
        assert state(await store.load("t")) == ("unknown", None)

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_a_word_about_an_effect_outside_of_its_block_is_refused() -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        write = mail(store, await store.create(task()))
        with pytest.raises(LifecycleError):
            write.applied("receipt:1")
        async with write:
            pass
        with pytest.raises(LifecycleError, match=r"use settle\(\)"):
            write.applied("receipt:1")
        with pytest.raises(TransitionError, match="recorded already"):
            await write.__aenter__()
        assert state(await store.load("t")) == ("unknown", None)

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_arguments_that_can_not_be_recorded_are_refused_before_anything_is_stored() -> None:
    async def scenario() -> None:
        token = "ghp_" + "a1" * 18
        store = RecordStore(MemoryStorage(), secrets="redact")
        record = await store.create(task())
        with pytest.raises(InvalidRecordError, match="request_hash"):
            mail(store, record, request_hash="no hash")
        for effect_id in ("", " ", "x" * 201, "a\nb"):
            with pytest.raises(InvalidRecordError, match="effect_id"):
                mail(store, record, effect_id)
        for fields in ({"target": token}, {"idempotency_key": token}):
            with pytest.raises(SecretError):
                async with mail(store, record, **fields):
                    raise AssertionError("the body ran")
        assert await store.load("t") == record
        async with mail(store, record) as write:
            write.applied(f"answer with {token}")
        assert state(write.record) == ("applied", "answer with [redacted]")

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_a_receipt_that_is_a_secret_is_refused_and_leaves_the_effect_unknown() -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        record = await store.create(task())
        with pytest.raises(SecretError):
            async with mail(store, record) as write:
                write.applied("ghp_" + "a1" * 18)
        assert state(await store.load("t")) == ("unknown", None)

    asyncio.run(scenario())
