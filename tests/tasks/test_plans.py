"""What is done all the time looks at what is due, not at what is there.

Counted in rows and in the steps of SQLite's machine, not in time. `CHAOS=long` (`make chaos`) adds a million tasks.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from postgres.fixtures import Place
from taskstate.tasks.stores import postgres, sqlite
from taskstate.tasks.stores.postgres import PostgresTaskStore
from taskstate.tasks.stores.sqlite import SQLiteTaskStore

pytestmark = pytest.mark.once

SIZES = [1_000, 200_000] + [1_000_000] * (os.environ.get("CHAOS") == "long")
LIMIT = 10
ROWS = 100  # that a statement which gives up to LIMIT may touch in one step of its plan
STEPS = 4_000  # of SQLite's machine for such a statement

# A fifth of the tasks are roots with four children each. Of each kind that can be due the first few are.
FILL = """
INSERT INTO taskstate_conversation (id, owner, generation) SELECT 'v' || n, '', 2 FROM {conversations};
INSERT INTO taskstate_task (
    id, name, version, mode, state, priority, max_attempts, lease_ms, root_id, owner, parent_id, parent_key,
    parent_ordinal, awaited, subscribed, conversation_id, generation, input, input_hash, result_limit, created_at,
    lease_expires_at, cancel_due_at, finished_at, available_at)
SELECT
    't' || n, 'name' || CAST(n / 20 % 3 AS text), 1, 'background',
    CASE n % 20 WHEN 0 THEN 'ready' WHEN 5 THEN 'running' WHEN 6 THEN 'running' WHEN 10 THEN 'suspended'
        WHEN 1 THEN 'scheduled' WHEN 2 THEN 'scheduled' ELSE 'succeeded' END,
    0, 3, 1000, 't' || CAST(n - n % 5 AS text), '',
    CASE WHEN n % 5 > 0 THEN 't' || CAST(n - n % 5 AS text) END, CASE WHEN n % 5 > 0 THEN 'k' END,
    CASE WHEN n % 5 > 0 THEN n % 5 END, CASE WHEN n % 5 > 0 THEN 1 ELSE 0 END, CASE WHEN n % 5 > 0 THEN 0 ELSE 1 END,
    'v' || CAST(n / 5 % 10000 AS text), 1, '1', '', 100, 0,
    CASE WHEN n % 20 IN (5, 6) THEN CASE WHEN n < 400 THEN 1 ELSE 9000000000000 END END,
    CASE WHEN n % 20 = 6 THEN CASE WHEN n < 400 THEN 1 ELSE 9000000000000 END END,
    CASE WHEN n % 20 NOT IN (0, 1, 2, 5, 6, 10) THEN 1 END,
    CASE WHEN n % 20 IN (1, 10) THEN CASE WHEN n < 400 THEN 1 ELSE 9000000000000 END END
FROM {tasks};
INSERT INTO taskstate_wait (id, task_id, key, kind, opened_at, outcome)
SELECT 'w' || id, id, 'k', 'children', 0, CASE WHEN finished_at IS NOT NULL THEN 'children' END
FROM taskstate_task WHERE parent_id IS NULL;
INSERT INTO taskstate_delivery (task_id, target, target_id, kind, generation, seq, state, available_at, created_at)
SELECT
    id, CASE WHEN parent_id IS NULL THEN 'conversation' ELSE 'parent' END, coalesce(parent_id, conversation_id),
    'result', 2, 1, CASE WHEN seq < 400 THEN 'pending' ELSE 'delivered' END, 0, 0
