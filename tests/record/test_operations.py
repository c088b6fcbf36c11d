"""Operations as data: all of them or none."""

from __future__ import annotations

from typing import Any

import pytest

from taskstate.record import AgentState, restore_agent_state

from .support import FULL, refusal


def op(name: Any, *args: Any) -> dict[str, Any]:
    return {"op": name, "args": list(args)}


ITEM = {"id": "n", "content": "new"}


def test_operations_give_what_the_methods_give() -> None:
    state, other = restore_agent_state(FULL), restore_agent_state(FULL)
    found = state.apply(
        [
            op("add_work_item", ITEM),
            op("set_work_item_status", "n", "blocked"),
            op("set_work_item_content", "n", "newer"),
            op("get_work_item", "n"),
            op("get_work_item", "nobody"),
            op("remove_work_item", "a"),
            op("remove_work_item", "a"),
            op("list_work_items"),
            op("add_decision", ITEM),
            op("get_decision", "n"),
            op("remove_decision", "z"),
            op("list_decisions"),
            op("set_objective", "other"),
            op("snapshot"),
            op("set_objective", None),
        ]
    )
    assert found == [
        other.add_work_item({"id": "n", "content": "new"}),
        other.set_work_item_status("n", "blocked"),
        other.set_work_item_content("n", "newer"),
        other.get_work_item("n"),
        None,
        other.remove_work_item("a"),
        other.remove_work_item("a"),
        other.list_work_items(),
        other.add_decision({"id": "n", "content": "new"}),
        other.get_decision("n"),
        other.remove_decision("z"),
        other.list_decisions(),
        other.set_objective("other"),
        other.snapshot(),
        other.set_objective(None),
    ]
    assert state.snapshot() == other.snapshot()


NAMES = {
    "add_work_item": ("addWorkItem", [ITEM]),
    "set_work_item_status": ("setWorkItemStatus", ["a", "open"]),
    "set_work_item_content": ("setWorkItemContent", ["a", "other"]),
    "get_work_item": ("getWorkItem", ["a"]),
    "list_work_items": ("listWorkItems", []),
    "remove_work_item": ("removeWorkItem", ["a"]),
    "add_decision": ("addDecision", [ITEM]),
    "get_decision": ("getDecision", ["a"]),
    "list_decisions": ("listDecisions", []),
    "remove_decision": ("removeDecision", ["a"]),
    "set_objective": ("setObjective", ["other"]),
    "snapshot": ("snapshot", []),
}


@pytest.mark.parametrize("name", NAMES)
def test_both_spellings_of_a_name_mean_the_method(name: str) -> None:
    wire_name, args = NAMES[name]
    states = [restore_agent_state(FULL) for _ in range(3)]
    found = [
        states[0].apply([op(name, *args)]),
        states[1].apply([op(wire_name, *args)]),
        [getattr(states[2], name)(*args)],
    ]
    assert found[0] == found[1] == found[2]
    assert states[0].snapshot() == states[1].snapshot() == states[2].snapshot()


def test_a_later_operation_sees_the_earlier_ones() -> None:
    state = AgentState()
    assert state.apply([op("addWorkItem", ITEM), op("removeWorkItem", "n"), op("addWorkItem", ITEM)])[1] is True
    assert len(state) == 1
    error = refusal(state.apply, [op("removeWorkItem", "n"), op("setWorkItemStatus", "n", "done")])
    assert (error.code, error.path) == ("unknown_item_id", "operations[1].args[0]")
    assert "n" in state


def test_nothing_happens_where_there_is_nothing_to_do() -> None:
    state = restore_agent_state(FULL)
    assert state.apply([]) == []
    assert state.apply(()) == []
    assert state.snapshot() == FULL


@pytest.mark.parametrize("count", [0, 1, 5])
def test_one_that_is_refused_undoes_all_that_came_before(count: int) -> None:
    before = [
        op("addWorkItem", ITEM),
        op("setWorkItemStatus", "a", "blocked"),
        op("removeWorkItem", "b"),
        op("addDecision", ITEM),
        op("setObjective", "other"),
    ][:count]
    state = restore_agent_state(FULL)
    for bad in (op("addWorkItem", {"id": "a", "content": "x"}), op("nothing"), None, op("removeDecision")):
        error = refusal(state.apply, [*before, bad, op("addWorkItem", {"id": "later", "content": "x"})])
        assert error.path.startswith(f"operations[{count}]")
        assert state.snapshot() == FULL
    state.apply(before)
    assert (state.snapshot() == FULL) is (count == 0)


NO_OPERATIONS: list[Any] = [
    None,
    1,
    "[]",
    {},
    {"op": "snapshot", "args": []},
    iter([]),
    {0: op("snapshot")},
    frozenset(),
]


@pytest.mark.parametrize("operations", NO_OPERATIONS, ids=lambda value: type(value).__name__)
def test_only_a_list_or_tuple_is_one_of_operations(operations: Any) -> None:
    error = refusal(restore_agent_state(FULL).apply, operations)
    assert (error.code, error.path) == ("invalid_input", "operations")
    assert error.reason.endswith(" is not a list")


class Text(str):
    __slots__ = ()


class Items(list[Any]):
    pass


