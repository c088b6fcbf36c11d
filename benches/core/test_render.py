from __future__ import annotations

from typing import Any

import orjson
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.states import huge
from taskstate import core


@pytest.mark.parametrize("budget", [100, 800, 0], ids=["100", "800", "whole"])
def test_render(benchmark: BenchmarkFixture, state: Any, budget: int) -> None:
    _, tokens = benchmark(core.render, state, budget)
    assert tokens <= budget or not budget


def test_render_10_mb_at_800(benchmark: BenchmarkFixture) -> None:
    _, tokens = benchmark(core.render, huge(), 800)
    assert tokens == 800


def test_render_by_orjson_indented(benchmark: BenchmarkFixture, state: Any) -> None:
    benchmark(orjson.dumps, state, option=orjson.OPT_INDENT_2)
