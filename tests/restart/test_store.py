"""The store of restart records: who may write, what stays readable, and whose it is."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from taskstate.errors import (
    ConfigurationError,
    ConflictError,
    CorruptRecordError,
    InvalidRecordError,
    StorageError,
    TransitionError,
)
from taskstate.restart import RestartRecord, change
from taskstate.restart.secrets import SecretError
from taskstate.restart.store import RecordStore
from taskstate.restart.transitions import BeginEffect, BeginUnit, SetStatus
from taskstate.storage import MemoryStorage, ScopedStorage

from .stores import DISKS, Wrapped, keeps_earlier_version, noted, open_storage, sha, started, task, until_saved
from .support import effect_part, review

IDS = ["../x", "/abs", "a/b", "a", "A", "a%2Fb", "%", ".", "..", "...", "a.", "a/", "b" * 200, "é" * 200, "records/a"]


def test_a_record_is_loaded_as_it_was_created_and_saved(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store = RecordStore(storage)
        created = await store.create(review())
        assert created == await store.load("supplier-review-22") == review()
        saved = await store.save(noted(created, "comparing"))
        assert saved == await store.load("supplier-review-22")
        assert (saved.state_version, saved.phase, saved.generation) == (9, "comparing", 1)
        assert await store.tasks() == ["supplier-review-22"]

    run(scenario)


def test_a_task_is_created_once(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store = RecordStore(storage)
        await store.create(task())
        with pytest.raises(ConflictError, match=r"^t: there is such a task already$"):
            await store.create(task(phase="mine"))
        assert (await store.load("t")).phase == ""

    run(scenario)


def test_a_save_over_another_version_is_refused_and_overwrites_nothing(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store = RecordStore(storage)
        first = await store.create(task())
        saved = await store.save(noted(first, "mine"))
        with pytest.raises(ConflictError, match=r"^t: isn't at state version 0"):
            await store.save(noted(first, "theirs"))
        with pytest.raises(ConflictError):
            await store.save(noted(saved, "ahead").model_copy(update={"state_version": 7}))
        assert await store.load("t") == saved
        assert await store.history("t") == [0, 1]

    run(scenario)


def test_of_two_who_resume_from_one_state_the_second_is_refused(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        gate = asyncio.Barrier(2)

        async def together(method: str, key: str) -> None:
            if keeps_earlier_version(method, key):  # both have read the same record, and neither has replaced it
                await gate.wait()

        await RecordStore(storage).create(task())
        resumers = [RecordStore(Wrapped(storage, together)) for _ in range(2)]
        outcomes = await asyncio.gather(*(each.resume("t") for each in resumers), return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {RestartRecord, ConflictError}
        now = await RecordStore(storage).load("t")
        assert (now.generation, now.state_version) == (2, 1)

    run(scenario)


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.covers(kind)) for kind in DISKS])
def test_of_two_processes_that_resume_a_task_the_second_is_refused(kind: str, tmp_path: Path) -> None:
    async def prepare() -> None:
        async with open_storage(kind, tmp_path) as storage:
            await RecordStore(storage).create(task())

    async def left() -> RestartRecord:
        async with open_storage(kind, tmp_path) as storage:
            return await RecordStore(storage).load("t")

    asyncio.run(prepare())
    with ExitStack() as stack:
        workers = [stack.enter_context(started("resume.py", kind, tmp_path, name)) for name in ("a", "b")]
        assert [worker.stdout.readline() for worker in workers if worker.stdout] == ["saw 0\n", "saw 0\n"]
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        told = [json.loads(worker.communicate(timeout=60)[0]) for worker in workers]
    winner = next(each["name"] for each in told if each["outcome"] == "resumed")
    assert sorted(each["outcome"] for each in told) == ["ConflictError", "resumed"]
    now = asyncio.run(left())
    assert (now.generation, now.state_version, now.phase) == (2, 2, winner)


def test_a_worker_whose_task_was_taken_over_can_save_no_more(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store = RecordStore(storage)
        old = await store.create(task(completion_rule={"units": {"u": {}}}))
        old = await store.save(change(old, BeginUnit(unit_id="u")))
        new = await store.resume("t")
        assert (new.generation, new.completion_rule.units["u"].begun) == (2, 1)
        with pytest.raises(ConflictError):
            await store.save(noted(old, "still here"))
        # Not even with the right number: the generation is checked too.
        with pytest.raises(ConflictError):
            await store.save(noted(old, "still here").model_copy(update={"state_version": new.state_version}))
        assert await store.load("t") == new

    run(scenario)


def test_who_resumes_a_task_that_moved_on_since_they_looked_is_refused(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store = RecordStore(storage)
        seen = await store.create(task())
        taken = await store.resume("t", at=seen.state_version)
        with pytest.raises(ConflictError):
            await store.resume("t", at=seen.state_version)
        assert await store.load("t") == taken

    run(scenario)


@pytest.mark.covers("memory")
def test_resuming_opens_a_paused_task_and_refuses_an_abandoned_one() -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        record = await store.save(change(await store.create(task()), SetStatus(status="paused")))
        record = await store.resume("t")
        assert record.status == "open"
        await store.save(change(record, SetStatus(status="abandoned")))
        with pytest.raises(TransitionError, match=r"^resume:t: the task is abandoned$"):
            await store.resume("t")

    asyncio.run(scenario())


def test_32_tasks_that_each_add_an_effect_at_once_all_get_it_in(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        async def slowly(method: str, key: str) -> None:
            await asyncio.sleep(0)

        stores = [RecordStore(Wrapped(storage, slowly)) for _ in range(4)]
        store = stores[0]
        await store.create(task(authorized=[{"kind": "order"}]))

        async def add(number: int) -> None:
            store = stores[number % 4]
            begun = BeginEffect(
                effect_id=f"e{number}", effect=effect_part(idempotency_key=f"k{number}", request_hash=sha(f"r{number}"))
            )
            await until_saved(store, "t", lambda record: store.save(change(record, begun)))

        await asyncio.gather(*map(add, range(32)))
        record = await store.load("t")
        assert set(record.pending_effects) == {f"e{number}" for number in range(32)}
        assert record.state_version == 32
        # Each of the versions has one more than the one before.
        versions = [await store.load_version("t", version) for version in await store.history("t")]
        assert [len(version.pending_effects) for version in versions] == list(range(33))

    run(scenario)


def test_no_id_leads_to_another_task_or_out_of_the_store(run: Any, tmp_path: Path) -> None:
    async def scenario(storage: Any) -> None:
        await storage.set("x", "not a task's")
        store = RecordStore(storage)
        for number, task_id in enumerate(IDS):
            record = await store.create(task(task_id, phase=str(number)))
            await store.save(noted(record, f"{number} again"))
        assert await store.tasks() == sorted(IDS)
        for number, task_id in enumerate(IDS):
            assert await store.history(task_id) == [0, 1]
            record = await store.load(task_id)
            assert (record.task_id, record.phase) == (task_id, f"{number} again")
            assert (await store.load_version(task_id, 0)).phase == str(number)
        for number, task_id in enumerate(IDS):
            await store.delete(task_id)
            assert await store.tasks() == sorted(IDS[number + 1 :])
        assert await storage.list("") == ["x"]

    run(scenario)
    assert {path.name for path in tmp_path.iterdir()} <= {"state"}


@pytest.mark.covers("memory")
def test_a_record_under_another_tasks_key_is_shown_to_nobody() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        store = RecordStore(storage)
        await store.create(task("mine", phase="private"))
        await storage.set("restart/records/theirs", await storage.get("restart/records/mine"))
        with pytest.raises(CorruptRecordError, match=r"^theirs: what is stored is the record of another task$"):
            await store.load("theirs")

    asyncio.run(scenario())


@pytest.mark.parametrize("stored", [None, 1, [], {}, {"incarnation": "i"}, {"incarnation": 1, "record": {}}])
@pytest.mark.covers("memory")
def test_what_is_no_record_is_refused_and_stays_as_it_is(stored: Any) -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        await storage.set("restart/records/t", stored)
        store = RecordStore(storage)
        for call in (store.load("t"), store.resume("t"), store.save(task()), store.history("t")):
            with pytest.raises(CorruptRecordError):
                await call
        with pytest.raises(ConflictError):
            await store.create(task())
        assert await storage.get("restart/records/t") == stored

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_a_record_that_could_not_be_read_back_is_not_stored() -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        record = await store.create(task())
        with pytest.raises(InvalidRecordError, match="objective_history"):
            await store.save(record.model_copy(update={"objective_history": (record.objective,)}))
        assert await store.load("t") == record

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_a_secret_is_refused_or_redacted_before_it_is_stored() -> None:
    async def scenario() -> None:
        token = "ghp_" + "a1" * 18
        storage = MemoryStorage()
        store = RecordStore(storage)
        record = await store.create(task())
        with pytest.raises(SecretError) as caught:
            await store.save(noted(record, f"with {token}"))
        assert token not in str(caught.value)
        redacted = await RecordStore(storage, secrets="redact").save(noted(record, f"with {token}"))
        assert redacted == await store.load("t")
        assert token not in repr(storage._records)
        for secrets in ("refuse", "redact"):
            with pytest.raises(SecretError):  # another id would be another task
                await RecordStore(storage, secrets=secrets).create(task(token))
        with pytest.raises(ConfigurationError):
            RecordStore(storage, secrets="no")  # type: ignore[arg-type]

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_a_storage_without_compare_and_set_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="ScopedStorage has none"):
        RecordStore(ScopedStorage(MemoryStorage(), "layer", "scope"))


@pytest.mark.covers("memory")
def test_a_task_that_is_not_there_is_told_from_a_damaged_one() -> None:
    async def scenario() -> None:
        store = RecordStore(MemoryStorage())
        for call in (store.load("t"), store.resume("t"), store.save(task()), store.load_version("t", 0)):
            with pytest.raises(StorageError, match=r"^t: there is no such task$"):
                await call
        assert await store.history("t") == []
        assert await store.tasks() == []
        await store.delete("t")

    asyncio.run(scenario())
