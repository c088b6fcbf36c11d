"""What is done all the time looks at what is due, not at what is there."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postgres.fixtures import Place
from taskstate.tasks.stores import postgres, sqlite
from taskstate.tasks.stores.postgres import PostgresTaskStore
from taskstate.tasks.stores.sqlite import SQLiteTaskStore

pytestmark = pytest.mark.once

ROWS = 50_000
FILL = """
INSERT INTO taskstate_task (id, name, version, mode, state, priority, max_attempts, lease_ms, root_id, owner,
    generation, input, input_hash, result_limit, created_at, lease_expires_at, finished_at, available_at)
SELECT 't' || n, 'name' || CAST(n % 3 AS text), 1, 'background',
    CASE n % 4 WHEN 0 THEN 'ready' WHEN 1 THEN 'running' WHEN 2 THEN 'suspended' ELSE 'succeeded' END,
    0, 1, 1000, 't' || n, '', 0, '1', '', 100, 0,
    CASE n % 4 WHEN 1 THEN 9000000000000 END, CASE n % 4 WHEN 3 THEN 1 END, CASE n % 4 WHEN 2 THEN 9000000000000 END
FROM {series}
"""

DELIVERED = """
INSERT INTO taskstate_delivery (
    task_id, target, target_id, kind, generation, seq, state, available_at, created_at)
SELECT id, 'parent', 't1', 'result', 0, 1, 'delivered', 0, 0 FROM taskstate_task
"""

BY_INDEX = {
    "due_scheduled": "taskstate_task_scheduled",
    "due_waiting": "taskstate_task_waiting",
    "due_leases": "taskstate_task_leased",
    "due_cancels": "taskstate_task_cancelling",
    "pending_targets": "taskstate_delivery_pending",
    "purge_find": "taskstate_task_ended",
    "bound_lock": "taskstate_task_bound",
}
VALUES = {
    "limit": 10, "state": "succeeded", "ttl_ms": 1, "conversation_id": "c", "generation": 1, "parent_id": "t1",
    "parent_key": "k", "name": "name0", "version": 1,
}  # fmt: skip


@pytest.mark.covers("sqlite")
def test_a_file_is_searched_by_its_indexes(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    store = SQLiteTaskStore(path)
    asyncio.run(store.open())
    asyncio.run(store.close())
    connection = sqlite3.connect(path)
    series = f"(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {ROWS}) SELECT n FROM s)"
    connection.execute(FILL.format(series=series))
    queries = sqlite._queries(sqlite._MACHINE_CLOCK)
    for name, index in (BY_INDEX | {"claim_find": "taskstate_task_ready", "children": "taskstate_task_child"}).items():
        plan = connection.execute("EXPLAIN QUERY PLAN " + queries[name].text, VALUES).fetchall()
        text = "\n".join(row[3] for row in plan)
        assert index in text, (name, text)
        assert not re.search(r"SCAN taskstate_task(?! USING)", text), (name, text)
        assert "TEMP B-TREE" not in text or not name.startswith(("due_", "claim")), (name, text)
    connection.close()


@pytest.fixture
def filled(place_on: Callable[..., Place]) -> Place:
    place = place_on("postgres")

    async def make() -> None:
        store = PostgresTaskStore(place.conninfo, schema=place.schema)
        await store.open()
        await store.close()

    asyncio.run(make())
    for text in (FILL.format(series=f"generate_series(1, {ROWS}) AS n"), DELIVERED):
        place.cluster.execute(text.replace("taskstate_", f'"{place.schema}".taskstate_'))
    for table in ("task", "delivery"):
        place.cluster.execute(f'ANALYZE "{place.schema}".taskstate_{table}')
    return place


CLAIM = {"names": ["name0", "name1"], "versions": [1, 1], "quotas": [10, 10], "limit": 10, "worker": "w"}


@pytest.mark.covers("postgres")
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_a_schema_is_searched_by_its_indexes(filled: Place, mode: str) -> None:
    queries = postgres._statements(filled.schema)
    with psycopg.connect(filled.conninfo, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        connection.execute(f"SET plan_cache_mode = {mode}")
        for name, index in (BY_INDEX | {"claim": "taskstate_task_ready"}).items():
            text, names = postgres._numbered(queries[name].text)
            values: dict[str, Any] = VALUES | CLAIM if name == "claim" else VALUES
            plan = connection.execute(b"EXPLAIN " + text, [values[one] for one in names], prepare=True).fetchall()
            shown = "\n".join(row[0] for row in plan)
            assert index in shown, (name, shown)
            assert "Seq Scan on taskstate_task" not in shown, (name, shown)


@pytest.mark.covers("postgres")
def test_a_claim_reads_what_it_takes(filled: Place) -> None:
    queries = postgres._statements(filled.schema)
    text, names = postgres._numbered(queries["claim"].text)
    with psycopg.connect(filled.conninfo, cursor_factory=psycopg.RawCursor) as connection:
        plan = connection.execute(b"EXPLAIN (ANALYZE, TIMING OFF) " + text, [CLAIM[one] for one in names]).fetchall()
    counts = [int(float(found)) for (line,) in plan for found in re.findall(r"rows=([\d.]+) loops", line)]
    assert counts
    assert max(counts) <= 20, "\n".join(row[0] for row in plan)
