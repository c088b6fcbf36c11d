"""What a record keeps and gives."""

from __future__ import annotations

import copy
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.errors import AgentStateError

from .records import FULL, decision, place, snapshot, work


def test_a_new_record_is_empty(twin: Any) -> None:
    for record in (twin.Record.create(), twin.Record.create(None), twin.Record.create({})):
        assert record.snapshot() == {"schemaVersion": 1, "workItems": [], "decisions": []}
        assert record.objective() is None
        assert record.work_count() == 0
        assert record.summary() == {"open": 0, "in_progress": 0, "blocked": 0, "done": 0, "total": 0}


def test_a_snapshot_comes_back_as_it_was_with_the_keys_in_the_order_of_the_format(twin: Any) -> None:
    shuffled = {key: FULL[key] for key in ("objective", "decisions", "workItems", "schemaVersion")}
    shuffled["workItems"] = [dict(reversed(item.items())) for item in shuffled["workItems"]]
    for record in (twin.Record.restore(FULL), twin.Record.restore(shuffled), twin.Record.create(shuffled)):
        assert repr(record.snapshot()) == repr(FULL)
        assert list(record.summary().items()) == [
            ("open", 1), ("in_progress", 0), ("blocked", 1), ("done", 1), ("total", 3),
        ]  # fmt: skip


def test_an_objective_may_be_blank_and_is_left_out_only_where_there_is_none(twin: Any) -> None:
    for objective in ("", " ", "\x00", "o"):
        record = twin.Record.create({"objective": objective})
        assert (record.objective(), record.snapshot()["objective"]) == (objective, objective)
        record.set_objective(None)
        assert "objective" not in record.snapshot()
        record.set_objective(objective)
        assert record.objective() == objective


def test_an_input_needs_no_status_and_a_snapshot_does(twin: Any) -> None:
    item = decision("a")
    assert twin.Record.create({"workItems": [item]}).list_work_items() == [{**item, "status": "open"}]
    assert twin.Record.create().add_work_item(item) == {**item, "status": "open"}
    assert place(twin.Record.restore, snapshot([item])) == ("workItems[0].status", "missing")


def test_a_work_item_and_a_decision_may_have_one_id(twin: Any) -> None:
    record = twin.Record.create({"workItems": [work("a")], "decisions": [decision("a")]})
    assert record.get_work_item("a") == work("a")
    assert record.get_decision("a") == decision("a")
    assert record.remove_work_item("a") is True
    assert record.list_decisions() == [decision("a")]


def test_a_work_item_keeps_its_place_when_it_changes_and_goes_to_the_end_when_it_is_added_again(twin: Any) -> None:
    record = twin.Record.restore(FULL)
    assert record.set_work_item_status("a", "done") == work("a", "do it", "done")
    assert record.set_work_item_content("a", "other") == work("a", "other", "done")
    assert [item["id"] for item in record.list_work_items()] == ["a", "b", "c"]
    assert record.remove_work_item("a") is True
    assert record.get_work_item("a") is None
    assert record.remove_work_item("a") is False
    assert record.add_work_item(work("a", "new")) == work("a", "new")
    assert [item["id"] for item in record.list_work_items()] == ["b", "c", "a"]
    assert [record.get_work_item(item_id)["id"] for item_id in "abc"] == list("abc")
    assert record.work_count() == record.summary()["total"] == 3


def test_a_decision_goes_to_the_end_when_it_is_added_again(twin: Any) -> None:
    record = twin.Record.restore(FULL)
    assert record.remove_decision("a") is True
    assert record.remove_decision("a") is False
    assert record.get_decision("a") is None
    assert record.add_decision(decision("a", "new")) == decision("a", "new")
    assert record.list_decisions() == [decision("e"), decision("a", "new")]


@pytest.mark.parametrize("before", ["open", "in_progress", "blocked", "done"])
def test_any_status_follows_any_other(twin: Any, before: str) -> None:
    for after in ("open", "in_progress", "blocked", "done"):
        record = twin.Record.create({"workItems": [work(status=before)]})
        assert record.set_work_item_status("a", after)["status"] == after
        assert (record.summary()[before], record.summary()[after]) == ((1, 1) if before == after else (0, 1))