FROM taskstate_task;
INSERT INTO taskstate_inbox (conversation_id, delivery_id, seq, acked_at)
SELECT target_id, id, id, CASE WHEN id % 2 > 0 THEN 1 END FROM taskstate_delivery
WHERE target = 'conversation' AND state = 'delivered';
"""

# The index by which each is reached; None: in whatever way, as long as little is read.
EITHER: dict[str, str | None] = {
    "due_scheduled": "taskstate_task_scheduled",
    "due_waiting": "taskstate_task_waiting",
    "due_leases": "taskstate_task_leased",
    "due_cancels": "taskstate_task_cancelling",
    "next_due": "taskstate_task_leased",
    "pending_targets": "taskstate_delivery_pending",
    "pending_due": "taskstate_delivery_pending",
    "pending_of": "taskstate_delivery_target",
    "waits_children": None,
    "children_left": None,
    "slots_held": "taskstate_task_slot",
    "slots_wanted": "taskstate_task_placeless",
    "awaited_left": None,
    "inbox_take": None,
    "subtree_lock": None,
    "waits_open_below": None,
    "flight_find": "taskstate_task_flight",
    "bound_lock": "taskstate_task_bound",
    "purge_find": "taskstate_task_ended",
    "purge_count": "taskstate_task_tree",
}
ON_SQLITE = EITHER | {"claim_find": "taskstate_task_ready", "beat": None, "children": "taskstate_task_child"}
ON_POSTGRES = EITHER | {"claim": "taskstate_task_ready", "beats": None, "finish_well": None}

VALUES: dict[str, Any] = {
    "limit": LIMIT, "names": ["name0", "name1"], "versions": [1, 1], "quotas": [LIMIT, LIMIT], "worker": "w",
    "name": "name0", "version": 1, "id": "t5", "task_id": "t20", "parent_id": "t20", "parent_key": "k", "keys": ["k"],
    "target": "parent", "target_id": "t20", "conversation_id": "v100", "generation": 2, "offer_ms": 1000, "owner": "",
    "single_flight": "f", "state": "succeeded", "ttl_ms": 1, "ids": ["t5", "t25"], "fence": 0, "fences": [0, 0],
    "results": ["1", "1"], "endings": ["", ""],
}  # fmt: skip


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def _open(store: SQLiteTaskStore | PostgresTaskStore) -> None:
    async def make() -> None:
        await store.open()
        await store.close()

    asyncio.run(make())


@pytest.mark.covers("sqlite")
def test_a_file_is_searched_by_its_indexes(size: int, tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    _open(SQLiteTaskStore(path))
    queries = sqlite._queries(sqlite._MACHINE_CLOCK)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(f"BEGIN; {FILL.format(conversations=_numbers(10_000), tasks=_numbers(size))} COMMIT")
    for name, index in ON_SQLITE.items():
        text, values = queries[name].text, sqlite._adapted(VALUES)
        plan = "\n".join(row[3] for row in connection.execute("EXPLAIN QUERY PLAN " + text, values))
        assert index is None or index in plan, (name, plan)
        assert not re.search(r"SCAN taskstate_\w+(?! USING)", plan), (name, plan)
        assert "TEMP B-TREE" not in plan or not name.startswith(("due_", "claim")), (name, plan)
        assert _steps(connection, text, values) < STEPS, (name, plan)
    connection.close()
    path.unlink()


def _numbers(count: int) -> str:
    return f"(WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < {count - 1}) SELECT n FROM s)"


def _steps(connection: sqlite3.Connection, text: str, values: dict[str, Any]) -> int:
    """How many instructions SQLite's machine takes for a statement, which is undone afterwards."""
    taken: list[None] = []
    connection.execute("BEGIN")
    connection.set_progress_handler(lambda: taken.append(None), 1)
    connection.execute(text, values).fetchall()
    connection.set_progress_handler(None, 1)
    connection.execute("ROLLBACK")
    return len(taken)


@pytest.mark.covers("postgres")
def test_a_schema_is_searched_by_its_indexes(size: int, place_on: Callable[..., Place]) -> None:
    """Also while the server's planner knows nothing of the tables yet."""
    place = place_on("postgres")
    _open(PostgresTaskStore(place.conninfo, schema=place.schema))
    text = FILL.format(
        conversations="generate_series(0, 9999) AS n", tasks=f"generate_series(0, {size - 1}) AS n"
    ).replace("taskstate_", f'"{place.schema}".taskstate_')
    place.cluster.execute(text)
    _all_reach_little(place, size, known=False)
    place.cluster.execute("ANALYZE")
    _all_reach_little(place, size, known=True)


def _all_reach_little(place: Place, size: int, *, known: bool) -> None:
    """As the store prepares its statements, and after so many executions that the server may plan for any values."""
    queries = postgres._statements(place.schema)
    most = ROWS if size > 1_000 else size  # a table of a few pages is read as a whole
    with psycopg.connect(place.conninfo, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        for name, index in ON_POSTGRES.items():
            text, names = postgres._numbered(queries[name].text)
            values = [VALUES[one] for one in names]
            connection.execute("BEGIN")
            for _ in range(6):
                connection.execute(text, values, prepare=True)
            for mode in ("auto", "force_custom_plan", "force_generic_plan"):
                connection.execute(f"SET LOCAL plan_cache_mode = {mode}")
                plan = _plan(connection, text, values)
                assert not re.search(r"Seq Scan on taskstate_(task|delivery)", plan), (name, mode, plan)
                assert max(_touched(plan)) <= most, (name, mode, plan)
                assert not known or index is None or index in plan, (name, mode, plan)
            (generic,) = connection.execute(PLANNED, [text.decode()]).fetchone() or (0,)
            assert generic, f"{name} was never planned for any values"
            connection.execute("ROLLBACK")


PLANNED = "SELECT generic_plans FROM pg_prepared_statements WHERE statement = $1"


def _plan(connection: psycopg.Connection[Any], text: bytes, values: list[Any]) -> str:
    """The plan that the server has for a statement which was prepared through the protocol, and what it came to."""
    ((name,),) = connection.execute("SELECT name FROM pg_prepared_statements WHERE statement = $1", [text.decode()])
    given = sql.SQL(", ").join(sql.Literal(value) for value in values)
    execute = sql.SQL("EXPLAIN (ANALYZE, TIMING OFF) EXECUTE {}").format(sql.Identifier(name))
    if values:
        execute += sql.SQL("({})").format(given)
    return "\n".join(row[0] for row in connection.execute(execute.as_bytes(connection)))


def _touched(plan: str) -> list[float]:
    """How many rows each step of a plan gave or threw away, in all its rounds."""
    found = [0.0]
    for line in plan.splitlines():
        if made := re.search(r"\(actual rows=([\d.]+) loops=(\d+)\)", line):
            rounds = int(made[2])
            found.append(float(made[1]) * rounds)
        elif away := re.search(r"Rows Removed by [\w ]+: (\d+)", line):
            found[-1] += int(away[1]) * rounds
    return found
