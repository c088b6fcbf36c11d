"""What a record refuses, where, why and in which order."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from taskstate.errors import TaskStateError

from . import strategies as own
from .records import FULL, INPUT, SNAPSHOT, decision, parts, place, refusal, snapshot, work


def test_faults_of_the_containers_come_before_those_of_their_items(twin: Any) -> None:
    bad = [work(""), 1]
    faults: list[tuple[dict[str, Any], str]] = [
        ({"schemaVersion": 2, "objective": 1, "workItems": 1, "decisions": 1}, "schemaVersion"),
        ({"schemaVersion": 1, "objective": 1, "workItems": 1, "decisions": 1}, "objective"),
        ({"schemaVersion": 1, "objective": "", "workItems": 1, "decisions": 1}, "workItems"),
        ({"schemaVersion": 1, "objective": "", "workItems": bad, "decisions": 1}, "decisions"),
        (snapshot([work(), work("", "", ""), 1], [1]), "workItems[1].id"),
        (snapshot([work(), work("b", "", "")], [1]), "workItems[1].content"),
        (snapshot([work(), work("a", "", "")], [1]), "workItems[1].content"),
        (snapshot([work(), work("a", "x", "")], [1]), "workItems[1].status"),
        (snapshot([work()], [decision(), decision("d", "")]), "decisions[1].content"),
    ]
    for value, path in faults:
        assert place(twin.Record.restore, value)[0] == path
        if "version" not in path.lower():
            assert place(twin.Record.create, value)[0] == path


def test_all_work_items_come_before_the_decisions(twin: Any) -> None:
    error = refusal(twin.Record.restore, snapshot([work(), work()], [1, decision(""), decision("")]))
    assert parts(error) == ("duplicate_item_id", 'Duplicate work item id "a".', "workItems[1].id", "there already", "a")


def test_unknown_fields_are_refused_at_the_top_before_the_items_and_in_an_item_before_its_duplicate(twin: Any) -> None:
    def restore(value: Any) -> Any:
        return twin.Record.restore(value, True)

    assert place(restore, {"x": 1})[0] == "schemaVersion"
    assert place(restore, snapshot(1, x=1))[0] == "workItems"
    assert place(restore, snapshot([1], x=1)) == ("x", "unknown field")
    assert place(restore, snapshot([{**work(), "x": 1, "status": "no"}]))[0] == "workItems[0].status"
    assert place(restore, snapshot([work(), {**work(), "note": 1}])) == ("workItems[1].note", "unknown field")
    assert place(restore, snapshot([], [{**decision(), "status": "open"}])) == ("decisions[0].status", "unknown field")
    assert place(restore, {"two words": 1, **FULL})[0] == '["two words"]'
    assert place(restore, {**FULL, 7: 1})[0] == "[7]"
    assert place(restore, {**FULL, None: 1})[0] == "[NoneType]"
    assert place(restore, snapshot([{**work(), "k" * 100: 1}]))[0] == f'workItems[0]["{"k" * 60}..."]'
    assert twin.Record.restore(FULL, True).snapshot() == FULL


def test_unknown_fields_are_dropped_otherwise(twin: Any) -> None:
    value = snapshot([{**work(), "owner": object(), 1: 2}], [{**decision(), "status": "open"}], extra={"deep": [{}]})
    for record in (twin.Record.restore(value), twin.Record.restore(value, False), twin.Record.create(value)):
        assert record.snapshot() == snapshot([work()], [decision()])
    assert twin.Record.create({"schemaVersion": "anything"}).snapshot() == snapshot()


FAULTS: list[tuple[str, tuple[Any, ...], str, str]] = [
    ("set_objective", (1,), "objective", "int is not a str"),
    ("add_work_item", (None,), "item", "NoneType is not a dict"),
    ("add_work_item", ([],), "item", "list is not a dict"),
    ("add_work_item", ({},), "id", "missing"),
    ("add_work_item", (work(None),), "id", "NoneType is not a str"),
    ("add_work_item", (work(" \n"),), "id", "blank"),
    ("add_work_item", ({"id": "x"},), "content", "missing"),
    ("add_work_item", (work("x", 5),), "content", "int is not a str"),
    ("add_work_item", (work("x", ""),), "content", "blank"),
    ("add_work_item", (work("x", "y", None),), "status", "NoneType is not a str"),
    ("add_work_item", (work("x", "y", "Open"),), "status", "none of open, in_progress, blocked, done"),
    ("add_decision", ("x",), "decision", "str is not a dict"),
    ("add_decision", ({"content": "x"},), "id", "missing"),
    ("add_decision", (decision("x", []),), "content", "list is not a str"),
    ("set_work_item_status", (1, "open"), "id", "int is not a str"),
    ("set_work_item_status", ("", "open"), "id", "blank"),
    ("set_work_item_status", ("", "opened"), "id", "blank"),
    ("set_work_item_content", (None, ""), "id", "NoneType is not a str"),
    ("set_work_item_status", ("nobody", "opened"), "status", "none of open, in_progress, blocked, done"),
    ("set_work_item_status", ("a", None), "status", "NoneType is not a str"),
    ("set_work_item_content", ("\t", "x"), "id", "blank"),
    ("set_work_item_content", ("nobody", " "), "content", "blank"),
    ("set_work_item_content", ("a", b"x"), "content", "bytes is not a str"),
]


@pytest.mark.parametrize(("method", "arguments", "path", "reason"), FAULTS)
def test_a_method_refuses_what_is_malformed_and_changes_nothing(
    twin: Any, method: str, arguments: tuple[Any, ...], path: str, reason: str
) -> None:
    record = twin.Record.restore(FULL)
    error = refusal(getattr(record, method), *arguments)
    assert parts(error) == ("invalid_input", INPUT, path, reason, None)
    assert error.__notes__ == [f"{path}: {reason}"]
    assert record.snapshot() == FULL


VERSIONS: list[tuple[Any, str]] = [
    (2, "version 2 is not supported, only 1 is"),
    (0, "version 0 is not supported, only 1 is"),
    (-1, "version -1 is not supported, only 1 is"),
    (10**5000, "int is not 1"),
    (1.5, "float is not 1"),
    (float("nan"), "float is not 1"),
    (True, "bool is not 1"),
    ("1", "str is not 1"),
    (None, "NoneType is not 1"),
    (own.Number(1), "Number (a subclass of int) is not 1"),
    (own.Real(1.0), "Real (a subclass of float) is not 1"),
    (own.Level.LOW, "Level (a subclass of int) is not 1"),
    (1 + 0j, "complex is not 1"),
]


@pytest.mark.parametrize(("version", "reason"), VERSIONS, ids=[reason for _, reason in VERSIONS])
def test_another_schema_version_is_refused_by_name(twin: Any, version: Any, reason: str) -> None:
    error = refusal(twin.Record.restore, {**snapshot(), "schemaVersion": version})
    assert parts(error) == ("invalid_input", SNAPSHOT, "schemaVersion", reason, None)


def test_the_first_schema_version_may_be_a_float(twin: Any) -> None:
    assert repr(twin.Record.restore({**snapshot(), "schemaVersion": 1.0}).snapshot()) == repr(snapshot())


def test_a_snapshot_lacks_none_of_its_fields(twin: Any) -> None:
    for field in ("schemaVersion", "workItems", "decisions"):
        value = {key: item for key, item in FULL.items() if key != field}
        assert place(twin.Record.restore, value) == (field, "missing")
    assert place(twin.Record.restore, {**FULL, "objective": None}) == ("objective", "NoneType is not a str")
    for field in ("workItems", "decisions", "objective"):
        assert place(twin.Record.create, {field: None})[0] == field


def test_unknown_and_duplicate_ids_have_codes_of_their_own(twin: Any) -> None:
    record = twin.Record.restore(FULL)
    found = [
        refusal(record.add_work_item, work("b")),
        refusal(record.add_decision, decision("e")),
        refusal(record.set_work_item_status, "e", "done"),
        refusal(record.set_work_item_content, "e", "x"),
        refusal(twin.Record.create, {"decisions": [decision(), decision("e"), decision("e")]}),
    ]
    assert [parts(error) for error in found] == [
        ("duplicate_item_id", 'Duplicate work item id "b".', "id", "there already", "b"),
        ("duplicate_item_id", 'Duplicate decision id "e".', "id", "there already", "e"),
        ("unknown_item_id", 'Unknown work item id "e".', "id", "not there", "e"),
        ("unknown_item_id", 'Unknown work item id "e".', "id", "not there", "e"),
        ("duplicate_item_id", 'Duplicate decision id "e".', "decisions[2].id", "there already", "e"),
    ]
    assert record.snapshot() == FULL


def test_an_error_survives_pickling_and_copying(twin: Any) -> None:
    error = refusal(twin.Record.restore(FULL).set_work_item_status, "no\nbody", "done")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert (parts(other), str(other), other.__notes__) == (parts(error), str(error), error.__notes__)
    assert isinstance(error, ValueError)
    assert isinstance(error, TaskStateError)
