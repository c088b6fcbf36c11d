"""Threads seen from outside: listed, read, carried elsewhere, deleted, pruned."""

from __future__ import annotations

import asyncio
import copy
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskstate.errors import ConflictError, CorruptRecordError, InvalidValueError
from taskstate.harness import Harness, ThreadInfo
from taskstate.storage import FileStorage, MemoryStorage, SQLiteStorage

from .support import KEY, Notes, running, task_layer, tools

Open = Callable[[], Any]
# Names that a careless prefix, pattern or path would mix up.
NEIGHBOURS = ["t", "t/u", "t%", "t_", "T", "t2", "tt", "t/state", "../t", "", "__global__", "日本", "t*"]


def opened(storage: Any, *layers: Any, **options: Any) -> Harness:
    return Harness(storage=storage, layers=layers or (task_layer(),), **options)


async def fill(harness: Harness, *threads: str) -> None:
    for thread in threads:
        async with harness.execution(thread_id=thread) as run:
            await tools(run).set_task_data(key="thread", value=thread)
            await run.store()


@pytest.mark.parametrize("storage", ["memory", "file", "sqlite", "postgres"], indirect=True)
def test_threads_that_have_state_are_listed(open_storage: Open) -> None:
    async def scenario() -> None:
        async with opened(open_storage(), task_layer(), Notes(), task_layer(id="all", scope="global")) as harness:
            assert await harness.threads.list() == []
            await fill(harness, "b", "a")
            found = await harness.threads.list()
            assert found == [
                ThreadInfo("a", ("notes", "task-state"), 2, 4),
                ThreadInfo("b", ("notes", "task-state"), 2, 2),
            ]

    asyncio.run(scenario())


def test_a_thread_is_read_without_running_it(open_storage: Open) -> None:
    async def scenario() -> None:
        async with opened(open_storage(), task_layer(), Notes()) as harness:
            await fill(harness, "t")
            before = await harness.threads.read("t")
            assert before["task-state"]["data"] == {"thread": "t", "__outcome": "success"}
            assert before["notes"] == {"seen": [None, None]}
            assert await harness.threads.read("unknown") == {}
            before["task-state"]["data"].clear()
            assert (await harness.threads.read("t"))["task-state"]["data"]
            assert [info.checkpoints for info in await harness.threads.list()] == [2]

    asyncio.run(scenario())


def test_neighbours_in_name_are_threads_of_their_own(open_storage: Open) -> None:
    async def scenario() -> None:
        async with opened(open_storage()) as harness:
            await fill(harness, *NEIGHBOURS)
            assert [info.thread_id for info in await harness.threads.list()] == sorted(NEIGHBOURS)
            for thread in NEIGHBOURS:
                assert (await harness.threads.read(thread))["task-state"]["data"]["thread"] == thread
            left = list(NEIGHBOURS)
            for thread in NEIGHBOURS:
                assert await harness.threads.delete(thread) == 1
                left.remove(thread)
                assert [info.thread_id for info in await harness.threads.list()] == sorted(left)
            assert await open_storage().list("") == []

    asyncio.run(scenario())


def test_a_deleted_thread_leaves_nothing_and_starts_empty(
    storage: str, open_storage: Open, raw_bytes: Callable[[], bytes], tmp_path: Path
) -> None:
    # Reported of another library as aegra/aegra#288: checkpoints and blobs stayed behind.
    class Filing(Notes):
        async def init(self, storage: Any) -> Any:
            for number in range(10):
                await storage.set(f"blob/{number}", {"secret": "GONE-SOON"})
            return await super().init(storage)

    async def scenario() -> None:
        async with opened(open_storage(), task_layer(), Filing()) as harness:
            await fill(harness, "other", "t")
            for _ in range(10):
                async with harness.execution(thread_id="t") as run:
                    await tools(run).set_task_data(key="blob", value="GONE-SOON")
                    await run.in_parallel([lambda child: tools(child).record_artifact(path="x")] * 2)
            assert await harness.threads.delete("t") == 12
            assert await harness.threads.delete("t") == 0
            assert await harness.threads.read("t") == {}
            assert {key.split("/")[2] for key in await open_storage().list("")} == {"other"}
            await harness.threads.delete("other")
            assert await open_storage().list("") == []
            if storage == "file":
                assert b"GONE-SOON" not in raw_bytes()
                assert [path.name for path in (tmp_path / "state").iterdir()] == [".lock"]
            async with harness.execution(thread_id="t") as run:
                assert run.state("task-state") == {"checkpoints": [], "files": [], "data": {}}

    asyncio.run(scenario())


