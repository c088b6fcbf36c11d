"""The functions of the agent-state layer, called as a harness of one's own would call them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from taskstate import ExecutionContext, agent_state_layer
from taskstate.errors import AgentStateError, InvalidArgumentError
from taskstate.layer import AgentStateLayer
from taskstate.layer.functions import TOOL_STYLES, tool_specs

ROOT = ExecutionContext("root", "t")
CHILD = ExecutionContext("child", "t", depth=1, parent_id="root")
NOTHING: dict[str, Any] = {"schemaVersion": 1, "workItems": [], "decisions": []}
STATE: dict[str, Any] = {
    "schemaVersion": 1,
    "workItems": [
        {"id": "a", "content": "read it", "status": "done"},
        {"id": "b", "content": "write it", "status": "in_progress"},
    ],
    "decisions": [{"id": "d", "content": "in English"}],
    "objective": "a book",
}


@pytest.fixture
def state() -> Any:
    """A state that the test must leave as it is."""
    given = copy.deepcopy(STATE)
    yield given
    assert given == STATE


def call(attribute: str, state: Any, **arguments: Any) -> Any:
    """What a function of the layer gives."""
    (function,) = (one for one in AgentStateLayer.functions if one.attribute == attribute)
    return function.apply(state, function.parse(attribute, arguments), ROOT)


CALLS: dict[str, Any] = {
    "read": {},
    "add_work_item": {"id": "c", "content": "sell it"},
    "set_work_item_status": {"id": "b", "status": "blocked"},
    "add_decision": {"id": "e", "content": "in two volumes"},
    "set_objective": {"objective": None},
    "set_work_item_content": {"id": "a", "content": "skim it"},
    "remove_work_item": {"id": "a"},
    "remove_decision": {"id": "d"},
    "apply": {"operations": [{"op": "setWorkItemStatus", "args": ["b", "done"]}, {"op": "snapshot", "args": []}]},
}


def test_no_function_changes_what_it_is_given(state: Any) -> None:
    for attribute, arguments in CALLS.items():
        change = call(attribute, state, **arguments)
        assert (change.state is None) == (attribute == "read")
        agent_state_layer().check(state if change.state is None else change.state)
    with pytest.raises(AgentStateError):
        call("apply", state, operations=[{"op": "removeDecision", "args": ["d"]}, {"op": "no", "args": []}])


def test_each_function_does_what_the_method_of_that_name_does(state: Any) -> None:
    assert list(CALLS) == [function.attribute for function in AgentStateLayer.functions]
    a, b = STATE["workItems"]
    added, blocked, skimmed = {"id": "c", "content": "sell it"}, {**b, "status": "blocked"}, {**a, "content": "skim it"}
    done = {**STATE, "workItems": [a, {**b, "status": "done"}]}
    decision = {"id": "e", "content": "in two volumes"}
    without = {key: value for key, value in STATE.items() if key != "objective"}
    wanted = {
        "read": (STATE, None),
        "add_work_item": ({**added, "status": "open"}, {**STATE, "workItems": [a, b, {**added, "status": "open"}]}),
        "set_work_item_status": (blocked, {**STATE, "workItems": [a, blocked]}),
        "add_decision": (decision, {**STATE, "decisions": [*STATE["decisions"], decision]}),
        "set_objective": (None, without),
        "set_work_item_content": (skimmed, {**STATE, "workItems": [skimmed, b]}),
        "remove_work_item": (True, {**STATE, "workItems": [b]}),
        "remove_decision": (True, {**STATE, "decisions": []}),
        "apply": ([{**b, "status": "done"}, done], done),
    }
    for attribute, arguments in CALLS.items():
        change = call(attribute, state, **arguments)
        assert (change.result, change.state) == wanted[attribute]
    assert call("remove_work_item", state, id="none").result is False
    assert call("set_objective", state, objective="x").state == {**STATE, "objective": "x"}


def test_a_function_begins_a_state_where_there_is_none() -> None:
    change = call("add_work_item", None, id="a", content="c", status="blocked")
    assert change.state == {**NOTHING, "workItems": [{"id": "a", "content": "c", "status": "blocked"}]}
    assert call("read", None).result == NOTHING


def test_reading_can_be_limited_to_a_status(state: Any) -> None:
    assert call("read", state, status="done").result == {**STATE, "workItems": STATE["workItems"][:1]}
    assert call("read", state, status="blocked").result == {**STATE, "workItems": []}
    assert call("read", state, status=None).result == STATE


def test_what_a_function_gives_shares_nothing_with_the_new_state(state: Any) -> None:
    for attribute in ("add_work_item", "apply"):
        change = call(attribute, state, **CALLS[attribute])
        kept = copy.deepcopy(change.state)
        given = change.result if attribute == "add_work_item" else change.result[0]
        given["status"] = "spoiled"
        if attribute == "apply":
            change.result[1]["workItems"].clear()
        assert change.state == kept


@pytest.mark.parametrize(
    ("attribute", "arguments", "place"),
    [
        ("read", {"status": "Done"}, "status"),
        ("add_work_item", {"content": "c"}, "id"),
        ("add_work_item", {"id": "", "content": "c"}, "id"),
        ("add_work_item", {"id": 7, "content": "c"}, "id"),
        ("add_work_item", {"id": "x", "content": None}, "content"),
        ("add_work_item", {"id": "x", "content": "c", "status": "todo"}, "status"),
        ("add_work_item", {"id": "x", "content": "c", "status": None}, "status"),
        ("set_work_item_status", {"id": "b"}, "status"),
        ("set_work_item_status", {"id": "b", "status": ["done"]}, "status"),
        ("add_decision", {"id": "x"}, "content"),
        ("set_objective", {}, "objective"),
        ("set_objective", {"objective": 7}, "objective"),
        ("remove_work_item", {"id": None}, "id"),
        ("apply", {"operations": "all"}, "operations"),
    ],
)
def test_bad_arguments_are_named(attribute: str, arguments: Any, place: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        call(attribute, STATE, **arguments)
    assert [path[0] for path, _ in caught.value.issues] == [place]


def test_what_the_record_refuses_says_why(state: Any) -> None:
    for attribute, arguments, code, item_id in (
        ("add_work_item", {"id": "a", "content": "c"}, "duplicate_item_id", "a"),
        ("add_decision", {"id": "d", "content": "c"}, "duplicate_item_id", "d"),
        ("set_work_item_status", {"id": "none", "status": "done"}, "unknown_item_id", "none"),
        ("set_work_item_content", {"id": "d", "content": "c"}, "unknown_item_id", "d"),
        ("add_work_item", {"id": "\u3000", "content": "c"}, "invalid_input", None),
        ("add_decision", {"id": "x", "content": " "}, "invalid_input", None),
    ):
        with pytest.raises(AgentStateError) as caught:
            call(attribute, state, **arguments)
        assert (caught.value.code, caught.value.item_id) == (code, item_id)


TOOLS = ["readAgentState", "addWorkItem", "setWorkItemStatus", "addDecision"]
SCHEMAS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "readAgentState": ({"status": None}, []),
    "addWorkItem": ({"id": "string", "content": "string", "status": "string"}, ["id", "content"]),
    "setWorkItemStatus": ({"id": "string", "status": "string"}, ["id", "status"]),
    "addDecision": ({"id": "string", "content": "string"}, ["id", "content"]),
}


@pytest.mark.parametrize("style", TOOL_STYLES)
def test_each_style_describes_the_arguments_of_the_tools(style: Any) -> None:
    tools = {f"agent-state/{one.name}": one for one in AgentStateLayer.functions if one.for_model}
    assert list(tools) == [f"agent-state/{name}" for name in TOOLS]
    for spec, name in zip(tool_specs(tools, style), TOOLS, strict=True):
        inner: Any = spec.get("function", spec)
        assert inner["name"] == f"agent-state__{name}"
        assert len(inner["description"]) > 20
        schema = inner.get("parameters", inner.get("input_schema"))
        types, required = SCHEMAS[name]
        assert schema["type"] == "object"
        assert {key: field.get("type") for key, field in schema["properties"].items()} == types
        assert schema.get("required", []) == required
        assert "$defs" not in schema
        for key, field in schema["properties"].items():
            assert field["description"]
            assert "title" not in field
            if key == "status":
                choices = field.get("enum") or field["anyOf"][0]["enum"]
                assert choices == ["open", "in_progress", "blocked", "done"]
            else:
                assert field["minLength"] == 1
