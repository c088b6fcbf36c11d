"""Workers that are killed all the time lose nothing and repeat nothing that was kept.

`python -m pytest tests/tasks/test_chaos.py` runs a short storm; `CHAOS=long` (`make chaos`) the long one.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postgres.fixtures import Place
from taskstate.tasks.stores.postgres import PostgresTaskStore
from taskstate.tasks.stores.sqlite import SQLiteTaskStore

from .chaos.storm import Storm
from .chaos.verdict import judge

LONG = os.environ.get("CHAOS") == "long"
SEED = int(os.environ.get("CHAOS_SEED", random.randrange(10**6)))
MEASURES: dict[str, Any] = (
    {"tasks": 2000, "workers": 4, "seconds": 60, "patience": 240}
    if LONG
    else {"tasks": 150, "workers": 2, "seconds": 6, "patience": 60}
)


def weather(storm: Storm, query: Callable[[str], list[tuple[Any, ...]]]) -> None:
    print(f"seed {SEED}")
    asyncio.run(storm.rage())
    states = asyncio.run(judge(storm, query))
    blows = f"{storm.kills} workers killed, {storm.stops} stopped, {storm.restarts} restarts"
    print(f"{blows}; {storm.took:.0f} s; {dict(states)}")


@pytest.mark.once
@pytest.mark.covers("sqlite")
@pytest.mark.timeout(600)
def test_workers_are_killed_at_random_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"

    def query(statement: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(path)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()

    storm = Storm(SQLiteTaskStore(path), [str(path)], tmp_path / "journal", seed=SEED, **MEASURES)
    weather(storm, query)


@pytest.mark.once
@pytest.mark.covers("postgres")
@pytest.mark.timeout(600)
def test_workers_are_killed_at_random_and_the_server_is_restarted(
    place_on: Callable[..., Place], tmp_path: Path
) -> None:
    place = place_on("postgres", fsync=True)

    def query(statement: str) -> list[tuple[Any, ...]]:
        return place.cluster.execute(statement.replace("taskstate_", f'"{place.schema}".taskstate_'))

    store = PostgresTaskStore(place.conninfo, schema=place.schema)
    arguments = [place.conninfo, place.schema]
    restart = lambda: place.cluster.restart("immediate")  # noqa: E731 - one step of the storm
    storm = Storm(store, arguments, tmp_path / "journal", seed=SEED, restart=restart, **MEASURES)
    weather(storm, query)
