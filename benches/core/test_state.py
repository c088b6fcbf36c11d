from __future__ import annotations

import copy
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from taskstate import core


@pytest.mark.parametrize("mode", ["shallow", "namespace", "three_way"])
def test_merge_of_a_child_that_changed_nothing(benchmark: BenchmarkFixture, state: Any, mode: str) -> None:
    child = copy.deepcopy(state)
    merged = benchmark(core.merge, state, child, mode=mode, execution_id="child", base=state)
    assert (merged["data"] == state["data"]) == (mode != "namespace")


def test_check_state(benchmark: BenchmarkFixture, state: Any) -> None:
    benchmark(core.check_state, state)
