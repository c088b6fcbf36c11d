from __future__ import annotations

import collections
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import threading
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.errors import InvalidValueError, StateTooLargeError

from . import strategies as own


class Point(NamedTuple):
    x: int
    y: int


class Colour(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    YES = "yes"


class Model(pydantic.BaseModel):
    name: str


@dataclasses.dataclass
class Record:
    name: str


def nest(levels: int, leaf: Any = None, *, lists: bool = False) -> Any:
    value = leaf
    for _ in range(levels):
        value = [value] if lists else {"k": value}
    return value


def containers(value: Any) -> Iterator[int]:
    if type(value) in (dict, list):
        yield id(value)
        for item in value.values() if type(value) is dict else value:
            yield from containers(item)


@pytest.fixture(params=["clone", "validate", "measure"])
def check(request: pytest.FixtureRequest, twin: Any) -> Callable[..., Any]:
    """Each function that checks a value."""
    return getattr(twin, request.param)  # type: ignore[no-any-return]


REFUSED = {
    "Text (a subclass of str)": own.Text("x"),
    "Word (a subclass of str)": Word.YES,
    "Number (a subclass of int)": own.Number(1),
    "Level (a subclass of int)": own.Level.LOW,
    "Real (a subclass of float)": own.Real(1.5),
    "Mapping (a subclass of dict)": own.Mapping(a=1),
    "Counter (a subclass of dict)": collections.Counter("aab"),
    "defaultdict (a subclass of dict)": collections.defaultdict(list),
    "OrderedDict (a subclass of dict)": collections.OrderedDict(a=1),
    "Sequence (a subclass of list)": own.Sequence([1]),
    "Point (a subclass of tuple)": Point(1, 2),
    "deque": collections.deque([1]),
    "datetime": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    "date": dt.date(2024, 1, 1),
    "Decimal": decimal.Decimal("1.0"),
    "UUID": uuid.UUID(int=1),
    "PosixPath": pathlib.PosixPath("a"),
    "Colour": Colour.RED,
    "set": {1},
    "frozenset": frozenset([1]),
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "memoryview": memoryview(b"x"),
    "complex": 1j,
    "range": range(3),
    "mappingproxy": types.MappingProxyType({"a": 1}),
    "Model": Model(name="x"),
    "Record": Record("x"),
    "lock": threading.Lock(),
    "function": nest,
    "type": dict,
    "ellipsis": ...,
}


@pytest.mark.parametrize("shown", REFUSED)
def test_only_exact_json_types_are_values(check: Any, shown: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        check({"report": [{"when": REFUSED[shown]}]}, "data")
    assert str(caught.value) == f"data.report[0].when: {shown} is not a JSON value"
    assert caught.value.path == "data.report[0].when"


@pytest.mark.parametrize("shown", REFUSED)
def test_the_root_is_checked_too(check: Any, shown: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        check(REFUSED[shown])
    assert str(caught.value) == f"value: {shown} is not a JSON value"


def test_an_open_file_is_no_value(check: Any, tmp_path: pathlib.Path) -> None:
    with (tmp_path / "f").open("w") as file, pytest.raises(InvalidValueError, match=r"^value\.f: TextIOWrapper is not"):
        check({"f": file})


def test_an_exact_bool_is_a_value(twin: Any) -> None:
    assert twin.clone([True, False]) == [True, False]
    assert [type(item) for item in twin.clone([True, 1, 1.0])] == [bool, int, float]


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (1, "int"),
        (True, "bool"),
        (None, "NoneType"),
        (1.5, "float"),
        ((1, 2), "tuple"),
        (b"k", "bytes"),
        (own.Text("k"), "Text (a subclass of str)"),
        (own.Level.LOW, "Level (a subclass of int)"),
    ],
)
def test_a_key_that_is_no_str_is_refused_at_its_dict(check: Any, key: Any, shown: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        check({"a": [{"fine": 1, key: 2}]}, "data")
    assert str(caught.value) == f"data.a[0]: key of type {shown} is not a str"


LONE_SURROGATES = [
    "\ud800",
    "\udfff",
    "ok\ud83d",
    "é\ud800",
    "日\ude00",
    "😀\ud83d",
    "\ude00\ud83d",
    "日" * 1030 + "\udbff",
]


@pytest.mark.parametrize("text", LONE_SURROGATES, ids=ascii)
def test_a_lone_surrogate_is_refused(check: Any, text: str) -> None:
    with pytest.raises(InvalidValueError) as value:
        check({"a": [text]})
    assert str(value.value) == "value.a[0]: string holds a lone surrogate"
    with pytest.raises(InvalidValueError) as key:
        check({"a": {text: 1}})
    assert str(key.value) == "value.a: key holds a lone surrogate"


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, -(2**63), 0, -1, 2**62, 2**53 + 1, 2**30])
def test_integers_of_64_bits_are_exact(twin: Any, number: int) -> None:
    assert twin.clone([number]) == [number]


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 2**65, -(2**64), 2**128 + 1, -(10**400), 10**400])
def test_longer_integers_are_refused(check: Any, number: int) -> None:
    with pytest.raises(InvalidValueError, match=r"^value\.n: integer is outside -2\^63\.\.2\^64-1$"):
        check({"n": number})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_refused(check: Any, number: float) -> None:
    with pytest.raises(InvalidValueError, match=r"^value\[1\]: number is not finite$"):
        check([0.0, number])


