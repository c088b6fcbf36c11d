"""Nothing that goes in or comes out is connected with the inside: changing it changes no state."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from taskstate.record import AgentState, create_agent_state, restore_agent_state, summarize_agent_state

from .support import FULL


def spoil(value: Any) -> None:
    """Change every container in a value, from the inside out."""
    if type(value) is dict:
        for item in value.values():
            spoil(item)
        for key in list(value):
            value[key] = "spoilt"
        value["extra"] = "spoilt"
    elif type(value) is list:
        for item in value:
            spoil(item)
        value.clear()
        value.append("spoilt")


def fresh() -> Any:
    return copy.deepcopy(FULL)


MAKERS: dict[str, Callable[[Any], AgentState]] = {
    "create": create_agent_state,
    "restore": restore_agent_state,
    "restore and refuse": lambda value: restore_agent_state(value, unknown="reject"),
    "keywords": lambda value: AgentState(
        objective=value["objective"], work_items=value["workItems"], decisions=value["decisions"]
    ),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_a_state_is_made_of_can_change_afterwards(maker: str) -> None:
    given = fresh()
    state = MAKERS[maker](given)
    assert given == FULL
    assert repr(given) == repr(FULL)
    spoil(given)
    assert state.snapshot() == FULL


GIVERS: dict[str, Callable[[AgentState], Any]] = {
    "snapshot": AgentState.snapshot,
    "summary": AgentState.summary,
    "summarize": summarize_agent_state,
    "get_work_item": lambda state: state.get_work_item("a"),
    "list_work_items": AgentState.list_work_items,
    "get_decision": lambda state: state.get_decision("a"),
    "list_decisions": AgentState.list_decisions,
    "set_work_item_status": lambda state: state.set_work_item_status("a", "done"),
    "set_work_item_content": lambda state: state.set_work_item_content("a", "draw the plan"),
    "apply": lambda state: state.apply(
        [{"op": name, "args": []} for name in ("snapshot", "listWorkItems", "listDecisions")]
        + [{"op": "setWorkItemStatus", "args": ["a", "done"]}, {"op": "getDecision", "args": ["z"]}]
    ),
}


@pytest.mark.parametrize("giver", GIVERS)
def test_what_a_state_gives_can_change_afterwards(giver: str) -> None:
    state = restore_agent_state(FULL)
    other = state.copy()
    given = GIVERS[giver](state)
    kept = copy.deepcopy(given)
    assert given
    spoil(given)
    assert state.snapshot() == other.snapshot() == FULL
    assert GIVERS[giver](state) == kept
    assert summarize_agent_state(state) == {"open": 1, "in_progress": 1, "blocked": 0, "done": 1, "total": 3}


def test_no_two_results_share_an_object() -> None:
    state = restore_agent_state(FULL)
    first, second = state.snapshot(), state.snapshot()
    assert first == second
    spoil(first)
    assert second == FULL
    work = state.list_work_items()
    assert work[0] is not state.get_work_item("a")
    assert len({id(item) for item in [*work, *second["workItems"], *state.list_work_items()]}) == 9


def test_an_item_that_was_added_can_change_afterwards() -> None:
    state = AgentState()
    for add in (state.add_work_item, state.add_decision):
        item: Any = {"id": "n", "content": "new"}
        given = add(item)
        assert item == {"id": "n", "content": "new"}
        before = state.snapshot()
        assert given is not item
        spoil(item)
        spoil(given)
        assert state.snapshot() == before


def test_the_arguments_of_operations_can_change_afterwards() -> None:
    state = AgentState()
    operations: list[Any] = [
        {"op": "addWorkItem", "args": [{"id": "n", "content": "new", "status": "blocked"}]},
        {"op": "addDecision", "args": [{"id": "n", "content": "new"}]},
    ]
    results = state.apply(operations)
    before = state.snapshot()
    spoil(operations)
    spoil(results)
    assert state.snapshot() == before
    assert before["workItems"] == [{"id": "n", "content": "new", "status": "blocked"}]


def test_two_states_of_one_input_share_nothing_and_an_earlier_snapshot_stays() -> None:
    """Reported of other libraries as pydantic/pydantic-ai#1684 and langchain-ai/langgraph#8314."""
    given = fresh()
    first, second = restore_agent_state(given), restore_agent_state(given)
    snapshot = first.snapshot()
    text = json.dumps(snapshot)
    resumed = restore_agent_state(snapshot)
    for state in (first, resumed):
        state.set_work_item_status("c", "in_progress")
        state.set_work_item_content("b", "build it twice")
        state.remove_work_item("a")
        state.add_work_item({"id": "d", "content": "sail it"})
        state.remove_decision("a")
        state.set_objective("two boats")
    assert json.dumps(snapshot) == text
    assert second.snapshot() == given == FULL


def test_restoring_gives_exactly_the_snapshot_whatever_came_later() -> None:
    """Reported of another library as rohitg00/agentmemory#1190."""
    state = AgentState(objective="two", work_items=[{"id": "1", "content": "x"}, {"id": "2", "content": "y"}])
    snapshot, text = state.snapshot(), state.to_json()
    state.add_work_item({"id": "3", "content": "z"})
    state.add_decision({"id": "d", "content": "so be it"})
    state.set_work_item_status("1", "done")
    state.set_objective("three")
    for restored in (restore_agent_state(snapshot), AgentState.from_json(text)):
        assert restored.snapshot() == snapshot
        assert restored.to_json() == text
        assert "3" not in restored
        assert restored.list_decisions() == []
    assert len(state) == 3


def test_a_copy_of_a_copy_is_as_free_as_the_first() -> None:
    states = [restore_agent_state(FULL)]
    for _ in range(5):
        states.append(states[-1].copy())
    for index, state in enumerate(states):
        state.set_work_item_content("a", str(index))
        state.apply([{"op": "addDecision", "args": [{"id": str(index), "content": "own"}]}])
    for index, state in enumerate(states):
        assert state.list_work_items()[0]["content"] == str(index)
        assert [item["id"] for item in state.list_decisions()] == ["a", "z", str(index)]
