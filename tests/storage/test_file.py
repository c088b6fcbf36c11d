from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from taskstate.errors import ConfigurationError, CorruptRecordError, StateTooLargeError, StorageError
from taskstate.storage import FileStorage
from taskstate.storage.filenames import file_name

pytestmark = pytest.mark.covers("file")


def use(folder: Path, scenario: Callable[[FileStorage], Awaitable[None]]) -> None:
    async def run() -> None:
        async with FileStorage(folder) as storage:
            await scenario(storage)

    asyncio.run(run())


def test_a_record_is_a_json_file_that_names_its_key(tmp_path: Path) -> None:
    use(tmp_path / "state", lambda storage: storage.set("layers/l/t/state", {"a": "\u2028"}))
    assert {path.name for path in (tmp_path / "state").iterdir()} == {".lock", "k-layers%2fl%2ft%2fstate.json"}
    document = json.loads((tmp_path / "state" / "k-layers%2fl%2ft%2fstate.json").read_bytes())
    assert document["key"] == "layers/l/t/state"
    assert document["value"] == {"a": "\u2028"}


def test_reading_creates_nothing(tmp_path: Path) -> None:
    async def scenario(storage: FileStorage) -> None:
        assert await storage.get("k") is None
        assert await storage.list("") == []

    use(tmp_path / "state", scenario)
    assert list(tmp_path.iterdir()) == []


