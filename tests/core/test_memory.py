"""Nothing is left behind, however often a function runs: not on its normal path and not on an error."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskstate.errors import TaskStateError

CYCLES = 100_000
BASE: dict[str, Any] = {"checkpoints": [{"timestamp": 1, "depth": 0}], "files": ["f"], "data": {"d": {"x": 1}}}
PARENT = {**BASE, "data": {"d": {"x": 2, "é": "日"}}}
CHILD = {**BASE, "files": ["f", "g"], "data": {"d": {"x": 3, "y": (1, "😀")}}}
LOOP: list[Any] = [{}]
LOOP[0]["again"] = LOOP
BIG = 2**70


def resident() -> int:
    """The memory of this process in bytes."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def refused(function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    try:
        function(*arguments, **options)
    except TaskStateError:
        return
    raise AssertionError("not refused")


def work(twin: Any) -> dict[str, Callable[[], Any]]:
    bad_state = {**BASE, "files": [1]}
    unhappy = {
        "not JSON": lambda: refused(twin.clone, {"a": ["text", {"b": b""}]}),
        "bad key": lambda: refused(twin.clone, {"a": {1: 1}}),
        "surrogate": lambda: refused(twin.validate, ["日\ud800"]),
        "too large": lambda: refused(twin.clone, ["x" * 50], max_bytes=20),
        "integer": lambda: refused(twin.validate, {"a": [BIG]}),
        "no state": lambda: refused(twin.check_state, bad_state),
        "no merge": lambda: refused(twin.merge, BASE, bad_state, mode="three_way", base=BASE),
        "no mode": lambda: refused(twin.merge, BASE, BASE, mode="x"),
        "no block": lambda: refused(twin.render_block, {**BASE, "data": {"a": [b""]}}, None),
    }
    return {
        "clone": lambda: twin.clone(CHILD),
        "validate": lambda: twin.validate(CHILD),
        "equal": lambda: twin.equal(PARENT, CHILD),
        "shallow": lambda: twin.merge(PARENT, CHILD),
        "three_way": lambda: twin.merge(PARENT, CHILD, mode="three_way", base=BASE),
        "render_block": lambda: twin.render_block(CHILD, 100),
        "render_parts": lambda: twin.render_parts(CHILD, 500),
        **unhappy,
    }


NAMES = list(work(None))


def grown(step: Callable[[], Any], cycles: int) -> tuple[int, int]:
    """By how many blocks and bytes memory grew over so many cycles, after a warm-up."""
    for _ in range(cycles // 10):
        step()
    gc.collect()
    blocks, size = sys.getallocatedblocks(), resident()
    for _ in range(cycles):
        step()
    gc.collect()
    return sys.getallocatedblocks() - blocks, resident() - size


def test_memory_does_not_grow_over_100_000_cycles(twin: Any) -> None:
    """Each cycle runs one function, in turn, so that all get their share."""
    steps = list(work(twin).values())
    rounds = CYCLES // len(steps) + 1

    def cycle() -> None:
        for step in steps:
            step()

    blocks, size = grown(cycle, rounds)
    assert blocks < 500
    assert size < 4 * 1024 * 1024


@pytest.mark.parametrize("name", NAMES)
def test_no_single_path_leaks(twin: Any, name: str) -> None:
    blocks, size = grown(work(twin)[name], 2_000)
    assert blocks < 200, "an object for every tenth cycle"
    assert size < 2 * 1024 * 1024


def test_a_refused_cycle_leaves_nothing(twin: Any) -> None:
    blocks, size = grown(lambda: refused(twin.clone, LOOP), 300)
    assert blocks < 100
    assert size < 2 * 1024 * 1024


def test_reference_counts_are_as_before(twin: Any) -> None:
    leaf, key = ["leaf"], " ".join(["a", *"key"])
    value = {key: [leaf, {"x": leaf}]}
    bad = {**value, "bad": [b"x"]}
    state = {**BASE, "data": value}
    counts = [sys.getrefcount(one) for one in (leaf, key, value, state, bad)]
    for _ in range(50):
        twin.clone(value)
        twin.validate(value)
        twin.equal(value, {key: [leaf, {"x": ["leaf"]}]})
        twin.render_block(state, 60)
        for mode in ("shallow", "namespace", "three_way"):
            twin.merge(state, {**state, "data": {key: 1}}, mode=mode, base=state)
        refused(twin.clone, bad)
        refused(twin.validate, bad)
        refused(twin.render_block, {**state, "data": bad}, None)
    gc.collect()
    assert [sys.getrefcount(one) for one in (leaf, key, value, state, bad)] == counts


def test_a_copy_that_would_be_too_large_is_not_made_first(twin: Any) -> None:
    """A hundred shared containers can stand for 2^100 values."""
    value: Any = {}
    for _ in range(100):
        value = {"a": value, "b": value}
    before = resident()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(twin.clone, value, max_bytes=16 * 1024 * 1024)
    assert resident() - before < 64 * 1024 * 1024
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 64 * 1024
