"""The records of both twins agree on whatever they are given: result, error, message, path, reason, id.

Not collected where there is one twin only (see `conftest.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.core import _native, _pure
from taskstate.errors import AgentStateError

from . import record_strategies as near
from . import strategies as own
from .records import parts

pytestmark = [pytest.mark.once, pytest.mark.covers("native", "pure")]

TWINS = (_native.Record, _pure.Record)


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call gives, as text that tells 1 from 1.0 and shows the order of keys."""
    try:
        return "result", repr(call())
    except AgentStateError as error:
        return (*parts(error), error.__notes__)


def agree(call: Callable[[Any], Any]) -> tuple[Any, ...]:
    native, pure = (outcome(lambda twin=twin: call(twin)) for twin in TWINS)
    assert native == pure
    return native


def public(twin: Any) -> list[str]:
    return sorted(name for name in dir(twin) if not name.startswith("_"))


def test_the_records_have_the_same_methods_with_the_same_parameters_and_docstrings() -> None:
    assert public(_native.Record) == public(_pure.Record)
    assert inspect.getdoc(_native.Record) == inspect.getdoc(_pure.Record)
    for name in public(_pure.Record):
        native, pure = (getattr(twin, name) for twin in TWINS)
        assert inspect.getdoc(native) == inspect.getdoc(pure), name
        shapes = [
            [(p.name, p.default) for p in inspect.signature(method).parameters.values() if p.name != "self"]
            for method in (native, pure)
        ]
        assert shapes[0] == shapes[1], name


@given(value=near.near_snapshots() | own.any_values)
def test_making_a_record(value: Any) -> None:
    before = repr(value)
    agree(lambda twin: twin.create(value).snapshot())
    agree(lambda twin: twin.restore(value, True).snapshot())
    found = agree(lambda twin: twin.restore(value).snapshot())
    assert repr(value) == before
    if found[0] == "result":
        agree(lambda twin: twin.restore(value).to_json())
        agree(lambda twin: twin.restore(value).summary())
        agree(lambda twin: twin.restore(value).copy().snapshot())


@given(text=near.near_texts() | st.text(max_size=20), reject_unknown=st.booleans())
def test_reading_a_text(text: str, reject_unknown: bool) -> None:
    agree(lambda twin: twin.from_json(text, reject_unknown).snapshot())
    encoded = text.encode("utf-8", "surrogatepass")
    agree(lambda twin: twin.from_json(encoded, reject_unknown).snapshot())


@given(text=near.near_texts(), place=st.integers(0), byte=st.integers(0, 255))
def test_reading_bytes_that_need_not_be_utf_8(text: str, place: int, byte: int) -> None:
    encoded = bytearray(text.encode("utf-8", "surrogatepass"))
    if encoded:
        encoded[place % len(encoded)] = byte
    agree(lambda twin: twin.from_json(bytes(encoded)).snapshot())


@given(value=near.snapshots(), calls=st.lists(near.calls, max_size=12))
def test_calling_methods_in_any_order(value: Any, calls: list[tuple[Any, ...]]) -> None:
    native, pure = (twin.restore(value) for twin in TWINS)
    for name, *arguments in calls:
        found = [outcome(partial(getattr(one, name), *arguments)) for one in (native, pure)]
        assert found[0] == found[1]
        assert repr(native.snapshot()) == repr(pure.snapshot())
    copies = native.copy(), pure.copy()
    assert repr(copies[0].snapshot()) == repr(copies[1].snapshot()) == repr(pure.snapshot())
    assert native.to_json() == pure.to_json()


@given(
    levels=st.integers(190, 210), lists=st.booleans(), where=st.sampled_from(["extra", "id", "workItems", "objective"])
)
def test_depth(levels: int, lists: bool, where: str) -> None:
    start, end = ("[", "]") if lists else ('{"k":', "}")
    deep = start * levels + "1" + end * levels
    rest = '"schemaVersion":1,"decisions":[]'
    texts = {
        "extra": f'{{{rest},"workItems":[],"extra":{deep}}}',
        "id": f'{{{rest},"workItems":[{{"id":{deep}}}]}}',
        "workItems": f'{{{rest},"workItems":{deep}}}',
        "objective": f'{{{rest},"objective":{deep}}}',
    }
    agree(lambda twin: twin.from_json(texts[where]).snapshot())
    agree(lambda twin: twin.from_json(deep))
