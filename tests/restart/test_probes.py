"""What a file probe sees of real files."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskstate.errors import InvalidRecordError, StorageError
from taskstate.restart import assess
from taskstate.restart import files as files_module
from taskstate.restart.probes import FileProbe, SeenFiles, observe

from .disk import artifact, look, open_handles, put, readable_by_all, record_of, seen, without_privileges

pytestmark = pytest.mark.once


def test_each_artifact_is_seen_with_its_hash_or_as_missing(tmp_path: Path) -> None:
    put(tmp_path, "out/a.json", b"one")
    put(tmp_path, "b", b"")
    found = look(tmp_path, record_of("out/a.json", "b", "out/none", "b/below-a-file"))
    assert found.files == {"out/a.json": seen(b"one"), "b": seen(b""), "out/none": None, "b/below-a-file": None}
    assert found.unindexed == {}


def test_earlier_artifacts_are_looked_at_too(tmp_path: Path) -> None:
    put(tmp_path, "old", b"old")
    old = {"id": "a", "artifact": artifact("old", b"old"), "because": "moved"}
    found = look(tmp_path, record_of(superseded=[old]))
    assert found == ({"old": seen(b"old")}, {})


def test_a_root_with_a_space_or_behind_a_link_is_a_root(tmp_path: Path) -> None:
    root = tmp_path / "my files"
    put(root, "a b.txt", b"x")
    (tmp_path / "link").symlink_to(root)
    for path in (root, tmp_path / "link"):
        assert look(path, record_of("a b.txt")).files == {"a b.txt": seen(b"x")}


def test_a_root_that_is_not_there_is_no_lost_work(tmp_path: Path) -> None:
    put(tmp_path, "file")
    for root in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(StorageError, match="the root can't be opened"):
            look(root, record_of("a"))


@pytest.mark.parametrize(
    "location", ["../a", "a/../../b", "a/..", "/etc/passwd", "//x", ".", "a\0b", "..", "a/../b", "/"]
)
def test_a_location_that_leaves_the_root_is_refused_by_its_place(tmp_path: Path, location: str) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        look(tmp_path, record_of("fine", location))
    assert [place for place, _ in caught.value.faults] == ["artifacts.a1.location"]
    expected = record_of(completion_rule={"units": {"u": {"location": location}}})
    with pytest.raises(InvalidRecordError, match=r"completion_rule\.units\.u\.location"):
        look(tmp_path, expected)


def test_a_url_is_not_looked_at(tmp_path: Path) -> None:
    record = record_of("s3://bucket/a", "file:///etc/passwd")
    assert look(tmp_path, record).files == {}
    assert asyncio.run(observe(record, FileProbe(tmp_path), clock=lambda: 1)).files == {}


def test_names_that_differ_in_case_are_different_files(tmp_path: Path) -> None:
    put(tmp_path, "A", b"big")
    put(tmp_path, "a", b"small")
    found = look(tmp_path, record_of("A"))
    assert found == ({"A": seen(b"big")}, {"a": seen(b"small")})
    assert look(tmp_path, record_of("A", "a")).files["a"] == seen(b"small")


def test_one_file_under_two_spellings_is_no_orphan(tmp_path: Path) -> None:
    put(tmp_path, "out/a")
    assert look(tmp_path, record_of("./out//a")) == ({"./out//a": seen(b"text")}, {})


class TestLinks:
    def test_no_link_is_followed_out_of_the_root(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        outside = put(tmp_path, "outside/secret", b"secret")
        put(root, "deep/a")
        (root / "file").symlink_to(outside)
        (root / "relative").symlink_to("../outside/secret")
        (root / "folder").symlink_to(outside.parent)
        (root / "deep" / "up").symlink_to("../../outside")
        (root / "sibling").symlink_to(f"{root}-other/a")
        put(tmp_path, "root-other/a")
        locations = ("file", "relative", "folder/secret", "deep/up/secret", "sibling")
        assert look(root, record_of(*locations)) == ({}, {"deep/a": seen(b"text")})

    def test_a_link_within_the_root_leads_to_its_file(self, tmp_path: Path) -> None:
        put(tmp_path, "v1/a", b"one")
        (tmp_path / "current").symlink_to("v1")
        (tmp_path / "absolute").symlink_to(tmp_path / "v1")
        (tmp_path / "v1" / "back").symlink_to("../current/a")
        (tmp_path / "v1" / "again").symlink_to(tmp_path / "v1" / "a")
        found = look(tmp_path, record_of("current/a", "absolute/a", "v1/back", "v1/again", "current/none"))
        assert found.files == {
            "current/a": seen(b"one"),
            "absolute/a": seen(b"one"),
            "v1/back": seen(b"one"),
            "v1/again": seen(b"one"),
            "current/none": None,
        }
        assert found.unindexed == {}

    def test_a_link_that_leads_nowhere_is_a_missing_file_and_one_in_a_circle_none(self, tmp_path: Path) -> None:
        (tmp_path / "dangling").symlink_to("none")
        (tmp_path / "circle").symlink_to("circle")
        assert look(tmp_path, record_of("dangling", "circle")) == ({"dangling": None}, {})

    def test_a_link_to_itself_is_not_searched_in_circles(self, tmp_path: Path) -> None:
        put(tmp_path, "a/b")
        (tmp_path / "a" / "again").symlink_to(tmp_path)
        assert set(look(tmp_path, record_of()).unindexed) == {"a/b"}

    def test_a_link_put_there_between_two_looks_leads_nowhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = tmp_path / "root"
        put(root, "folder/a")
        put(tmp_path, "outside/a", b"secret")
        real = os.stat

        def swapped(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
            status = real(path, *arguments, **options)
            if path == "folder" and not (root / "folder").is_symlink():
                (root / "folder").rename(root / "gone")
                (root / "folder").symlink_to(tmp_path / "outside")
            return status

        monkeypatch.setattr(os, "stat", swapped)
        assert look(root, record_of("folder/a")).files == {}


class TestUnreadable:
    def test_what_is_no_ordinary_file_is_neither_seen_nor_missing(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        (tmp_path / "device").symlink_to("/dev/zero")
        with socket.socket(socket.AF_UNIX) as server:
            here = os.getcwd()
            os.chdir(tmp_path)  # the path of a socket has to be short
            try:
                server.bind("socket")
            finally:
                os.chdir(here)
            assert look(tmp_path, record_of("pipe", "folder", "device", "socket")) == ({}, {})

    def test_a_file_that_may_not_be_read_does_not_look_missing(self, caplog: pytest.LogCaptureFixture) -> None:
        with readable_by_all() as root:
            put(root, "locked").chmod(0)
            put(root, "shut/inside")
            put(root, "open")
            (root / "shut").chmod(0)
            record = record_of("locked", "shut/inside", "open", "none")
            with without_privileges():
                found = look(root, record)
                observed = asyncio.run(observe(record, FileProbe(root), clock=lambda: 1))
            (root / "shut").chmod(0o700)
            assert found == ({"open": seen(b"text"), "none": None}, {})
            judged = assess(record, observed)
            assert [judged.item("unit", f"u{n}").verdict for n in range(4)] == ["validate"] * 3 + ["redo"]
            assert judged.item("unit", "u0").integrity == "not_seen"
        assert "Permission denied" in caplog.text
        assert "a folder can't be searched" in caplog.text

    def test_a_disk_that_fails_does_not_look_like_a_missing_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(tmp_path, "a")

        def broken(*_: Any) -> int:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "readv", broken)
        before = open_handles()
        assert look(tmp_path, record_of("a", "b")) == ({"b": None}, {})
        assert open_handles() == before


class TestChanging:
    """A file that changes while it is hashed; `meddle` runs after its first bytes were read."""

    @pytest.fixture
    def meddle(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], None]:
        real = os.readv
        calls = 0

        def install(work: Callable[[int], None]) -> None:
            def meddled(handle: int, buffers: Any) -> int:
                nonlocal calls
                count = real(handle, buffers)
                calls += 1
                work(calls)
                return count

            monkeypatch.setattr(os, "readv", meddled)

        return install

    def test_one_that_changes_once_is_hashed_again(
        self, tmp_path: Path, meddle: Callable[[Callable[[int], None]], None]
    ) -> None:
        path = put(tmp_path, "a", b"before")
        meddle(lambda call: path.write_bytes(b"after") and None if call == 1 else None)
        assert look(tmp_path, record_of("a")).files == {"a": seen(b"after")}

    def test_one_that_is_replaced_is_hashed_again(
        self, tmp_path: Path, meddle: Callable[[Callable[[int], None]], None]
    ) -> None:
        put(tmp_path, "a", b"one")
        put(tmp_path, "new", b"two")
        meddle(lambda call: os.replace(tmp_path / "new", tmp_path / "a") if call == 1 else None)
        assert look(tmp_path, record_of("a")).files == {"a": seen(b"two")}

    def test_one_that_vanishes_is_missing(
        self, tmp_path: Path, meddle: Callable[[Callable[[int], None]], None]
    ) -> None:
        path = put(tmp_path, "a")
        meddle(lambda _: path.unlink(missing_ok=True))
        assert look(tmp_path, record_of("a")).files == {"a": None}

    def test_one_that_never_rests_is_not_seen(
        self, tmp_path: Path, meddle: Callable[[Callable[[int], None]], None]
    ) -> None:
        path = put(tmp_path, "a")

        def grow(_: int) -> None:
            with path.open("ab") as file:
                file.write(b"more")

        meddle(grow)
        assert look(tmp_path, record_of("a")).files == {}

    def test_one_that_the_system_gives_another_size_for_is_not_seen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As files of a running kernel do, whose hash would be one of their beginning."""
        with pytest.raises(StorageError, match="keeps changing"), files_module.Root(Path("/proc/self")) as root:
            root.look("status", threading.Event())


