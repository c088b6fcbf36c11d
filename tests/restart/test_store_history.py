"""Earlier versions of a record: all that were saved, none that weren't, until a policy forgets them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from taskstate.errors import ConfigurationError, ConflictError, CorruptRecordError, InvalidValueError, StorageError
from taskstate.restart.secrets import SecretError
from taskstate.restart.store import Facts, RecordStore
from taskstate.storage import MemoryStorage

from .stores import Wrapped, keeps_earlier_version, noted, task


async def saved_times(store: RecordStore, times: int, task_id: str = "t") -> None:
    record = await store.create(task(task_id, phase="0"))
    for number in range(1, times + 1):
        record = await store.save(noted(record, str(number)))


def test_every_saved_version_stays_readable(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store = RecordStore(storage)
        await saved_times(store, 12)
        assert await store.history("t") == list(range(13))
        for version in range(13):
            record = await store.load_version("t", version)
            assert (record.state_version, record.phase) == (version, str(version))
        for version in (13, -1):
            with pytest.raises(StorageError, match=f"^t: there is no state version {version}$"):
                await store.load_version("t", version)

    run(scenario)


def test_versions_are_forgotten_by_a_policy_only(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store = RecordStore(storage)
        await saved_times(store, 9)
        await saved_times(store, 2, "other")
        assert await store.prune("t", keep=3) == list(range(7))
        assert await store.history("t") == [7, 8, 9]
        assert (await store.load_version("t", 7)).phase == "7"
        with pytest.raises(StorageError, match=r"^t: there is no state version 6$"):
            await store.load_version("t", 6)
        assert await store.prune("t", keep=3) == []
        assert await store.history("other") == [0, 1, 2]
        assert await store.prune("t", keep=1) == [7, 8]
        assert await store.history("t") == [9]
        assert (await store.save(noted(await store.load("t"), "10"))).state_version == 10
        assert await store.history("t") == [9, 10]

    run(scenario)


@pytest.mark.parametrize("keep", [0, -1, 1.0, True, None])
@pytest.mark.covers("memory")
def test_a_policy_that_keeps_nothing_is_refused(keep: Any) -> None:
    with pytest.raises(ConfigurationError):
        asyncio.run(RecordStore(MemoryStorage()).prune("t", keep=keep))


def test_a_save_that_was_cut_off_is_never_shown_as_a_saved_version(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        async def cut_off(method: str, key: str) -> None:
            if method == "compare_and_set" and not keeps_earlier_version(method, key):
                raise OSError

        store = RecordStore(storage)
        await saved_times(store, 2)
        before = await store.load("t")
        with pytest.raises(OSError, match=r"^$"):
            await RecordStore(Wrapped(storage, cut_off)).save(noted(before, "lost"))
        assert await storage.list("restart/versions/t/") != []
        assert await store.load("t") == before
        assert await store.history("t") == [0, 1, 2]
        with pytest.raises(StorageError):
            await store.load_version("t", 3)
        await store.save(noted(before, "won"))
        phases = [(await store.load_version("t", version)).phase for version in await store.history("t")]
        assert phases == ["0", "1", "2", "won"]

    run(scenario)


def test_others_see_a_save_as_one_step(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        seen: list[tuple[int, list[int]]] = []
        plain = RecordStore(storage)

        async def look(method: str, key: str) -> None:
            if method == "compare_and_set":
                record = await plain.load("t")
                history = await plain.history("t")
                assert [(await plain.load_version("t", version)).state_version for version in history] == history
                seen.append((record.state_version, history))

        record = await plain.create(task())
        store = RecordStore(Wrapped(storage, look))
        record = await store.save(noted(record, "1"))
        await store.save(noted(record, "2"))
        assert seen == [(0, [0]), (0, [0]), (1, [0, 1]), (1, [0, 1])]

    run(scenario)


def test_a_deleted_task_leaves_nothing_and_a_new_one_of_its_id_has_no_past(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store = RecordStore(storage)
        await saved_times(store, 4)
        await saved_times(store, 1, "tt")
        await store.delete("t")
        assert await store.tasks() == ["tt"]
        assert all("/tt" in key for key in await storage.list("restart/"))
        await saved_times(store, 1)
        assert await store.history("t") == [0, 1]
        await store.delete("t")
        await store.delete("t")
        assert await store.history("tt") == [0, 1]

    run(scenario)


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "begun anew"])
@pytest.mark.covers("memory")
def test_a_slow_save_brings_nothing_of_a_deleted_task_back(again: bool) -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        store = RecordStore(storage)
        record = await store.create(task(phase="private"))

        async def deleted_meanwhile(method: str, key: str) -> None:
            if keeps_earlier_version(method, key):
                await store.delete("t")
                if again:
                    await saved_times(store, 2)

        with pytest.raises(ConflictError):
            await RecordStore(Wrapped(storage, deleted_meanwhile)).save(noted(record, "late"))
        assert await store.history("t") == ([0, 1, 2] if again else [])
        assert "private" not in repr(storage._records)

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_what_a_killed_save_left_of_a_deleted_task_is_no_version_of_a_new_one() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        store = RecordStore(storage)
        record = await store.create(task(phase="private"))

        async def deleted_meanwhile(method: str, key: str) -> None:
            if keeps_earlier_version(method, key):
                await store.delete("t")
            elif method == "compare_and_set":
                raise OSError

        with pytest.raises(OSError, match=r"^$"):
            await RecordStore(Wrapped(storage, deleted_meanwhile)).save(noted(record, "late"))
        assert "private" in repr(storage._records)
        await saved_times(store, 2)
        assert [(await store.load_version("t", version)).phase for version in (0, 1, 2)] == ["0", "1", "2"]
        await store.prune("t", keep=9)
        assert "private" not in repr(storage._records)

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_deleting_goes_on_when_a_worker_saves_meanwhile() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        store = RecordStore(storage)
        await saved_times(store, 1)
        saves = iter(["first", "second"])

        async def busy(method: str, key: str) -> None:
            if method == "compare_and_delete" and (phase := next(saves, None)):
                await store.save(noted(await store.load("t"), phase))

        await RecordStore(Wrapped(storage, busy)).delete("t")
        assert await storage.list("") == []

    asyncio.run(scenario())


@pytest.mark.covers("memory")
def test_pruning_also_removes_what_saves_of_an_earlier_task_left() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        store = RecordStore(storage)
        await saved_times(store, 2)
        await storage.set("restart/versions/t/gone/7", {"incarnation": "gone", "record": {}})
        assert await store.history("t") == [0, 1, 2]
        assert await store.prune("t", keep=5) == []
        assert await storage.list("restart/versions/t/gone/") == []
        assert await store.history("t") == [0, 1, 2]

    asyncio.run(scenario())


def test_facts_are_shared_by_tasks_and_apart_from_their_records(run: Any) -> None:
    async def scenario(storage: Any) -> None:
        store, facts = RecordStore(storage), Facts(storage, clock=lambda: 7)
        await store.create(task("room/4"))
        await facts.put("room/4", {"seats": 12}, source="supplier-review-22: artifact H1")
        await facts.put("room", None, source="the house")
        found = await facts.get("room/4")
        assert found == ({"seats": 12}, "supplier-review-22: artifact H1", 7)
        assert await facts.list() == ["room", "room/4"]
        assert await facts.list("room/") == ["room/4"]
        assert await store.tasks() == ["room/4"]
        await store.delete("room/4")
        assert await facts.get("room/4") == found
        await facts.delete("room/4")
        assert await facts.get("room/4") is None
        assert await facts.get("room") == (None, "the house", 7)

    run(scenario)


@pytest.mark.covers("memory")
def test_a_fact_says_where_it_is_from_and_is_no_secret() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        facts = Facts(storage)
        for source in ("", " ", None):
            with pytest.raises(InvalidValueError):
                await facts.put("k", 1, source=source)  # type: ignore[arg-type]
        with pytest.raises(SecretError):
            await facts.put("db_password", "xyzzy", source="s")
        assert await storage.list("") == []
        await Facts(storage, secrets="redact").put("db_password", "xyzzy", source="s")
        assert "xyzzy" not in repr(storage._records)
        await storage.set("restart/facts/k", 1)
        with pytest.raises(CorruptRecordError):
            await facts.get("k")

    asyncio.run(scenario())
