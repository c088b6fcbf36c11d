from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.records import ADAPTER, DECODER, SnapshotStruct, agent_state
from taskstate.record import AgentState, diff, render_agent_state, restore_agent_state, summarize_agent_state

ITEMS = 1000


@pytest.fixture
def snapshot() -> Any:
    return agent_state(ITEMS)


@pytest.fixture
def text(snapshot: Any) -> bytes:
    return orjson.dumps(snapshot)


def test_restore(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    assert len(benchmark(restore_agent_state, snapshot)) == ITEMS


def test_restore_by_msgspec(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    benchmark(msgspec.convert, snapshot, SnapshotStruct)


def test_restore_by_pydantic(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    benchmark(ADAPTER.validate_python, snapshot)


def test_snapshot(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    assert benchmark(restore_agent_state(snapshot).snapshot) == snapshot


def test_snapshot_by_copying_dicts(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    benchmark(lambda items: [dict(item) for item in items], snapshot["workItems"])


def test_summary_of_a_live_record(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    assert benchmark(summarize_agent_state, restore_agent_state(snapshot))["total"] == ITEMS


def test_from_json(benchmark: BenchmarkFixture, text: bytes) -> None:
    assert len(benchmark(AgentState.from_json, text)) == ITEMS


def test_from_json_by_msgspec(benchmark: BenchmarkFixture, text: bytes) -> None:
    benchmark(DECODER.decode, text)


def test_to_json(benchmark: BenchmarkFixture, snapshot: Any, text: bytes) -> None:
    assert benchmark(restore_agent_state(snapshot).to_json).encode() == text


def test_to_json_by_orjson(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    benchmark(orjson.dumps, snapshot)


def test_render(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    assert "Not shown here" in benchmark(render_agent_state, restore_agent_state(snapshot), 800)


def test_diff(benchmark: BenchmarkFixture, snapshot: Any) -> None:
    state = restore_agent_state(snapshot)
    assert benchmark(diff, state, state)["added"]["workItems"] == []