def test_a_huge_file_is_hashed_in_chunks_and_a_cancelled_look_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 64 << 20
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(size)
    with (tmp_path / "endless").open("wb") as file:
        file.truncate(1 << 42)
    largest = 0
    real = os.readv

    def measured(handle: int, buffers: Any) -> int:
        nonlocal largest
        largest = max(largest, sum(map(len, buffers)))
        return real(handle, buffers)

    monkeypatch.setattr(os, "readv", measured)
    assert look(tmp_path, record_of("huge"), ignore=["endless"]).files == {"huge": seen(bytes(size))}
    assert largest == 1 << 20

    async def scenario() -> None:
        task = asyncio.create_task(FileProbe(tmp_path).look(record_of("endless")))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), 5)
        assert task.cancelled()

    before = open_handles()
    asyncio.run(scenario())
    assert open_handles() == before


def test_the_event_loop_runs_on_while_files_are_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a")
    waiting, go_on = threading.Event(), threading.Event()
    real = os.readv

    def slow(handle: int, buffers: Any) -> int:
        waiting.set()
        assert go_on.wait(10)
        return real(handle, buffers)

    monkeypatch.setattr(os, "readv", slow)

    async def scenario() -> SeenFiles:
        task = asyncio.create_task(FileProbe(tmp_path).look(record_of("a")))
        assert await asyncio.to_thread(waiting.wait, 10)
        go_on.set()
        return await task

    assert asyncio.run(scenario()).files == {"a": seen(b"text")}


def test_two_looks_at_the_same_files_give_the_same(tmp_path: Path) -> None:
    for name in "zyxab":
        put(tmp_path, name)
    first, second = (look(tmp_path, record_of("y", "none")) for _ in range(2))
    assert repr(first) == repr(second)


def test_nothing_of_a_file_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    put(tmp_path, "a", b"private")
    os.mkfifo(tmp_path / "private-pipe")
    look(tmp_path, record_of("a", "private-pipe"))
    assert "isn't an ordinary file" in caplog.text
    assert "private" not in caplog.text
