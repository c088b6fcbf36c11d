"""The tables of the task stores: made once, by whoever comes first, and known by their checksums."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postgres.fixtures import Place
from taskstate.errors import SchemaError
from taskstate.tasks import DurableTasks, TaskContext, task
from taskstate.tasks.stores.postgres import PostgresTaskStore
from taskstate.tasks.stores.sql.migrations import migrations
from taskstate.tasks.stores.sqlite import SQLiteTaskStore

pytestmark = pytest.mark.once

OPEN = """
import asyncio, sys
from taskstate.tasks.stores.{module} import {name}
store = {name}({arguments})
asyncio.run(store.open())
asyncio.run(store.close())
"""

LATER = "INSERT INTO taskstate_schema_version (version, checksum) VALUES (999, 'later')"


class Home:
    """Where the tables are, whichever the store."""

    def __init__(self, path: Path, place: Place | None) -> None:
        self.path = path
        self.place = place

    def store(self) -> Any:
        if self.place is None:
            return SQLiteTaskStore(self.path)
        return PostgresTaskStore(self.place.conninfo, schema=self.place.schema)

    async def open(self, **options: bool) -> None:
        store = self.store()
        try:
            await store.open(**options)
        finally:
            await store.close()

    def program(self) -> str:
        if self.place is None:
            return OPEN.format(module="sqlite", name="SQLiteTaskStore", arguments=repr(str(self.path)))
        arguments = f"{self.place.conninfo!r}, schema={self.place.schema!r}"
        return OPEN.format(module="postgres", name="PostgresTaskStore", arguments=arguments)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        if self.place is not None:
            return self.place.cluster.execute(statement.replace("taskstate_", f'"{self.place.schema}".taskstate_'))
        connection = sqlite3.connect(self.path)
        try:
            rows = connection.execute(statement).fetchall()
            connection.commit()
            return rows
        finally:
            connection.close()

    def tables(self) -> set[str]:
        if self.place is not None:
            return {
                name
                for (name,) in self.place.cluster.execute(
                    "SELECT tablename FROM pg_tables WHERE schemaname = %s", [self.place.schema]
                )
            }
        return {name for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'table'")}


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def home(storage: str, tmp_path: Path, place_on: Callable[..., Place]) -> Home:
    return Home(tmp_path / "tasks.db", place_on(storage) if storage == "postgres" else None)


def test_processes_that_come_first_together_make_the_tables_once(home: Home) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", home.program()], stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in started:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert home.query("SELECT count(*) FROM taskstate_schema_version") == [(len(migrations("sqlite")),)]


def test_a_check_alone_makes_nothing(home: Home) -> None:
    with pytest.raises(SchemaError, match="not applied yet"):
        asyncio.run(home.open(verify_only=True))
    assert home.tables() == set()


def test_tables_that_are_there_pass_the_check(home: Home) -> None:
    asyncio.run(home.open())
    asyncio.run(home.open(verify_only=True))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE taskstate_schema_version SET checksum = 'other'", "another text"),
        (LATER, "doesn't know"),
    ],
)
@pytest.mark.parametrize("verify_only", [False, True])
def test_an_unknown_schema_is_refused_and_left_alone(home: Home, change: str, reason: str, verify_only: bool) -> None:
    asyncio.run(home.open())
    home.query(change)
    before = home.query("SELECT version, checksum FROM taskstate_schema_version ORDER BY version")
    with pytest.raises(SchemaError, match=reason):
        asyncio.run(home.open(verify_only=verify_only))
    assert home.query("SELECT version, checksum FROM taskstate_schema_version ORDER BY version") == before


@task("echo")
async def echo(ctx: TaskContext, input: int) -> int:
    return input


def test_an_old_worker_takes_nothing_from_a_newer_schema(home: Home) -> None:
    async def ask() -> None:
        async with DurableTasks(types=[echo], store=home.store(), worker=False) as client:
            await client.start(echo, 1)

    async def work() -> None:
        async with DurableTasks(types=[echo], store=home.store()):
            await asyncio.sleep(1)

    asyncio.run(ask())
    home.query(LATER)
    with pytest.raises(SchemaError, match="doesn't know"):
        asyncio.run(work())
    assert home.query("SELECT state, fence FROM taskstate_task") == [("ready", 0)]


@pytest.mark.covers("sqlite")
def test_the_tables_of_a_file_are_those_of_the_migrations(tmp_path: Path) -> None:
    asyncio.run(Home(tmp_path / "opened.db", None).open())
    by_hand = sqlite3.connect(tmp_path / "by_hand.db")
    for migration in migrations("sqlite"):
        by_hand.executescript(migration.text)
    by_hand.close()

    def shape(name: str) -> list[tuple[Any, ...]]:
        return Home(tmp_path / name, None).query(
            "SELECT type, name, tbl_name, sql FROM sqlite_master"
            " WHERE tbl_name NOT LIKE '%schema_version' ORDER BY type, name"
        )

    assert shape("opened.db") == shape("by_hand.db")


SHAPE = """
SELECT 'column', table_name || '.' || column_name, data_type || is_nullable || coalesce(column_default, '')
FROM information_schema.columns WHERE table_schema = %(schema)s
UNION ALL SELECT 'index', indexname, replace(indexdef, %(schema)s, 'S') FROM pg_indexes WHERE schemaname = %(schema)s
UNION ALL SELECT 'constraint', conname, replace(pg_get_constraintdef(oid), %(schema)s, 'S') FROM pg_constraint
    WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)
UNION ALL SELECT 'function', proname, prosrc FROM pg_proc
    WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)
ORDER BY 1, 2, 3
"""


@pytest.mark.covers("postgres")
def test_the_tables_of_a_schema_are_those_of_the_migrations(place_on: Callable[..., Place]) -> None:
    opened, by_hand = place_on("postgres"), place_on("postgres")
    asyncio.run(Home(Path(), opened).open())
    for migration in migrations("postgres"):
        text = f'SET search_path = "{by_hand.schema}";\n{migration.text};\nRESET search_path'
        by_hand.cluster.execute(text)

    def shape(place: Place) -> list[tuple[Any, ...]]:
        rows = place.cluster.execute(SHAPE.replace("%(schema)s", f"'{place.schema}'"))
        return [row for row in rows if "schema_version" not in row[1]]

    assert shape(opened) == shape(by_hand)
