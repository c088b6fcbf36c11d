from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from taskstate.errors import ConfigurationError, ConflictError, CorruptRecordError, StateTooLargeError, StorageError
from taskstate.storage import SQLiteStorage

pytestmark = pytest.mark.covers("sqlite")


def use(path: Path, scenario: Callable[[SQLiteStorage], Awaitable[None]]) -> None:
    async def run() -> None:
        async with SQLiteStorage(path) as storage:
            await scenario(storage)

    asyncio.run(run())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


def test_the_database_uses_a_write_ahead_log_and_its_text_can_be_queried(path: Path) -> None:
    use(path, lambda storage: storage.set("k", {"a": [1, "\u20ac"]}))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        row = connection.execute("SELECT key, value, json_extract(value, '$.a[1]') FROM taskstate_storage").fetchone()
        assert row == (b"k", '{"a":[1,"\u20ac"]}', "\u20ac")


def test_a_commit_waits_for_the_disk(path: Path) -> None:
    async def scenario(storage: SQLiteStorage) -> None:
        await storage.set("k", 1)
        connection = storage._engine._connection  # type: ignore[attr-defined]
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL

    use(path, scenario)


def test_all_its_files_are_for_their_owner_only(tmp_path: Path) -> None:
    # Reported of other libraries as letta-ai/letta PR#2809 and mem0ai/mem0#6817.
    def modes() -> dict[str, int]:
        return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep").iterdir()}

    async def scenario(storage: SQLiteStorage) -> None:
        await storage.set("k", {"password": "hunter2"})
        assert modes() == {"agent.db": 0o600, "agent.db-wal": 0o600, "agent.db-shm": 0o600}

    old = os.umask(0)
    try:
        use(tmp_path / "deep" / "agent.db", scenario)
    finally:
        os.umask(old)
    assert modes() == {"agent.db": 0o600}  # the last to close puts the log into the file
    assert stat.S_IMODE((tmp_path / "deep").stat().st_mode) == 0o700


def test_the_first_open_waits_for_those_who_use_the_file_without_a_log(path: Path) -> None:
    # Switching to the log needs the file alone.
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE records (a)")
    reading = threading.Event()

    def read_for_a_while() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT * FROM records").fetchall()
            reading.set()
            time.sleep(0.3)

    reader = threading.Thread(target=read_for_a_while)
    reader.start()
    reading.wait()
    use(path, lambda storage: storage.set("k", 1))
    reader.join()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_it_lives_beside_other_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE records (a)")
        connection.execute("INSERT INTO records VALUES (1)")
    use(path, lambda storage: storage.set("k", 1))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM records").fetchall() == [(1,)]


def test_writes_that_wait_together_share_a_transaction_but_not_their_fate(path: Path) -> None:
    async def scenario(storage: SQLiteStorage) -> None:
        version = await storage.compare_and_set("k", 0, None)
        calls = [storage.set(f"a{number}", number) for number in range(50)]
        calls += [storage.compare_and_set("k", 1, "outdated"), storage.compare_and_set("k", 2, version)]  # type: ignore[list-item]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes[50:]] == [ConflictError, str]
        assert await storage.get("k") == 2
        assert len(await storage.list("a")) == 50

    use(path, scenario)


def test_a_write_that_the_database_refuses_does_not_take_others_with_it(path: Path) -> None:
    async def scenario(storage: SQLiteStorage) -> None:
        await storage.set("k", 0)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON taskstate_storage WHEN NEW.key = CAST('bad' AS BLOB) "
                "BEGIN SELECT RAISE(ROLLBACK, 'refused'); END"
            )
        calls = [storage.set(key, key) for key in ("a", "b", "bad", "c")]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None), type(None), StorageError, type(None)]
        assert await storage.get_many(["a", "b", "bad", "c"]) == {"a": "a", "b": "b", "c": "c"}

    use(path, scenario)


