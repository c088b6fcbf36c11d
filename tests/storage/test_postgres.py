"""What only PostgresStorage does: its table, its options, and what it tells about how to connect."""

from __future__ import annotations

import asyncio
import pickle
import random
import secrets
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from postgres.fixtures import Place
from taskstate.errors import ConfigurationError, CorruptRecordError, StateTooLargeError, StorageError
from taskstate.storage import PostgresStorage

TABLE = "taskstate_storage"


def use(place: Place, scenario: Callable[[PostgresStorage], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with PostgresStorage(place.conninfo, **{"schema": place.schema, **options}) as storage:
            return await scenario(storage)

    return asyncio.run(run())


def query(place: Place, text: str, *params: Any) -> list[Any]:
    table = sql.Identifier(place.schema, TABLE)
    return place.cluster.execute(sql.SQL(text).format(table=table), params)  # type: ignore[arg-type]


def asked(storage: PostgresStorage, text: str) -> Any:
    """One value from the storage's own connection."""
    connection = storage._engine._link._connection  # type: ignore[attr-defined]
    return connection.execute(text).fetchone()[0]


def test_the_text_is_kept_as_it_was_encoded_and_can_be_queried(place: Place) -> None:
    use(place, lambda storage: storage.set("k\0%", {"b": 1, "a": "\u20ac\0"}))
    rows = query(place, "SELECT key, value FROM {table}")
    assert rows == [(b"k\0%", '{"b":1,"a":"\u20ac\\u0000"}')]


def test_a_name_of_a_schema_is_never_part_of_a_statement(place: Place) -> None:
    schema = place.schema + "'\"; DROP %s $1 {table} x"

    async def scenario(storage: PostgresStorage) -> None:
        await storage.set("k", 1)
        version = await storage.compare_and_set("k2", 2, None)
        await storage.compare_and_set("k2", 3, version)
        assert await storage.get_many(await storage.list("k")) == {"k": 1, "k2": 3}
        await storage.delete("k")

    use(place, scenario, schema=schema)
    assert place.cluster.execute("SELECT 1 FROM pg_tables WHERE schemaname = %s", [schema]) == [(1,)]


def test_a_long_key_that_no_compression_shortens_is_kept_and_listed(place: Place) -> None:
    letters = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=100_000)
    key = "".join(letters)

    async def scenario(storage: PostgresStorage) -> None:
        await asyncio.gather(storage.set(key, 1), storage.set(key + "x", 2), storage.set(key[:1500], 3))
        assert await storage.get_many([key, key + "x", key[:1500]]) == {key: 1, key + "x": 2, key[:1500]: 3}
        assert sorted(await storage.list(key[:1200])) == sorted([key, key + "x", key[:1500]])
        assert sorted(await storage.list(key[:1501])) == sorted([key, key + "x"])

    use(place, scenario)


def test_many_keys_are_read_with_one_query(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[Any] = []
    execute = psycopg.Connection.execute

    async def scenario(storage: PostgresStorage) -> None:
        keys = [f"k{number}" for number in range(3000)]
        await asyncio.gather(*(storage.set(key, key) for key in keys))
        monkeypatch.setattr(
            psycopg.Connection, "execute", lambda self, text, *rest: queries.append(text) or execute(self, text, *rest)
        )
        assert len(await storage.get_many([*keys, "absent"])) == 3000
        assert len(queries) == 1

    use(place, scenario)


def test_reads_by_key_and_by_prefix_use_an_index(place: Place) -> None:
    use(place, lambda storage: storage.set("k", 1))
    query(
        place,
        "INSERT INTO {table} SELECT ('a/' || n)::bytea, '1', 'v' FROM generate_series(1, 20000) n".replace(
            "{table}", "{table} (key, value, version)"
        ),
    )
    query(place, "ANALYZE {table}")
    (by_key,) = query(place, "EXPLAIN (FORMAT JSON) SELECT 1 FROM {table} WHERE digest = ANY(ARRAY[sha256('k')])")
    bounds = "substr(key, 1, 1000) >= 'k' AND substr(key, 1, 1000) < 'l' AND substr(key, 1, 1) = 'k'"
    (by_prefix,) = query(place, f"EXPLAIN (FORMAT JSON) SELECT key FROM {{table}} WHERE {bounds}")
    assert "taskstate_storage_pkey" in str(by_key)
    assert "taskstate_storage_prefix" in str(by_prefix)


def test_a_commit_waits_for_the_disk_whatever_the_connection_says(place: Place) -> None:
    use(place, lambda storage: storage.set("k", 1))
    query(place, "ALTER TABLE {table} ADD COLUMN seen text")
    place.cluster.execute(
        f"CREATE FUNCTION {place.schema}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " NEW.seen = current_setting('synchronous_commit'); RETURN NEW; END $$"
    )
    query(
        place,
        f"CREATE TRIGGER t BEFORE INSERT OR UPDATE ON {{table}} FOR EACH ROW EXECUTE FUNCTION {place.schema}.note()",
    )
    for given, used in (("off", "on"), ("local", "local"), ("on", "on")):
        conninfo = f"{place.conninfo} options='-c synchronous_commit={given}'"

        async def scenario(conninfo: str = conninfo) -> None:
            async with PostgresStorage(conninfo, schema=place.schema) as storage:
                await storage.set("k", 2)

        asyncio.run(scenario())
        assert query(place, "SELECT seen FROM {table}") == [(used,)]


def test_nothing_of_it_stays_with_the_session_so_it_can_share_one_behind_a_pooler(place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> tuple[Any, ...]:
        for number in range(20):
            await asyncio.gather(storage.set("k", number), storage.set("l", number))
            await storage.get("k")
        statements = asked(storage, "SELECT count(*) FROM pg_prepared_statements")
        locks = asked(storage, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        return statements, locks, asked(storage, "SHOW lock_timeout")

    assert use(place, scenario, prepare_threshold=None) == (0, 0, "0")
    assert use(place, scenario)[0] > 0


def test_a_role_that_may_not_create_anything_can_use_a_table_that_is_there(place: Place) -> None:
    use(place, lambda storage: storage.set("k", 1))
    role = f"user_{secrets.token_hex(4)}"
    place.cluster.execute(f"CREATE ROLE {role} LOGIN")
    conninfo = place.conninfo.replace("user=postgres", f"user={role}")

    async def scenario() -> None:
        async with PostgresStorage(conninfo, schema=place.schema) as storage:
            with pytest.raises(StorageError, match=r"^k: permission denied$"):
                await storage.get("k")
            place.cluster.execute(f"GRANT USAGE ON SCHEMA {place.schema} TO {role}")
            place.cluster.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {place.schema}.{TABLE} TO {role}")
            await storage.set("k", 2)
            assert await storage.get("k") == 2
        async with PostgresStorage(conninfo, schema=place.schema + "x") as storage:
            with pytest.raises(StorageError, match=r"^k: permission denied$"):
                await storage.set("k", 2)

    asyncio.run(scenario())
    place.cluster.execute(f"DROP OWNED BY {role}")
    place.cluster.execute(f"DROP ROLE {role}")


def test_a_table_that_was_removed_while_in_use_is_reported_and_made_again(place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        await storage.set("k", 1)
        query(place, "DROP TABLE {table}")
        with pytest.raises(StorageError, match=r"^k: the table was removed while it was in use$"):
            await storage.set("k", 2)
        await storage.set("k", 3)
        assert await storage.get("k") == 3

    use(place, scenario)


def test_a_database_of_another_encoding_is_refused(place: Place) -> None:
    name = f"latin_{secrets.token_hex(4)}"
    place.cluster.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0")

    async def scenario() -> None:
        async with PostgresStorage(place.cluster.conninfo(name)) as storage:
            with pytest.raises(StorageError, match=r"^k: the database's encoding is not UTF8$"):
                await storage.set("k", 1)

    asyncio.run(scenario())
    place.cluster.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    "text", ["", "{'key': 1}", '{"key": "k', "NaN", "[18446744073709551616]"], ids=["empty", "a", "b", "c", "d"]
)
def test_a_damaged_record_leaves_the_others_usable(place: Place, text: str) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        await asyncio.gather(*(storage.set(key, 1) for key in ("k", "l")))
        query(place, "UPDATE {table} SET value = %s WHERE key = %s", text, b"k")
        for call in (storage.get("k"), storage.get_many(["l", "k"])):
            with pytest.raises(CorruptRecordError, match=r"^k: "):
                await call
        assert await storage.get("l") == 1
        await storage.set("k", "repaired")
        assert await storage.get("k") == "repaired"

    use(place, scenario)


def test_a_record_whose_key_is_no_text_is_left_alone(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        await storage.set("k", 1)
        query(place, "INSERT INTO {table} (key, value, version) VALUES (%s, '1', 'v')", b"\xff")
        assert await storage.list("") == ["k"]
        assert "a key that is no UTF-8" in caplog.text

    use(place, scenario)


def test_no_password_is_shown_pickled_or_told_by_an_error(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    conninfo = place.cluster.conninfo(tcp=True)
    password = place.cluster.password

    async def scenario() -> None:
        async with PostgresStorage(conninfo, schema=place.schema) as storage:
            await storage.set("k", 1)
            assert password not in repr(storage)
            assert f"port={place.cluster.port}" in repr(storage)
            assert f"schema='{place.schema}'" in repr(storage)
            kept = pickle.dumps(storage)
            assert password.encode() not in kept
            monkeypatch.setenv("PGPASSWORD", password)
            async with pickle.loads(kept) as other:
                assert await other.get("k") == 1
            monkeypatch.delenv("PGPASSWORD")
        async with PostgresStorage(conninfo.replace(password, "hunter2")) as storage:
            with pytest.raises(StorageError, match=r"^k: the server can't be reached") as caught:
                await storage.get("k")
            assert "hunter2" not in "".join(traceback.format_exception(caught.value))

    asyncio.run(scenario())


def test_an_error_of_the_server_shows_neither_statement_nor_value(place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        await storage.set("k", 1)
        query(place, "ALTER TABLE {table} ADD CHECK (value NOT LIKE '%%hunter2%%')")
        outcomes = await asyncio.gather(
            storage.set("a", 1), storage.set("k", "hunter2"), storage.set("z", 2), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [type(None), StorageError, type(None)]
        told = "".join(traceback.format_exception(outcomes[1]))  # type: ignore[arg-type]
        assert "k: PostgreSQL refused with 23514" in told
        assert "hunter2" not in told
        assert "INSERT" not in told
        assert await storage.get_many(["a", "k", "z"]) == {"a": 1, "k": 1, "z": 2}

    use(place, scenario)


def test_options_are_checked_when_the_storage_is_made() -> None:
    for bad in ("postgresql://u:hunter2@[::1/x", "password=hunter2 nonsense"):
        with pytest.raises(ConfigurationError, match="no connection string") as caught:
            PostgresStorage(bad)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    for schema in ("", "a\0b", "\u20ac" * 22):
        with pytest.raises(ConfigurationError, match="schema"):
            PostgresStorage("", schema=schema)
    with pytest.raises(ConfigurationError, match="busy_timeout"):
        PostgresStorage("", busy_timeout=0)
    with pytest.raises(ConfigurationError, match="max_bytes"):
        PostgresStorage("", max_bytes=0)


def test_the_largest_value_is_as_configured(place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        with pytest.raises(StateTooLargeError):
            await storage.set("k", "x" * 100)

    use(place, scenario, max_bytes=100)


@pytest.mark.once
def test_psycopg_is_loaded_when_a_storage_is_made_and_missed_by_name() -> None:
    code = """
import sys
from taskstate.storage import PostgresStorage
assert "psycopg" not in sys.modules
sys.modules["psycopg"] = None
try:
    PostgresStorage("")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ConfigurationError PostgresStorage needs psycopg: install taskstate[postgres]")