def test_folder_and_files_are_for_their_owner_only(tmp_path: Path) -> None:
    # Reported of other libraries as letta-ai/letta PR#2809 and mem0ai/mem0#6817.
    old = os.umask(0)
    try:
        use(tmp_path / "deep" / "state", lambda storage: storage.set("k", {"password": "hunter2"}))
    finally:
        os.umask(old)
    for path in (tmp_path / "deep", *(tmp_path / "deep").rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_record_that_is_a_link_is_refused_and_what_it_points_to_is_untouched(tmp_path: Path) -> None:
    # Reported of other libraries as andrewyng/openworker PR#55 and NousResearch/hermes-agent PR#54852.
    target = tmp_path / "target.json"
    target.write_text('{"key":"k","version":"v","value":"secret"}')

    async def scenario(storage: FileStorage) -> None:
        await storage.set("other", 1)
        (tmp_path / "state" / file_name("k")).symlink_to(target)
        calls = (storage.get("k"), storage.get_many(["k"]), storage.set("k", 1), storage.compare_and_set("k", 1, None))
        for call in calls:
            with pytest.raises(StorageError, match="symbolic link"):
                await call
        assert await storage.get("other") == 1
        await storage.delete("k")
        assert await storage.get("k") is None

    use(tmp_path / "state", scenario)
    assert "secret" in target.read_text()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_record_that_is_no_file_is_refused_without_waiting(tmp_path: Path, make: Callable[[Path], None]) -> None:
    async def scenario(storage: FileStorage) -> None:
        await storage.set("other", 1)
        make(tmp_path / "state" / file_name("k"))
        for call in (storage.get("k"), storage.set("k", 1)):
            with pytest.raises(StorageError, match="not an ordinary file"):
                await asyncio.wait_for(call, 10)

    use(tmp_path / "state", scenario)


def test_a_long_key_is_found_by_its_hash_and_proved_by_the_record(tmp_path: Path) -> None:
    long, other = "k" * 10_000, "j" * 10_000

    async def scenario(storage: FileStorage) -> None:
        await storage.set(long, 1)
        await storage.set("short", 1)
        assert sorted(await storage.list("k")) == [long]
        os.rename(tmp_path / "state" / file_name(long), tmp_path / "state" / file_name(other))
        with pytest.raises(CorruptRecordError, match="another key"):
            await storage.get(other)
        assert await storage.list("") == ["short"]

    use(tmp_path / "state", scenario)


def test_a_damaged_record_that_alone_knew_its_key_is_left_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Reported of other libraries as cline/cline#9631: one bad record made the whole list unusable.
    long = "k" * 10_000

    async def scenario(storage: FileStorage) -> None:
        await storage.set(long, {"password": "hunter2"})
        await storage.set("short", 1)
        (tmp_path / "state" / file_name(long)).write_bytes(b"hunter2")
        with caplog.at_level(logging.DEBUG):
            assert await storage.list("") == ["short"]
        assert file_name(long) in caplog.text
        assert "hunter2" not in caplog.text
        with pytest.raises(CorruptRecordError):
            await storage.get(long)

    use(tmp_path / "state", scenario)


def test_files_that_are_no_records_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    names = ["notes.txt", "k-A.json", "k-%zz.json", "h-nothing.json", ".hidden", "k-b.json.bak"]
    for name in names:
        (folder / name).write_text("mine")

    async def scenario(storage: FileStorage) -> None:
        await storage.set("b", 1)
        assert await storage.list("") == ["b"]
        await storage.delete("b")

    use(folder, scenario)
    assert sorted(path.name for path in folder.iterdir()) == sorted([".lock", *names])


def test_what_killed_writers_left_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    use(folder, lambda storage: storage.set("k", 1))
    (folder / ".new-0123").write_text('{"key":')
    use(folder, lambda storage: storage.get("k"))
    assert (folder / ".new-0123").exists()  # a reader can't know whether its writer is alive
    use(folder, lambda storage: storage.set("k", 2))
    assert not (folder / ".new-0123").exists()


def test_text_with_any_line_separator_is_one_record(tmp_path: Path) -> None:
    # Reported of other libraries as volcengine/OpenViking#3984 and huggingface/tau#354.
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\ng\rh\x1ci"

    async def scenario(storage: FileStorage) -> None:
        await storage.set(text, {text: text})
        await storage.set(text * 100, text)
        assert await storage.get(text) == {text: text}
        assert sorted(await storage.list("a")) == sorted([text, text * 100])

    use(tmp_path / "state", scenario)


def test_an_edited_record_is_read_and_written(tmp_path: Path) -> None:
    async def scenario(storage: FileStorage) -> None:
        await storage.set("k", {"a": 1})
        path = tmp_path / "state" / file_name("k")
        document = json.loads(path.read_bytes())
        document["value"]["a"] = 2
        path.write_text(json.dumps(document, indent=2))
        value, version = await storage.get_versioned("k")
        assert value == {"a": 2}
        await storage.compare_and_set("k", 3, version)
        assert await storage.get("k") == 3

    use(tmp_path / "state", scenario)


def test_a_folder_that_cannot_be_used_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def scenario(storage: FileStorage) -> None:
        for call in (storage.set("k", 1), storage.get("k"), storage.list(""), storage.delete("k")):
            with pytest.raises(StorageError) as caught:
                await call
            assert str(tmp_path) not in str(caught.value)

    use(tmp_path / "file", scenario)


def test_options(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with FileStorage(tmp_path / "state", max_bytes=100) as storage:
            with pytest.raises(StateTooLargeError):
                await storage.set("k", "x" * 100)

    asyncio.run(scenario())
    with pytest.raises(ConfigurationError):
        FileStorage(tmp_path, max_bytes=0)
    assert repr(FileStorage("state")) == f"FileStorage('{Path.cwd() / 'state'}')"


def test_the_folder_is_that_of_the_time_when_the_storage_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    storage: Any = FileStorage("state")
    monkeypatch.chdir("/")
    asyncio.run(storage.set("k", 1))
    assert (tmp_path / "state" / file_name("k")).exists()
    asyncio.run(storage.close())


def test_a_write_reaches_the_disk_before_its_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, os.rename

    def noting_fsync(handle: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def noting_rename(*names: Any, **folders: Any) -> None:
        steps.append("rename")
        rename(*names, **folders)

    async def scenario(storage: FileStorage) -> None:
        await storage.set("k", 1)
        monkeypatch.setattr(os, "fsync", noting_fsync)
        monkeypatch.setattr(os, "rename", noting_rename)
        await storage.set("k", 2)
        assert steps == ["file", "rename", "folder"]
        await storage.delete("k")
        assert steps == ["file", "rename", "folder", "folder"]

    use(tmp_path / "state", scenario)