MALFORMED: list[tuple[Any, str, str]] = [
    (None, "", "NoneType is not a dict"),
    (["snapshot", []], "", "list is not a dict"),
    ({}, ".op", "missing"),
    ({"args": []}, ".op", "missing"),
    ({"op": "snapshot"}, ".args", "missing"),
    (op("restore"), ".op", "str is not the name of an operation"),
    (op("copy"), ".op", "str is not the name of an operation"),
    (op("from_json", "{}"), ".op", "str is not the name of an operation"),
    (op("__init__"), ".op", "str is not the name of an operation"),
    (op("apply", []), ".op", "str is not the name of an operation"),
    (op("addWorkitem", ITEM), ".op", "str is not the name of an operation"),
    (op(""), ".op", "str is not the name of an operation"),
    (op(None), ".op", "NoneType is not the name of an operation"),
    (op(["snapshot"]), ".op", "list is not the name of an operation"),
    (op(Text("snapshot")), ".op", "Text (a subclass of str) is not the name of an operation"),
    ({"op": "snapshot", "args": None}, ".args", "NoneType is not a list"),
    ({"op": "snapshot", "args": {}}, ".args", "dict is not a list"),
    ({"op": "snapshot", "args": Items()}, ".args", "Items (a subclass of list) is not a list"),
    ({"op": "getWorkItem", "args": "a"}, ".args", "str is not a list"),
    (op("snapshot", 1), ".args", "1 arguments, not 0"),
    (op("addWorkItem"), ".args", "0 arguments, not 1"),
    (op("setWorkItemStatus", "a"), ".args", "1 arguments, not 2"),
    (op("setWorkItemStatus", "a", "done", 1), ".args", "3 arguments, not 2"),
    (op("addWorkItem", None), ".args[0]", "NoneType is not a dict"),
    (op("addDecision", []), ".args[0]", "list is not a dict"),
    (op("addWorkItem", {}), ".args[0].id", "missing"),
    (op("addWorkItem", {"id": "x"}), ".args[0].content", "missing"),
    (op("addWorkItem", {"id": "x", "content": " "}), ".args[0].content", "blank"),
    (op("addWorkItem", {**ITEM, "status": "no"}), ".args[0].status", "none of open, in_progress, blocked, done"),
    (op("addDecision", {"id": 1}), ".args[0].id", "int is not a str"),
    (op("setWorkItemStatus", "", "done"), ".args[0]", "blank"),
    (op("setWorkItemStatus", "a", "no"), ".args[1]", "none of open, in_progress, blocked, done"),
    (op("setWorkItemContent", 1, "x"), ".args[0]", "int is not a str"),
    (op("setWorkItemContent", "a", ""), ".args[1]", "blank"),
    (op("setObjective", 1), ".args[0]", "int is not a str"),
    (op("setObjective", "\ud800"), ".args[0]", "string holds a lone surrogate"),
]


@pytest.mark.parametrize(("operation", "path", "reason"), MALFORMED)
def test_a_malformed_operation_is_refused_with_its_place(operation: Any, path: str, reason: str) -> None:
    state = restore_agent_state(FULL)
    error = refusal(state.apply, [op("snapshot"), op("removeWorkItem", "a"), operation])
    assert (error.code, error.message, error.item_id) == ("invalid_input", "Invalid agent state input.", None)
    assert (error.path, error.reason) == (f"operations[2]{path}", reason)
    assert error.__notes__ == [f"operations[2]{path}: {reason}"]
    assert state.snapshot() == FULL


def test_the_error_of_an_operation_keeps_its_code_its_message_and_the_id() -> None:
    state = restore_agent_state(FULL)
    bad_id = "x\ny" + "z" * 300
    cases: list[tuple[dict[str, Any], str, str, str]] = [
        (op("addWorkItem", {"id": "a", "content": "x"}), "duplicate_item_id", "args[0].id", "a"),
        (op("addDecision", {"id": "z", "content": "x"}), "duplicate_item_id", "args[0].id", "z"),
        (op("setWorkItemStatus", "z", "done"), "unknown_item_id", "args[0]", "z"),
        (op("setWorkItemContent", bad_id, "x"), "unknown_item_id", "args[0]", bad_id),
    ]
    for operation, code, path, item_id in cases:
        method = next(name for name, (wire_name, _) in NAMES.items() if wire_name == operation["op"])
        direct = refusal(getattr(state, method), *operation["args"])
        error = refusal(state.apply, [operation])
        assert (error.code, error.path, error.item_id) == (code, f"operations[0].{path}", item_id)
        assert (error.message, error.reason, error.code) == (direct.message, direct.reason, direct.code)
        assert str(error) == direct.message


def test_the_error_of_an_operation_tells_no_content() -> None:
    state = AgentState(objective="s3cr3t")
    for operation in (
        op("addWorkItem", {"id": " ", "content": "s3cr3t"}),
        op("s3cr3t", "s3cr3t"),
        op("addWorkItem", "s3cr3t"),
        op("snapshot", "s3cr3t"),
        op("addWorkItem", {"id": "a", "content": "s3cr3t", "status": "s3cr3t"}),
        {"op": "snapshot", "args": "s3cr3t"},
        "s3cr3t",
    ):
        error = refusal(state.apply, [operation])
        assert "s3cr3t" not in f"{error} {error!r} {error.path} {error.reason} {error.__notes__}"


def test_operations_and_their_arguments_stay_as_they_were() -> None:
    operations: list[Any] = [op("addWorkItem", {**ITEM, "extra": [1]}), {"op": "snapshot", "args": (), "note": 1}]
    before = repr(operations)
    AgentState().apply(operations)
    assert repr(operations) == before


def test_a_thousand_operations_take_effect_as_one() -> None:
    state = AgentState()
    state.apply([op("addWorkItem", {"id": f"i{index}", "content": "x"}) for index in range(1_000)])
    assert len(state) == 1_000
    state.apply([op("removeWorkItem", f"i{index}") for index in range(999)])
    assert [item["id"] for item in state.list_work_items()] == ["i999"]
