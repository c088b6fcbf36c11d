from __future__ import annotations

import copy
from typing import Any

import copium
import orjson
from pytest_benchmark.fixture import BenchmarkFixture

from benches import floor
from taskstate import core


def test_clone(benchmark: BenchmarkFixture, state: Any) -> None:
    assert benchmark(core.clone, state) == state


def test_clone_by_compiled_floor(benchmark: BenchmarkFixture, state: Any) -> None:
    assert benchmark(floor.load(), state) == state


def test_clone_by_copium(benchmark: BenchmarkFixture, state: Any) -> None:
    assert benchmark(copium.deepcopy, state) == state


def test_clone_by_orjson_round_trip(benchmark: BenchmarkFixture, state: Any) -> None:
    assert benchmark(lambda: orjson.loads(orjson.dumps(state))) == state


def test_clone_by_deepcopy(benchmark: BenchmarkFixture, state: Any) -> None:
    assert benchmark(copy.deepcopy, state) == state


def test_validate(benchmark: BenchmarkFixture, state: Any) -> None:
    benchmark(core.validate, state)


def test_equal(benchmark: BenchmarkFixture, state: Any) -> None:
    assert benchmark(core.equal, state, copy.deepcopy(state))