@pytest.mark.parametrize("target", [MemoryStorage, FileStorage, SQLiteStorage])
def test_an_exported_thread_is_the_same_after_its_import(open_storage: Open, target: Any, tmp_path: Path) -> None:
    value = {"numbers": [1, 1.0, -0.0, 2**64 - 1, None, True], "text": "日本\u2028👩‍👩‍👧", "10": 1, "9": {"": []}}

    class Filing(Notes):
        async def init(self, storage: Any) -> Any:
            await storage.set("a/b", [1])
            await storage.set("", {"empty": "name"})
            return await super().init(storage)

    async def scenario() -> None:
        layers = [task_layer(), Filing("own/layer")]
        async with opened(open_storage(), *layers) as harness:
            async with harness.execution(thread_id="t/1") as run:
                await tools(run).set_task_data(key="value", value=value)
                await run.store("r")
            document = await harness.threads.export("t/1")
        assert document["format"] == "taskstate.thread"
        assert document["threadId"] == "t/1"
        place = () if target is MemoryStorage else (tmp_path / "copy",)
        async with opened(target(*place), *layers) as other:
            kept = copy.deepcopy(document)
            assert await other.threads.import_(document) == "t/1"
            assert document == kept
            again = await other.threads.export("t/1")
            assert repr(again) == repr(document)
            assert await other.threads.import_(document, thread_id="t%2") == "t%2"
            assert (await other.threads.export("t%2"))["layers"] == document["layers"]
            async with other.execution(thread_id="t/1") as run:
                assert repr(tools(run).data["value"]) == repr(value)

    asyncio.run(scenario())


def test_an_import_replaces_only_what_it_is_allowed_to(open_storage: Open) -> None:
    async def scenario() -> None:
        async with opened(open_storage(), task_layer(), Notes()) as harness:
            await fill(harness, "a", "b")
            document = await harness.threads.export("a")
            del document["layers"]["notes"]
            before = await harness.threads.read("b")
            with pytest.raises(ConflictError, match="has state already"):
                await harness.threads.import_(document, thread_id="b")
            assert await harness.threads.read("b") == before
            await harness.threads.import_(document, thread_id="b", overwrite=True)
            assert await harness.threads.read("b") == {"task-state": document["layers"]["task-state"]["state"]}

    asyncio.run(scenario())


GOOD: dict[str, Any] = {
    "format": "taskstate.thread",
    "schemaVersion": 1,
    "threadId": "t",
    "layers": {"task-state": {"state": {"checkpoints": [], "files": [], "data": {}}}},
}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (None, "document"),
        ([], "document"),
        ("text", "document"),
        ({}, "document.format"),
        ({"format": "other"}, "document.format"),
        ({"schemaVersion": 2}, "document.schemaVersion"),
        ({"schemaVersion": True}, "document.schemaVersion"),
        ({"schemaVersion": "1"}, "document.schemaVersion"),
        ({"threadId": 7}, "document.threadId"),
        ({"threadId": None}, "document.threadId"),
        ({"threadId": "\ud83d"}, "document.threadId"),
        ({"layers": None}, "document.layers"),
        ({"layers": {"a": 1}}, "document.layers"),
        ({"layers": {"": {"state": {}}}}, "document.layers"),
        ({"layers": {"task-state": {"state": {"files": 7}}}}, "document.layers.task-state.state.files"),
        ({"layers": {"task-state": {"state": {"files": [1]}}}}, "document.layers.task-state.state.files[0]"),
        (
            {"layers": {"task-state": {"state": {"checkpoints": [{}]}}}},
            "document.layers.task-state.state.checkpoints[0]",
        ),
        ({"layers": {"task-state": {"state": [1]}}}, "document.layers.task-state.state"),
        ({"layers": {"a": {"state": {"x": float("nan")}}}}, "document.layers.a.state.x"),
        ({"layers": {"a": {"state": {1: 2}}}}, "document.layers.a.state"),
    ],
    ids=str,
)
def test_garbage_is_not_imported(change: Any, path: str) -> None:
    document = {**GOOD, **change} if type(change) is dict and change else change

    async def scenario() -> None:
        storage = MemoryStorage()
        async with opened(storage) as harness:
            with pytest.raises(InvalidValueError) as caught:
                await harness.threads.import_(document)
            assert caught.value.path.startswith(path)
            assert await storage.list("") == []
            assert await harness.threads.import_(GOOD) == "t"

    asyncio.run(scenario())