def test_a_copy_is_a_record_of_its_own(twin: Any) -> None:
    record = twin.Record.restore(FULL)
    other = record.copy()
    assert type(other) is twin.Record
    other.set_work_item_status("a", "done")
    other.set_work_item_content("b", "changed")
    other.remove_work_item("c")
    other.add_decision(decision("new"))
    other.remove_decision("a")
    other.set_objective("other")
    assert record.snapshot() == FULL
    kept = other.snapshot()
    record.remove_work_item("b")
    record.set_work_item_status("a", "blocked")
    assert other.snapshot() == kept


@pytest.mark.parametrize("noun", ["work_item", "decision"])
def test_removing_takes_no_longer_the_more_there_is(twin: Any, noun: str) -> None:
    def seconds(count: int) -> float:
        field = {"work_item": "workItems", "decision": "decisions"}[noun]
        record = twin.Record.create({field: [decision(f"i{index}") for index in range(count)]})
        remove, get, add = (getattr(record, f"{verb}_{noun}") for verb in ("remove", "get", "add"))
        started = time.process_time()
        for index in range(count):
            assert remove(f"i{index}") is True
            assert get(f"i{count - 1}") is None or index < count - 1
            add(decision(f"n{index}"))
        return time.process_time() - started

    few, many = (min(seconds(count) for _ in range(3)) for count in (1_000, 8_000))
    assert many < 24 * few  # 8 times as much work; 64 times where each removal moves the rest


def test_what_was_removed_costs_nothing_later(twin: Any) -> None:
    def seconds(count: int) -> float:
        record = twin.Record.create({"workItems": [work("kept")]})
        started = time.process_time()
        for index in range(count):
            record.add_work_item(work(f"i{index}"))
            record.remove_work_item(f"i{index}")
            assert len(record.list_work_items()) == 1
        return time.process_time() - started

    few, many = (min(seconds(count) for _ in range(3)) for count in (1_000, 8_000))
    assert many < 24 * few


contents = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(lambda text: f"{text}x")


@given(ids=st.lists(contents, unique=True, max_size=6), content=contents, objective=st.none() | contents)
def test_any_text_is_kept_as_it_is(twin: Any, ids: list[str], content: str, objective: str | None) -> None:
    value = snapshot([work(item_id, content) for item_id in ids], [decision(item_id, content) for item_id in ids])
    if objective is not None:
        value["objective"] = objective
    record = twin.Record.restore(value)
    assert repr(record.snapshot()) == repr(value)
    assert all(record.get_work_item(item_id) == work(item_id, content) for item_id in ids)
    assert all(record.get_decision(item_id) == decision(item_id, content) for item_id in ids)


def test_threads_meet_no_error_but_those_of_their_own_calls(twin: Any) -> None:
    record = twin.Record.create({"workItems": [work(f"i{number}") for number in range(50)]})
    unexpected: list[BaseException] = []

    def run(*calls: Callable[[int], Any]) -> None:
        for turn in range(300):
            for call in calls:
                try:
                    call(turn)
                except AgentStateError:
                    pass
                except BaseException as error:
                    unexpected.append(error)

    workers = [
        (lambda turn: record.add_work_item(work(f"n{turn}")), lambda turn: record.add_decision(decision(f"n{turn}"))),
        (lambda turn: record.remove_work_item(f"n{turn}"), lambda turn: record.remove_decision(f"n{turn}")),
        (lambda turn: record.set_work_item_status(f"i{turn % 60}", "done"), lambda turn: record.get_work_item("n1")),
        (lambda turn: record.snapshot(), lambda turn: record.summary(), lambda turn: record.copy()),
    ]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=calls) for calls in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert unexpected == []
    assert twin.Record.restore(record.snapshot()).summary() == record.summary()


def test_it_can_be_copied_but_not_derived_from(twin: Any) -> None:
    record = twin.Record.create({"workItems": [work()]})
    for other in (copy.copy(record), copy.deepcopy(record)):
        other.remove_work_item("a")
        assert record.work_count() == 1
    assert twin.Record().snapshot() == snapshot()
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Mine", (twin.Record,), {})
