from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
from typing import Any

import pytest

from taskstate.core import MAX_DEPTH, format_path
from taskstate.core.faults import describe, state_fault, value_fault
from taskstate.errors import InvalidStateError, InvalidValueError, StateTooLargeError, TaskStateError

from . import strategies as own


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ((), "data"),
        (("report", "when"), "data.report.when"),
        (("a", 3, "b"), "data.a[3].b"),
        (("_x-1",), "data._x-1"),
        (("two words",), 'data["two words"]'),
        (("",), 'data[""]'),
        (("1",), 'data["1"]'),
        (("a.b",), 'data["a.b"]'),
        (('quo"te',), 'data["quo\\"te"]'),
        (("new\nline",), 'data["new\\nline"]'),
        (("end\n",), 'data["end\\n"]'),
        (("é",), 'data["\\u00e9"]'),
        (("\ud800",), 'data["\\ud800"]'),
        (("x" * 61,), f'data["{"x" * 60}..."]'),
        ((None, (1,), b"b", True, own.Text("x")), "data[NoneType][tuple][bytes][bool][Text (a subclass of str)]"),
    ],
)
def test_a_path_reads_as_an_expression(keys: Any, shown: str) -> None:
    assert format_path("data", keys) == shown


def test_a_path_without_a_name_begins_with_its_key() -> None:
    assert format_path("", ("data", "k")) == "data.k"
    assert format_path("", (0,)) == "[0]"
    assert format_path("", ()) == "state"


def test_odd_keys_are_quoted_in_messages(twin: Any) -> None:
    for key in ("two words", 'q"', "\n", "日", "", "x" * 1000):
        with pytest.raises(InvalidValueError) as caught:
            twin.clone({"a": {key: [b""]}}, "data")
        cut = key if len(key) <= 60 else key[:60] + "..."
        assert str(caught.value) == f"data.a[{json.dumps(cut)}][0]: bytes is not a JSON value"
        assert str(caught.value).isascii()


def test_the_example_of_the_documentation(twin: Any) -> None:
    with pytest.raises(InvalidValueError) as caught:
        twin.clone({"report": {"when": dt.datetime.now(tz=dt.UTC)}}, "data")
    assert str(caught.value) == "data.report.when: datetime is not a JSON value"
    assert (caught.value.path, caught.value.reason) == ("data.report.when", "datetime is not a JSON value")
    assert isinstance(caught.value, TaskStateError)
    assert isinstance(caught.value, ValueError)


def test_a_type_is_named_with_the_json_type_below_it() -> None:
    assert describe(own.Level.LOW) == "Level (a subclass of int)"
    assert describe(True) == "bool"
    assert describe(1) == "int"
    long = type("N" * 500, (), {})
    assert describe(long()) == "N" * 100


def errors_of(twin: Any) -> list[InvalidValueError]:
    cycle: list[Any] = []
    cycle.append(cycle)
    calls: list[Any] = [
        lambda: twin.clone({"a": b""}),
        lambda: twin.validate({1: 1}),
        lambda: twin.clone("x" * 99, "data", max_bytes=9),
        lambda: twin.clone(cycle),
        lambda: twin.check_state({"checkpoints": [{}], "files": [], "data": {}}),
        lambda: twin.render_block([], None),
    ]
    found = []
    for call in calls:
        with pytest.raises(InvalidValueError) as caught:
            call()
        found.append(caught.value)
    return found


def test_errors_survive_pickling_and_copying(twin: Any) -> None:
    errors = errors_of(twin)
    assert [type(error) for error in errors] == [
        InvalidValueError,
        InvalidValueError,
        StateTooLargeError,
        InvalidValueError,
        InvalidStateError,
        InvalidStateError,
    ]
    for error in errors:
        for same in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert type(same) is type(error)
            assert (str(same), same.path, same.reason, same.code) == (str(error), error.path, error.reason, error.code)


def test_an_error_carries_no_cause_and_no_notes(twin: Any) -> None:
    for error in errors_of(twin):
        assert error.__cause__ is None
        assert error.__suppress_context__ or error.__context__ is None
        assert not hasattr(error, "__notes__")


def test_a_value_that_somebody_changes_meanwhile_is_still_a_typed_error() -> None:
    """The path to the fault may be gone when the message is made."""
    roots: list[Any] = [{}, {"a": {}}, {"a": 5}, [], None]
    for root in roots:
        error = value_fault("too_deep", "value", ["a"] * 201, root)
        assert error.reason == f"nested deeper than {MAX_DEPTH} levels"


def test_a_state_fault_says_what_is_wanted() -> None:
    assert str(state_fault("missing", "child", ("data",), None)) == "child.data: missing"
    assert str(state_fault("a dict", "", ("data",), 5)) == "data: int is not a dict"