@pytest.mark.parametrize("storage", ["file", "sqlite"])
def test_one_damaged_record_is_named_and_the_others_work(storage: str, open_storage: Open, tmp_path: Path) -> None:
    # Reported of others as cline/cline#9631 and mattapperson/noetic commit 3b10168a.
    def damage() -> bytes:
        if storage == "file":
            (file,) = [path for path in (tmp_path / "state").iterdir() if b'"t3"' in path.read_bytes()]
            file.write_bytes(b'{"checkpoints": [')
            return file.read_bytes()
        connection = sqlite3.connect(tmp_path / "state" / "agent.db")
        with connection:
            key = b"layers/task-state/t3/state"
            connection.execute("UPDATE taskstate_storage SET value = '{' WHERE key = ?", (key,))
        connection.close()
        return b""

    async def scenario() -> None:
        threads = [f"t{number}" for number in range(10)]
        async with opened(open_storage()) as harness:
            await fill(harness, *threads)
        left = damage()
        async with opened(open_storage()) as harness:
            infos = await harness.threads.list()
            assert [info.thread_id for info in infos] == threads
            for info in infos:
                if info.thread_id == "t3":
                    assert len(info.problems) == 1
                    assert info.problems[0].startswith("layers/task-state/t3/state: ")
                else:
                    assert info.problems == ()
                    assert (await harness.threads.read(info.thread_id))["task-state"]["data"][
                        "thread"
                    ] == info.thread_id
            for call in (harness.threads.read, harness.threads.export):
                with pytest.raises(CorruptRecordError, match="layers/task-state/t3/state"):
                    await call("t3")
            with pytest.raises(CorruptRecordError, match="layers/task-state/t3/state"):
                async with harness.execution(thread_id="t3"):
                    pass
            await fill(harness, "t4")
            assert await harness.threads.prune(older_than=10**9) == [name for name in threads if name != "t3"]
            if storage == "file":
                assert any(path.read_bytes() == left for path in (tmp_path / "state").iterdir() if path.is_file())
            assert await harness.threads.delete("t3") == 1
            assert await open_storage().list("") == []

    asyncio.run(scenario())


def test_threads_are_pruned_by_age(open_storage: Open) -> None:
    async def scenario() -> None:
        now = [0]
        async with opened(open_storage(), task_layer(clock=lambda: now[0]), Notes()) as harness:
            for thread, time in (("old", 100), ("middle", 200), ("new", 300)):
                now[0] = time
                await fill(harness, thread)
            await open_storage().set("layers/notes/silent/state", {"seen": []})
            await open_storage().set("unrelated", 1)
            assert await harness.threads.prune(older_than=100) == []
            assert await harness.threads.prune(older_than=200) == ["old"]
            assert await harness.threads.prune(older_than=10**6) == ["middle", "new"]
            assert sorted(await open_storage().list("")) == ["layers/notes/silent/state", "unrelated"]

    asyncio.run(scenario())


def test_a_thread_that_becomes_active_meanwhile_is_not_pruned(open_storage: Open) -> None:
    async def scenario() -> None:
        storage = open_storage()
        async with opened(storage, task_layer(clock=lambda: 1)) as harness:
            await fill(harness, "t")
        delete = storage.compare_and_delete

        async def slow(key: str, expected: Any) -> None:
            async with running(open_storage(), task_layer(clock=lambda: 2)) as run:
                await tools(run).set_task_data(key="active", value=1)
            await delete(key, expected)

        storage.compare_and_delete = slow
        async with opened(storage) as harness:
            assert await harness.threads.prune(older_than=2) == []
            assert (await harness.threads.read("t"))["task-state"]["data"]["active"] == 1

    asyncio.run(scenario())


def test_a_thread_begun_anew_during_a_prune_is_kept(open_storage: Open) -> None:
    async def scenario() -> None:
        storage = open_storage()
        async with opened(storage, task_layer(clock=lambda: 1), Notes()) as harness:
            await fill(harness, "t")
        delete, begun = storage.compare_and_delete, []

        async def then_begin(key: str, expected: Any) -> None:
            await delete(key, expected)
            if key == KEY and not begun:
                begun.append(key)
                async with running(open_storage(), task_layer(clock=lambda: 2)) as run:
                    await tools(run).set_task_data(key="anew", value=1)

        storage.compare_and_delete = then_begin
        async with opened(storage) as harness:
            await harness.threads.prune(older_than=2)
            assert (await harness.threads.read("t"))["task-state"]["data"]["anew"] == 1

    asyncio.run(scenario())


def test_foreign_keys_are_left_alone(open_storage: Open) -> None:
    async def scenario() -> None:
        foreign = ["layers", "layers/", "layers/a", "layers/a/b", "other/task-state/t/state", "layers-x/a/t/state"]
        for key in foreign:
            await open_storage().set(key, 1)
        async with opened(open_storage()) as harness:
            await fill(harness, "t")
            assert [info.thread_id for info in await harness.threads.list()] == ["t"]
            await harness.threads.delete("t")
            assert sorted(await open_storage().list("")) == sorted(foreign)

    asyncio.run(scenario())