def test_a_cycle_is_refused_with_the_place_it_refers_back_to(check: Any) -> None:
    in_dict: dict[str, Any] = {"a": {"b": 1}}
    in_dict["a"]["c"] = in_dict["a"]
    with pytest.raises(InvalidValueError) as caught:
        check(in_dict, "data")
    assert str(caught.value) == "data.a.c: refers back to data.a"

    in_list: list[Any] = [0, [1]]
    in_list[1].append({"x": in_list})
    with pytest.raises(InvalidValueError) as caught:
        check(in_list)
    assert str(caught.value) == "value[1][1].x: refers back to value"

    through_tuple: dict[str, Any] = {}
    through_tuple["t"] = (1, through_tuple)
    with pytest.raises(InvalidValueError, match=r"^value\.t\[1\]: refers back to value$"):
        check(through_tuple)


def test_shared_references_are_no_cycle(twin: Any) -> None:
    shared = {"x": [1]}
    clone = twin.clone({"a": shared, "b": [shared, shared]})
    assert clone == {"a": {"x": [1]}, "b": [{"x": [1]}, {"x": [1]}]}
    assert len(set(containers(clone))) == 8


@pytest.mark.parametrize("lists", [False, True])
def test_nesting_of_200_is_the_limit(check: Any, lists: bool) -> None:
    check(nest(200, lists=lists))
    with pytest.raises(InvalidValueError, match="nested deeper than 200 levels"):
        check(nest(201, lists=lists))


def test_depth_counts_the_containers_above(twin: Any) -> None:
    for function in (twin.clone, twin.validate):
        function(nest(150), depth=50)
        function("leaf", depth=200)
        with pytest.raises(InvalidValueError, match="nested deeper"):
            function(nest(150), depth=51)


@pytest.mark.parametrize("levels", [5_000, 100_000])
def test_very_deep_nesting_is_refused_without_a_crash(check: Any, levels: int) -> None:
    for lists in (False, True):
        with pytest.raises(InvalidValueError, match="nested deeper than 200 levels") as caught:
            check(nest(levels, lists=lists))
        assert caught.value.path == "value" + ("[0]" if lists else ".k") * 200


def test_size_is_the_text_in_utf8_and_8_for_each_value(twin: Any) -> None:
    assert twin.measure(None) == 8
    assert twin.measure("aé日😀") == 8 + 1 + 2 + 3 + 4
    assert twin.measure({"é": [1, 2.5, "ab"], "日": {}}) == 8 + 2 + 8 + 8 + 8 + (8 + 2) + 3 + 8
    assert twin.measure(("a",)) == twin.measure(["a"])


def test_a_value_over_the_limit_is_refused(check: Any) -> None:
    value = {"a": ["x" * 100]}
    check(value, max_bytes=8 + 1 + 8 + 8 + 100)
    with pytest.raises(StateTooLargeError) as caught:
        check(value, "data", max_bytes=8 + 1 + 8 + 8 + 99)
    assert str(caught.value) == "data: larger than 124 bytes"


@pytest.mark.parametrize("lists", [False, True])
def test_a_few_shared_containers_that_stand_for_billions_are_refused(check: Any, lists: bool) -> None:
    value: Any = []
    for _ in range(100):
        value = [value, value] if lists else {"a": value, "b": value}
    with pytest.raises(StateTooLargeError):
        check(value, max_bytes=4 * 1024 * 1024)


def test_a_fault_in_a_large_value_has_its_whole_path(twin: Any) -> None:
    large = {"rows": [{"text": "x" * 1000} for _ in range(2000)]}
    assert twin.clone(large) == large
    large["rows"][1999]["text"] = b"x"  # type: ignore[assignment]
    for function in (twin.clone, twin.validate):
        with pytest.raises(InvalidValueError, match=r"^value\.rows\[1999\]\.text: bytes is not a JSON value$"):
            function(large)


