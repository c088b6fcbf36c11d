"""The hooks and functions of the agent-state layer, called as a harness of one's own would call them."""

from __future__ import annotations

import asyncio
import copy
import math
from typing import Any

import pytest

from taskstate import ExecutionContext, agent_state_layer
from taskstate.core import estimate_tokens
from taskstate.errors import AgentStateError, ConfigurationError
from taskstate.layer import AgentStateLayer
from taskstate.record import render_agent_state
from taskstate.storage import MemoryStorage, ScopedStorage

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
BROKEN: list[Any] = [
    7,
    [],
    "x",
    {},
    {**STATE, "schemaVersion": 2},
    {**STATE, "schemaVersion": True},
    {**STATE, "workItems": {}},
    {**STATE, "workItems": [{"id": "a", "content": "c", "status": "Done"}]},
    {**STATE, "workItems": [*STATE["workItems"], STATE["workItems"][0]]},
    {**STATE, "decisions": [{"id": " ", "content": "c"}]},
    {**STATE, "objective": None},
]


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


def test_the_layer_stands_after_the_task_state_and_shares_its_scope() -> None:
    layer = agent_state_layer()
    assert (layer.id, layer.name, layer.slot, layer.scope) == ("agent-state", "Agent State", 120, "thread")
    assert layer.budget == {"min": 100, "max": 800}
    assert layer.on_init_error == "raise"
    assert layer.pure
    assert layer.store is layer.on_complete is layer.dispose is None


def test_the_options_are_those_of_any_layer() -> None:
    layer = agent_state_layer(
        id="plan", name="Plan", slot=7, scope="resource", budget=50, timeouts={"init": 1}, on_init_error="disable"
    )
    assert (layer.id, layer.name, layer.slot, layer.scope, layer.budget) == ("plan", "Plan", 7, "resource", 50)
    assert (layer.timeouts["init"], layer.on_init_error) == (1, "disable")
    for wrong in ({"role": ""}, {"role": 7}, {"count_tokens": 7}, {"scope": "mine"}, {"id": ""}):
        with pytest.raises(ConfigurationError):
            agent_state_layer(**wrong)


def test_init_loads_what_is_stored_without_what_it_does_not_know() -> None:
    async def scenario() -> None:
        layer = agent_state_layer()
        storage = ScopedStorage(MemoryStorage(), layer.id, "t")
        assert await layer.init(storage=storage) == {"state": NOTHING}
        await storage.set("state", {"extra": 1, **STATE})
        loaded = (await layer.init(storage=storage))["state"]
        assert loaded == STATE
        assert list(loaded) == ["schemaVersion", "workItems", "decisions", "objective"]

    asyncio.run(scenario())


@pytest.mark.parametrize("broken", BROKEN, ids=repr)
def test_what_is_no_agent_state_is_refused_by_every_hook(broken: Any, state: Any) -> None:
    layer = agent_state_layer()
    storage = ScopedStorage(MemoryStorage(), layer.id, "t")

    async def load() -> None:
        await storage.set("state", broken)
        await layer.init(storage=storage)

    for hook in (
        lambda: asyncio.run(load()),
        lambda: layer.check(broken),
        lambda: layer.recall(state=broken, budget=100),
        lambda: layer.on_return(parent_state=state, child_state=broken, inherited=state),
        lambda: layer.on_return(parent_state=broken, child_state=state, inherited=state),
        lambda: call("read", broken),
        lambda: call("add_decision", broken, id="x", content="c"),
    ):
        with pytest.raises(AgentStateError):
            hook()


def test_the_message_is_the_block_within_its_budget(state: Any) -> None:
    for budget in (4, 30, 100, 0, math.inf):
        shown = agent_state_layer().recall(state=state, budget=budget)
        assert shown is not None
        (message,) = shown["items"]
        assert message == {"role": "developer", "content": render_agent_state(STATE, budget)}
        assert shown["token_count"] == estimate_tokens(message["content"])
        assert budget in (0, math.inf) or shown["token_count"] <= budget


def test_the_message_has_the_role_and_the_tokens_that_were_asked_for(state: Any) -> None:
    shown = agent_state_layer(role="user", count_tokens=len).recall(state=state, budget=150)
    assert shown is not None
    (message,) = shown["items"]
    assert message["role"] == "user"
    assert shown["token_count"] == len(message["content"]) <= 150
    assert message["content"] == render_agent_state(STATE, 150, len)


def test_nothing_is_shown_of_a_state_that_holds_nothing() -> None:
    layer = agent_state_layer()
    assert layer.recall(state=None, budget=100) is None
    assert layer.recall(state=copy.deepcopy(NOTHING), budget=100) is None
    for key, value in STATE.items():
        if key != "schemaVersion":
            assert layer.recall(state={**NOTHING, key: value}, budget=100) is not None


def test_no_hook_changes_what_it_is_given(state: Any) -> None:
    layer = agent_state_layer()
    child = {**copy.deepcopy(STATE), "workItems": [], "objective": "two books"}
    layer.recall(state=state, budget=10)
    layer.on_return(parent_state=state, child_state=child, inherited=state)
    layer.on_return(parent_state=child, child_state=state, inherited=NOTHING)
    assert child == {**STATE, "workItems": [], "objective": "two books"}


def test_a_child_state_shares_nothing_with_its_parent(state: Any) -> None:
    child = agent_state_layer().on_spawn(parent_state=state, child_ctx=CHILD)["child_state"]
    assert child == state
    child["workItems"][0]["status"] = "open"
    child["decisions"].clear()
    child["objective"] = "another"


def test_a_merge_takes_only_what_the_child_changed_since_it_began(state: Any) -> None:
    layer = agent_state_layer()
    inherited = copy.deepcopy(STATE)
    child = {
        **copy.deepcopy(STATE),
        "workItems": [STATE["workItems"][1], {"id": "c", "content": "x", "status": "open"}],
    }
    parent = {**copy.deepcopy(STATE), "objective": "a film", "decisions": []}
    result = layer.on_return(parent_state=parent, child_state=child, inherited=inherited, child_ctx=CHILD)
    assert result["parent_state"] == {**parent, "workItems": child["workItems"]}
    assert result["conflicts"] == result["rejected"] == []
    assert layer.on_return(parent_state=None, child_state=child)["parent_state"] == child


def test_a_merge_names_what_both_changed_by_whose_was_kept(state: Any) -> None:
    child = call(
        "apply",
        state,
        operations=[
            {"op": "setWorkItemStatus", "args": ["b", "done"]},
            {"op": "addDecision", "args": [{"id": "e", "content": "late"}]},
        ],
    ).state
    parent = call(
        "apply",
        state,
        operations=[
            {"op": "setWorkItemStatus", "args": ["b", "blocked"]},
            {"op": "addDecision", "args": [{"id": "e", "content": "early"}]},
        ],
    ).state
    result = agent_state_layer().on_return(parent_state=parent, child_state=child, inherited=state)
    assert (result["conflicts"], result["rejected"]) == (["workItems.b"], ["decisions.e"])
    assert result["parent_state"]["workItems"][1]["status"] == "done"
    assert result["parent_state"]["decisions"][1] == {"id": "e", "content": "early"}
