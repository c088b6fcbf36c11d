"""What isn't exactly a dict, list or str, and what is very large: refused or dropped, never half taken in."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from . import strategies as own
from .records import FULL, decision, place, refusal, snapshot, work


class Lying(dict[str, Any]):
    """A dict that shows others than it holds."""

    def get(self, key: str, default: Any = None) -> Any:
        return "lie"

    def __getitem__(self, key: str) -> Any:
        return "lie"


class Endless(list[Any]):
    def __iter__(self) -> Any:
        while True:
            yield work()

    def __len__(self) -> int:
        return 2**40


class Forged(str):
    """A text that hides what it is."""

    __slots__ = ()

    def strip(self, chars: str | None = None) -> str:
        return "x"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Pretender:
    """Its `__class__` is not its type."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    @property
    def __class__(self) -> Any:
        return self.kind


NO_DICT: list[Any] = [
    None, 1, True, "{}", b"{}", [], (), [("id", "a")], MappingProxyType(work()), Lying(work()), own.Mapping(snapshot()),
    Pretender(dict), dict, object(),
]  # fmt: skip
NO_LIST: list[Any] = [
    None, 0, False, "", {}, (), (work(),), {"0": work()}, iter([]), (item for item in [work()]), Endless([work()]),
    own.Sequence(), frozenset(), range(0), Pretender(list),
]  # fmt: skip
NO_STR: list[Any] = [
    None, 0, True, 1.5, b"a", bytearray(b"a"), ["a"], {}, {"a"}, ("a",), own.Text("a"), Forged("open"),
    own.Level.LOW, float("nan"), Pretender(str), str,
]  # fmt: skip


def names(values: list[Any]) -> list[str]:
    return [type(value).__name__ for value in values]


@pytest.mark.parametrize("value", NO_DICT, ids=names(NO_DICT))
def test_only_a_dict_is_a_dict(twin: Any, value: Any) -> None:
    assert place(twin.Record.restore, value)[0] == "snapshot"
    if value is not None:
        assert place(twin.Record.create, value)[0] == "input"
    for method, argument in (("add_work_item", "item"), ("add_decision", "decision")):
        assert place(getattr(twin.Record.restore(FULL), method), value)[0] == argument
    for field in ("workItems", "decisions"):
        for make in (twin.Record.create, twin.Record.restore):
            path, reason = place(make, {**snapshot(), field: [value]})
            assert path == f"{field}[0]"
            assert reason.endswith(" is not a dict")


@pytest.mark.parametrize("value", NO_LIST, ids=names(NO_LIST))
def test_only_a_list_is_a_list(twin: Any, value: Any) -> None:
    for field in ("workItems", "decisions"):
        for make in (twin.Record.create, twin.Record.restore):
            path, reason = place(make, {**snapshot(), field: value})
            assert path == field
            assert reason.endswith(" is not a list")


@pytest.mark.parametrize("value", NO_STR, ids=names(NO_STR))
def test_only_a_str_is_a_str(twin: Any, value: Any) -> None:
    record = twin.Record.restore(FULL)
    for field in ("id", "content", "status"):
        assert place(twin.Record.restore, snapshot([{**work(), field: value}]))[0] == f"workItems[0].{field}"
        assert place(record.add_work_item, {**work("new"), field: value})[0] == field
    for field in ("id", "content"):
        assert place(twin.Record.restore, snapshot([], [{**decision(), field: value}]))[0] == f"decisions[0].{field}"
        assert place(record.add_decision, {**decision("new"), field: value})[0] == field
    assert place(twin.Record.restore, snapshot(objective=value))[0] == "objective"
    assert place(record.set_work_item_status, value, "open")[0] == "id"
    assert place(record.set_work_item_status, "a", value)[0] == "status"
    assert place(record.set_work_item_content, value, "x")[0] == "id"
    assert place(record.set_work_item_content, "a", value)[0] == "content"
    if value is not None:
        assert place(record.set_objective, value)[0] == "objective"
    assert record.snapshot() == FULL


@pytest.mark.parametrize("value", NO_STR, ids=names(NO_STR))
def test_whatever_is_no_str_is_the_id_of_nothing(twin: Any, value: Any) -> None:
    record = twin.Record.restore(FULL)
    assert record.get_work_item(value) is None
    assert record.get_decision(value) is None
    assert record.remove_work_item(value) is False
    assert record.remove_decision(value) is False
    assert record.snapshot() == FULL