def test_messages_hold_no_content(check: Any) -> None:
    for value in ("secret\ud800", b"secret", own.Text("secret"), decimal.Decimal(12345), 98765 * 10**40):
        with pytest.raises(InvalidValueError) as caught:
            check({"a": value})
        assert not {"secret", "12345", "98765"} & set(str(caught.value).replace("(", " ").split())
        assert "secret" not in repr(caught.value)


def test_a_clone_keeps_key_order_and_turns_tuples_into_lists(twin: Any) -> None:
    value = {"z": (1, ("a", ())), "1": [{"y": 1, "x": (None,)}]}
    clone = twin.clone(value)
    assert json.dumps(clone) == '{"z": [1, ["a", []]], "1": [{"y": 1, "x": [null]}]}'
    assert value == {"z": (1, ("a", ())), "1": [{"y": 1, "x": (None,)}]}


def test_dicts_of_every_layout_are_copied_in_order(twin: Any) -> None:
    sparse = {f"k{index}": {"n": index} for index in range(1000)}
    for index in range(0, 1000, 2):
        del sparse[f"k{index}"]
    sparse["k0"] = {"n": -1}

    class Holder:
        def __init__(self) -> None:
            self.b = {"x": [1]}
            self.a = [{"y": 2}]
            self.c = "text"

    split = [Holder().__dict__ for _ in range(3)]
    del split[0]["b"]
    split[0]["b"] = {}
    split[1]["late"] = {"z": []}
    holes = dict.fromkeys("abcdefgh", 1)
    holes.pop("a")
    holes.pop("h")
    for value in (sparse, split, holes, vars(types.SimpleNamespace(a={}, b=[])), {}):
        clone = twin.clone(value)
        assert json.dumps(clone) == json.dumps(value)
        assert not set(containers(clone)) & set(containers(value))
        clone_again = twin.clone(clone)
        clone.clear()
        assert json.dumps(clone_again) == json.dumps(value)


def test_a_huge_dict_is_copied(twin: Any) -> None:
    value = {f"key-{index}": [index] for index in range(200_000)}
    clone = twin.clone(value)
    assert clone == value
    assert list(clone) == list(value)
    clone["key-5"].append(1)
    assert value["key-5"] == [5]


@given(value=own.json_values)
def test_a_clone_equals_its_source_and_shares_no_container(twin: Any, value: Any) -> None:
    before = repr(value)
    clone = twin.clone(value)
    assert repr(clone) == repr(value) == before
    assert twin.equal(clone, value)
    assert not set(containers(clone)) & set(containers(value))


@given(value=own.any_values)
def test_checking_never_changes_a_value(twin: Any, value: Any) -> None:
    before = repr(value)
    for function in (twin.clone, twin.validate, twin.measure):
        try:
            function(value)
        except InvalidValueError as error:
            assert error.path.startswith("value")  # noqa: PT017
    assert repr(value) == before


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (1, True),
        (0, False),
        (0.0, -0.0),
        (float("nan"), float("nan") + 1),
        ("1", 1),
        (None, False),
        ([], {}),
        ([], ""),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({"a": 1}, {"a": 1, "b": 1}),
        ({"a": None}, {"b": None}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1.0}]}),
        ("é", "e\u0301"),
        (2**63, float(2**63)),
    ],
)
def test_equality_is_strict_by_type(twin: Any, left: Any, right: Any) -> None:
    assert twin.equal(left, right) is False
    assert twin.equal(right, left) is False


def test_equality_ignores_key_order(twin: Any) -> None:
    assert twin.equal({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}) is True


@given(value=own.json_values)
def test_a_value_equals_a_copy_of_itself(twin: Any, value: Any) -> None:
    assert twin.equal(value, copy.deepcopy(value)) is True


@given(left=own.json_values, right=own.json_values)
def test_equality_is_that_of_sorted_json_text(twin: Any, left: Any, right: Any) -> None:
    assert twin.equal(left, right) == (json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True))


def test_comparing_two_cycles_is_refused(twin: Any) -> None:
    left: dict[str, Any] = {}
    left["a"] = [left]
    right: dict[str, Any] = {}
    right["a"] = [right]
    with pytest.raises(InvalidValueError, match=r"^value\.a\[0\]: refers back to value$"):
        twin.equal(left, right)
    assert twin.equal(left, left) is True


@given(levels=st.integers(201, 3000))
def test_comparing_too_deep_values_is_refused(twin: Any, levels: int) -> None:
    with pytest.raises(InvalidValueError, match="nested deeper"):
        twin.equal(nest(levels), nest(levels))