def test_reading_many_records_sees_one_moment(path: Path) -> None:
    keys = [f"k{number:04}" for number in range(1200)]

    async def scenario(storage: SQLiteStorage) -> None:
        async with SQLiteStorage(path) as other:
            await asyncio.gather(*(storage.set(key, 0) for key in keys))

            async def write_all() -> None:
                for number in range(1, 4):
                    await asyncio.gather(*(storage.set(key, number) for key in (keys[0], keys[-1])))

            writing = asyncio.ensure_future(write_all())
            while not writing.done():
                found = await other.get_many(keys)
                assert found[keys[0]] == found[keys[-1]]
            await writing

    use(path, scenario)


@pytest.mark.parametrize("stored", [1, 2.5, None, b"\x80\x04K\x01.", "", "{", "\ud7ff"])
def test_a_value_that_is_not_json_text_is_corrupt(path: Path, stored: object) -> None:
    # Reported of other libraries as langchain-ai/langgraphjs#2346: a stored blob was executed when it was read.
    async def scenario(storage: SQLiteStorage) -> None:
        await storage.set("good", 1)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            connection.execute("DROP TABLE taskstate_storage")
            connection.execute("CREATE TABLE taskstate_storage (key BLOB PRIMARY KEY, value, version)")
            connection.execute("INSERT INTO taskstate_storage VALUES (CAST('bad' AS BLOB), ?, 1)", (stored,))
            connection.execute("INSERT INTO taskstate_storage VALUES (CAST('good' AS BLOB), '1', 'v')")
        with pytest.raises(CorruptRecordError, match=r"^bad: "):
            await storage.get("bad")
        with pytest.raises(CorruptRecordError, match=r"^bad: "):
            await storage.get_many(["good", "bad"])
        assert await storage.get("good") == 1
        assert sorted(await storage.list("")) == ["bad", "good"]

    use(path, scenario)


@pytest.mark.parametrize("content", [b"not a database" * 100, os.urandom(8192)])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    async def scenario(storage: SQLiteStorage) -> None:
        for call in (storage.set("k", 1), storage.get("k"), storage.list("x')"), storage.delete("k")):
            with pytest.raises(StorageError, match="the file is not a SQLite database"):
                await call

    use(path, scenario)
    assert path.read_bytes() == content


def test_errors_show_no_sql_and_no_path(tmp_path: Path) -> None:
    # Reported of other libraries as langchain-ai/langgraph PR#5666.
    async def scenario(storage: SQLiteStorage) -> None:
        for call in (storage.set("k", "hunter2"), storage.get("k")):
            with pytest.raises(StorageError) as caught:
                await call
            for word in ("SELECT", "INSERT", "hunter2", str(tmp_path)):
                assert word not in str(caught.value)

    use(tmp_path, scenario)  # a folder


def test_a_database_that_was_replaced_is_not_written_to_in_vain(path: Path) -> None:
    async def scenario(storage: SQLiteStorage) -> None:
        await storage.set("k", 1)
        path.rename(path.with_suffix(".moved"))
        for call in (storage.set("k", 2), storage.get("k")):
            with pytest.raises(StorageError):
                await call
        path.with_suffix(".moved").rename(path)
        assert await storage.get("k") == 1

    use(path, scenario)


def test_a_database_in_memory_is_refused() -> None:
    for name in (":memory:", ""):
        with pytest.raises(ConfigurationError, match="MemoryStorage"):
            SQLiteStorage(name)


def test_options(path: Path) -> None:
    async def scenario() -> None:
        async with SQLiteStorage(str(path), max_bytes=100) as storage:
            with pytest.raises(StateTooLargeError):
                await storage.set("k", "x" * 100)

    asyncio.run(scenario())
    with pytest.raises(ConfigurationError):
        SQLiteStorage(path, max_bytes=0)
    assert repr(SQLiteStorage(path)) == f"SQLiteStorage('{path}')"