class Raising(str):
    """A key that mustn't be compared."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError


@pytest.mark.parametrize("odd", [own.Text, Raising, Forged])
def test_a_key_of_a_subclass_names_no_field(twin: Any, odd: type[str]) -> None:
    record = twin.Record.restore(FULL)
    for method, make in ((record.add_work_item, work), (record.add_decision, decision)):
        for field in ("id", "content"):
            item = {odd(key) if key == field else key: value for key, value in make("new").items()}
            assert place(method, item) == (field, "missing")
    for field in ("schemaVersion", "workItems", "decisions"):
        value = {odd(key) if key == field else key: value for key, value in FULL.items()}
        assert place(twin.Record.restore, value) == (field, "missing")
    value = {odd(key): value for key, value in FULL.items()}
    assert twin.Record.create(value).snapshot() == snapshot()
    assert record.snapshot() == FULL


@pytest.mark.parametrize("odd", [own.Text, Raising, Forged])
def test_a_key_of_a_subclass_is_an_unknown_field_where_those_are_refused(twin: Any, odd: type[str]) -> None:
    name = f"[{odd.__name__} (a subclass of str)]"
    assert place(twin.Record.restore, {**snapshot(), odd("x"): 1}, True) == (name, "unknown field")
    for value, path in (
        (snapshot([{**work(), odd("x"): 1}]), "workItems[0]"),
        (snapshot([], [{**decision(), odd("x"): 1}]), "decisions[0]"),
    ):
        assert place(twin.Record.restore, value, True) == (f"{path}{name}", "unknown field")
        assert twin.Record.restore(value).work_count() == len(value["workItems"])


@pytest.mark.parametrize(
    ("last", "path"),
    [
        (work("last", "x", "finished"), "workItems[9999].status"),
        (work("last", " "), "workItems[9999].content"),
        (None, "workItems[9999]"),
        (work("i0"), "workItems[9999].id"),
    ],
)
def test_ten_thousand_items_with_the_last_one_bad_leave_nothing_behind(twin: Any, last: Any, path: str) -> None:
    items = [work(f"i{index}", f"content {index}") for index in range(9_999)]
    before = references(items)
    for make in (twin.Record.restore, twin.Record.create):
        assert refusal(make, snapshot([*items, last])).path == path
    assert references(items) == before
    text = json.dumps(snapshot([*items, last]))
    assert refusal(twin.Record.from_json, text).path == path


def test_what_is_removed_replaced_or_dropped_is_let_go(twin: Any) -> None:
    items = [work(f"i{index}", f"content {index}") for index in range(500)]
    before = references(items)
    record = twin.Record.restore(snapshot(items, [decision(item["id"], item["content"]) for item in items]))
    other = record.copy()
    assert references(items) > before
    for item in items[:300]:
        record.remove_work_item(item["id"])
        record.remove_decision(item["id"])
    for item in items[300:]:
        record.set_work_item_content(item["id"], "other")
    for _ in range(3):
        kept = [record.snapshot(), other.list_work_items(), other.get_work_item("i1"), other.to_json(), other.summary()]
    del record, other, kept
    assert references(items) == before


def references(items: list[dict[str, Any]]) -> int:
    """How many references there are to the texts of items; the frames of a caught error hold some until collected."""
    gc.collect()
    return sum(sys.getrefcount(item[key]) for item in items for key in ("id", "content"))


def nested(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = []
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"k": value}], ids=["lists", "dicts"])
def test_five_thousand_levels_are_no_id_and_no_matter_in_an_unknown_field(
    twin: Any, wrap: Callable[[Any], Any]
) -> None:
    deep = nested(5_000, wrap)
    assert place(twin.Record.restore, snapshot([work(deep)]))[0] == "workItems[0].id"
    assert place(twin.Record.restore, snapshot(deep))[0].startswith("workItems")
    assert place(twin.Record.create().add_decision, decision("d", deep))[0] == "content"
    value = snapshot([{**work(), "note": deep}], [{**decision(), "note": deep}], note=deep)
    assert twin.Record.restore(value).snapshot() == snapshot([work()], [decision()])
    assert place(twin.Record.restore, value, True)[0] == "note"
