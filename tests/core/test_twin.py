"""The twins agree on any JSON-like value, valid or not: result, error class, message, path.

Their records are compared in `test_record_twin.py`. Not collected where there is one twin only (see `conftest.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate import core
from taskstate.core import _native, _pure, block, twin
from taskstate.errors import InvalidValueError, TaskStateError

from . import strategies as own
from .test_render import TOKENIZERS

pytestmark = [pytest.mark.once, pytest.mark.covers("native", "pure")]

FUNCTIONS = ["check_state", "clone", "equal", "measure", "merge", "render_block", "render_parts", "validate"]


def outcome(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[Any, ...]:
    """What a call gives, as text that tells 1 from 1.0 and shows the order of keys."""
    try:
        return "result", repr(function(*arguments, **options))
    except TaskStateError as error:
        return type(error), str(error), getattr(error, "path", None), getattr(error, "reason", None)


def agree(name: str, *arguments: Any, **options: Any) -> tuple[Any, ...]:
    before = repr((arguments, options))
    native, pure = (outcome(getattr(one, name), *arguments, **options) for one in (_native, _pure))
    assert native == pure
    assert repr((arguments, options)) == before
    return native


def test_the_twins_have_the_same_functions_with_the_same_parameters_and_docstrings() -> None:
    names = {*FUNCTIONS, "Record"}
    assert names == set(_pure.__all__)
    assert names == {name for name in vars(_native) if not name.startswith("_")}
    assert names < set(twin.__all__)
    for name in FUNCTIONS:
        assert inspect.getdoc(getattr(_native, name)) == inspect.getdoc(getattr(_pure, name))
        native, pure = (inspect.signature(getattr(one, name)).parameters for one in (_native, _pure))
        assert [(p.name, p.kind, p.default) for p in native.values()] == [
            (p.name, p.kind, p.default) for p in pure.values()
        ]


names = st.sampled_from(["", "value", "data"])
limits = st.sampled_from([0, 8, 20, 50, 200, 2**26])


@given(value=own.any_values, name=names, max_bytes=limits, depth=st.sampled_from([0, 0, 1, 196, 199, 200]))
def test_checking(value: Any, name: str, max_bytes: int, depth: int) -> None:
    cloned = agree("clone", value, name, max_bytes=max_bytes, depth=depth)
    checked = agree("validate", value, name, max_bytes=max_bytes, depth=depth)
    assert cloned == checked or cloned[0] == "result" == checked[0]
    agree("measure", value, name, max_bytes=max_bytes)


@given(left=own.any_values, right=own.any_values)
def test_comparing(left: Any, right: Any) -> None:
    agree("equal", left, right)
    agree("equal", left, own.copied(left))
    agree("equal", [left], [right])


@given(value=own.loose_states(), name=names)
def test_checking_a_state(value: Any, name: str) -> None:
    agree("check_state", value, name)


@given(parent=st.none() | own.loose_states(), child=own.loose_states(), base=st.none() | own.loose_states())
def test_merging_anything(parent: Any, child: Any, base: Any) -> None:
    for mode in ("shallow", "namespace", "three_way", "other"):
        agree("merge", parent, child, mode=mode, execution_id="exec", base=base)


@given(family=own.families())
def test_merging_a_family(family: Any) -> None:
    base, parent, child = family
    for mode in ("shallow", "namespace", "three_way"):
        assert agree("merge", parent, child, mode=mode, execution_id="exec", base=base)[0] == "result"


def seen(parts: tuple[str, list[str], int, str, bool], limit: int) -> tuple[Any, ...]:
    """What counts of the pieces: how far past the limit a twin reads is its own business."""
    head, entries, total, tail, whole = parts
    text = (head + tail).encode("utf-16-le")
    return (head, entries, total, tail) if whole else (total, text[: 2 * limit])


@given(value=own.loose_states(), limit=st.none() | st.integers(0, 300) | st.integers(0, 6000))
def test_rendering(value: Any, limit: int | None) -> None:
    agree("render_block", value, limit)
    if limit is None:
        agree("render_parts", value, None)
        return
    native, pure = (outcome(one.render_parts, value, limit) for one in (_native, _pure))
    if native[0] == "result":
        native, pure = (seen(one.render_parts(value, limit), limit) for one in (_native, _pure))
    assert native == pure


@pytest.mark.parametrize("count", [None, *TOKENIZERS.values()], ids=["estimate", *TOKENIZERS])
@given(value=own.loose_states(), budget=st.integers(1, 100) | st.integers(1, 4000))
def test_rendering_within_a_budget(count: Any, value: Any, budget: int) -> None:
    found = []
    for one in (_native, _pure):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(twin, "render_block", one.render_block)
            patch.setattr(twin, "render_parts", one.render_parts)
            found.append(outcome(block.render, value, budget, count))
    assert found[0] == found[1]


@given(levels=st.integers(195, 205), leaf=own.any_values, lists=st.booleans())
def test_depth(levels: int, leaf: Any, lists: bool) -> None:
    value = leaf
    for _ in range(levels):
        value = [value] if lists else {"k": value}
    other = own.copied(value)
    for name in ("clone", "validate", "measure"):
        agree(name, value)
    agree("equal", value, other)
    state = {"checkpoints": [], "files": [], "data": {"k": value}}
    agree("render_block", state, None)
    agree("merge", state, own.copied(state), mode="three_way", base=state)
    agree("merge", state, {**state, "data": {"k": other}}, mode="three_way", base={**state, "data": {}})


def test_the_native_core_has_the_limits_that_the_library_states() -> None:
    """Its copies of the numbers, seen from outside."""
    for function in (_native.clone, _native.validate, _native.measure):
        assert inspect.signature(function).parameters["max_bytes"].default == core.DEFAULT_MAX_BYTES
    deep: Any = []
    for _ in range(core.MAX_DEPTH - 1):
        deep = [deep]
    _native.validate(deep)
    with pytest.raises(InvalidValueError, match=f"nested deeper than {core.MAX_DEPTH} levels"):
        _native.validate([deep])
    many = {**core.empty_state(), "checkpoints": [{"timestamp": 1, "depth": 0}] * 60}
    merged, _ = _native.merge(many, many)
    assert len(merged["checkpoints"]) == core.MAX_CHECKPOINTS
    ended = {**core.empty_state(), "data": {core.OUTCOME_KEY: "failure"}}
    merged, _ = _native.merge(None, ended, mode="three_way")
    assert merged["data"] == {}
