"""AgentState as Python callers see it."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, get_type_hints

import pytest

import taskstate.record as room
from taskstate.errors import ConfigurationError
from taskstate.record import (
    AgentState,
    AgentStateError,
    AgentStateSnapshot,
    AgentStateSummary,
    Decision,
    WorkItem,
    create_agent_state,
    restore_agent_state,
    summarize_agent_state,
)

from .support import FULL, refusal

EMPTY = {"schemaVersion": 1, "workItems": [], "decisions": []}


def test_it_is_made_from_keywords_as_from_an_input() -> None:
    state = AgentState(objective="o", work_items=[{"id": "a", "content": "x"}], decisions=[{"id": "a", "content": "y"}])
    other = create_agent_state(
        {"objective": "o", "workItems": [{"id": "a", "content": "x"}], "decisions": [{"id": "a", "content": "y"}]}
    )
    assert state.snapshot() == other.snapshot()
    assert AgentState().snapshot() == create_agent_state().snapshot() == create_agent_state(None).snapshot() == EMPTY
    assert AgentState(objective="").snapshot() == {**EMPTY, "objective": ""}
    assert create_agent_state(FULL).snapshot() == FULL


def test_the_constructor_takes_keywords_only_and_refuses_what_an_input_may_not_hold() -> None:
    with pytest.raises(TypeError):
        AgentState({"objective": "o"})
    faults: list[tuple[dict[str, Any], str]] = [
        ({"work_items": ()}, "workItems"),
        ({"work_items": [{"id": "a"}]}, "workItems[0].content"),
        ({"decisions": [{"id": "a", "content": " "}]}, "decisions[0].content"),
        ({"objective": 1}, "objective"),
    ]
    for given, path in faults:
        assert refusal(AgentState, **given).path == path


def test_it_counts_work_items_and_knows_their_ids_and_is_always_true() -> None:
    state = AgentState()
    assert (len(state), bool(state)) == (0, True)
    state = restore_agent_state(FULL)
    assert len(state) == 3
    assert "a" in state
    assert "z" not in state  # a decision
    for other in (None, 1, ["a"], {"id": "a"}, b"a"):
        assert other not in state


def test_a_copy_by_any_name_is_an_agent_state_of_its_own() -> None:
    for copied in (
        AgentState.copy,
        copy.copy,
        copy.deepcopy,
        lambda state: pickle.loads(pickle.dumps(state)),
        lambda state: AgentState.from_json(state.to_json()),
    ):
        state = restore_agent_state(FULL)
        other = copied(state)
        assert type(other) is AgentState
        assert other is not state
        assert other.snapshot() == FULL
        other.set_objective("another")
        other.remove_work_item("a")
        other.set_work_item_status("b", "done")
        other.remove_decision("a")
        assert state.snapshot() == FULL
        state.set_work_item_content("b", "changed")
        assert other.list_work_items()[0]["content"] == "build it"


def test_states_with_one_content_are_equal_and_none_can_be_a_key() -> None:
    state = restore_agent_state(FULL)
    assert state == state.copy() == AgentState.from_json(state.to_json())
    assert state != FULL
    state.set_work_item_status("a", "blocked")
    assert state != restore_agent_state(FULL)
    with pytest.raises(TypeError, match="unhashable"):
        hash(state)


def test_its_repr_shows_counts_and_no_content() -> None:
    shown = repr(restore_agent_state(FULL))
    assert shown == "<AgentState: 1 open, 1 in_progress, 0 blocked, 1 done, 3 total>"
    assert repr(AgentState()) == "<AgentState: 0 open, 0 in_progress, 0 blocked, 0 done, 0 total>"


def test_the_objective_is_read_as_a_property_and_set_by_a_method() -> None:
    state = AgentState()
    assert state.objective is None
    state.set_objective("")
    assert state.objective == ""
    assert "objective" in state.snapshot()
    with pytest.raises(AttributeError):
        state.objective = "x"
    assert refusal(state.set_objective, 1).path == "objective"
    state.set_objective(None)
    assert state.objective is None
    assert "objective" not in state.snapshot()


def test_it_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        AgentState().note = 1


def test_a_summary_is_that_of_the_live_record_or_of_a_snapshot() -> None:
    state = restore_agent_state(FULL)
    expected = {"open": 1, "in_progress": 1, "blocked": 0, "done": 1, "total": 3}
    for summary in (state.summary(), summarize_agent_state(state), summarize_agent_state(FULL)):
        assert list(summary.items()) == list(expected.items())
    state.set_work_item_status("a", "blocked")
    assert summarize_agent_state(state)["blocked"] == 1
    assert summarize_agent_state(FULL)["blocked"] == 0


def test_a_summary_refuses_what_restoring_refuses() -> None:
    bad: list[Any] = [
        None,
        {},
        [],
        {**FULL, "schemaVersion": 2},
        {**FULL, "decisions": [1]},
        {**FULL, "workItems": FULL["workItems"] * 2},
    ]
    for value in bad:
        assert str(refusal(summarize_agent_state, value)) == str(refusal(restore_agent_state, value))
        assert refusal(summarize_agent_state, value).path == refusal(restore_agent_state, value).path


def test_unknown_fields_are_dropped_or_refused_as_one_chooses() -> None:
    loaded = {**FULL, "workItems": [{**FULL["workItems"][0], "owner": "me"}], "version": 7}
    known = {**FULL, "workItems": FULL["workItems"][:1]}
    assert restore_agent_state(loaded).snapshot() == known
    assert restore_agent_state(loaded, unknown="drop").snapshot() == known
    assert AgentState.from_json(json.dumps(loaded)).snapshot() == known
    assert refusal(restore_agent_state, loaded, unknown="reject").path == "version"
    assert refusal(AgentState.from_json, json.dumps(loaded), unknown="reject").path == "version"
    del loaded["version"]
    assert refusal(restore_agent_state, loaded, unknown="reject").path == "workItems[0].owner"
    assert refusal(AgentState.from_json, json.dumps(loaded), unknown="reject").path == "workItems[0].owner"
    assert restore_agent_state(FULL, unknown="reject").snapshot() == FULL


@pytest.mark.parametrize("unknown", ["keep", "", "Reject", None, True, ["reject"]])
def test_another_choice_is_a_configuration_error(unknown: Any) -> None:
    for call in (restore_agent_state, lambda value, unknown: AgentState.from_json(json.dumps(value), unknown=unknown)):
        with pytest.raises(ConfigurationError, match="drop or reject"):
            call(FULL, unknown=unknown)


def test_restoring_fails_by_a_typed_error_that_has_its_place() -> None:
    error = refusal(restore_agent_state, {**FULL, "schemaVersion": 2})
    assert error.code == "invalid_input"
    assert str(error) == error.message == "Invalid agent state snapshot."
    assert error.path == "schemaVersion"
    assert "2" in error.reason
    assert error.item_id is None
    assert AgentStateError is room.AgentStateError


def test_what_it_gives_has_the_keys_of_the_types_in_their_order() -> None:
    state = restore_agent_state(FULL)

    def keys(kind: Any) -> list[str]:
        return list(get_type_hints(kind))

    assert list(state.snapshot()) == keys(AgentStateSnapshot)
    assert list(state.summary()) == keys(AgentStateSummary)
    item, decision = state.get_work_item("a"), state.get_decision("a")
    assert item is not None
    assert decision is not None
    for one in (
        item,
        *state.list_work_items(),
        state.set_work_item_status("b", "done"),
        *state.snapshot()["workItems"],
    ):
        assert list(one) == keys(WorkItem)
    for other in (decision, *state.list_decisions(), state.add_decision({"id": "n", "content": "x"})):
        assert list(other) == keys(Decision)
    assert list(state.add_work_item({"status": "done", "content": "x", "id": "n"})) == keys(WorkItem)


def test_every_public_name_is_there() -> None:
    types = {
        *("AgentState", "AgentStateErrorCode", "AgentStateInput", "AgentStateSnapshot", "AgentStateSummary"),
        *("Decision", "DecisionInput", "WorkItem", "WorkItemInput", "WorkItemStatus"),
    }
    additions = {
        *("AgentStateDiff", "DiffChanges", "DiffItem", "DiffItems", "DiffObjective"),
        *("Operation", "diff", "render_agent_state"),
    }
    functions = {"create_agent_state", "restore_agent_state", "summarize_agent_state", "AgentStateError"}
    assert types | functions | additions == set(room.__all__)
    assert all(hasattr(room, name) for name in room.__all__)
