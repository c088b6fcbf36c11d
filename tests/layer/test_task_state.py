"""The hooks of the task-state layer, called as a harness of one's own would call them."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from taskstate import ExecutionContext, core, task_state
from taskstate.errors import ConfigurationError, InvalidStateError
from taskstate.storage import MemoryStorage, ScopedStorage

ROOT = ExecutionContext("root", "t")
CHILD = ExecutionContext("child", "t", depth=1, parent_id="root")
STATE: dict[str, Any] = {
    "checkpoints": [{"timestamp": 1, "depth": 0}],
    "files": ["a.md"],
    "data": {"k": {"nested": [1]}},
    "extra": {"kept": True},
}
BROKEN: list[Any] = [7, [], "x", {}, {**STATE, "files": 7}, {**STATE, "data": []}, {**STATE, "checkpoints": [7]}]


@pytest.fixture
def state() -> Any:
    """A state that the test must leave as it is."""
    given = copy.deepcopy(STATE)
    yield given
    assert given == STATE


def test_no_hook_changes_what_it_is_given(state: Any) -> None:
    layer = task_state(clock=lambda: 5)
    stored = layer.store(state=state, ctx=ROOT)["state"]
    assert stored["checkpoints"] == [*STATE["checkpoints"], {"timestamp": 5, "depth": 0}]
    completed = layer.on_complete(state=state, outcome="failure", ctx=ROOT)
    assert completed is not None
    assert completed["state"]["data"] == {**STATE["data"], "__outcome": "failure"}
    layer.recall(state=state, budget=10)


@pytest.mark.parametrize("mode", ["shallow", "namespace", "three_way"])
def test_a_child_state_shares_nothing_with_its_parent(state: Any, mode: Any) -> None:
    layer = task_state(merge_data=mode)
    child = layer.on_spawn(parent_state=state, child_ctx=CHILD)["child_state"]
    assert child == state
    child["data"]["k"]["nested"].append(2)
    child["checkpoints"].clear()
    child["files"].append("b.md")
    merged = layer.on_return(parent_state=state, child_state=child, child_ctx=CHILD)["parent_state"]
    assert "b.md" in merged["files"]


def test_a_merge_against_what_was_inherited_takes_only_what_the_child_changed(state: Any) -> None:
    layer = task_state(merge_data="three_way")
    inherited = layer.on_spawn(parent_state=state, child_ctx=CHILD)["child_state"]
    child = {**copy.deepcopy(state), "data": {"k": {"nested": [1]}, "new": 1}}
    parent = {**copy.deepcopy(state), "data": {"k": {"nested": [9]}}}
    result = layer.on_return(parent_state=parent, child_state=child, child_ctx=CHILD, inherited=inherited)
    assert result["parent_state"]["data"] == {"k": {"nested": [9]}, "new": 1}
    assert result["parent_state"]["checkpoints"] == STATE["checkpoints"]
    assert "conflicts" not in result


def test_a_merge_without_a_known_base_takes_all_of_the_child(state: Any) -> None:
    layer = task_state(merge_data="three_way")
    merged = layer.on_return(parent_state=None, child_state=state, child_ctx=CHILD)["parent_state"]
    assert merged["data"] == STATE["data"]
    assert merged["files"] == STATE["files"]


@pytest.mark.parametrize("broken", BROKEN, ids=repr)
def test_what_is_no_task_state_is_refused_by_every_hook(broken: Any, state: Any) -> None:
    layer = task_state(merge_data="three_way")
    for call in (
        lambda: layer.recall(state=broken, budget=100),
        lambda: layer.store(state=broken, ctx=ROOT),
        lambda: layer.on_spawn(parent_state=broken, child_ctx=CHILD),
        lambda: layer.on_return(parent_state=state, child_state=broken, child_ctx=CHILD),
        lambda: layer.on_return(parent_state=broken, child_state=state, child_ctx=CHILD),
        lambda: layer.on_complete(state=broken, outcome="success", ctx=ROOT),
        *(
            lambda tool=tool: tool.apply(broken, tool.model.model_construct(path="x", key="k", value=1), ROOT)
            for tool in layer.functions
        ),
    ):
        with pytest.raises(InvalidStateError):
            call()


def test_init_fills_in_what_is_missing_and_keeps_what_is_unknown() -> None:
    async def scenario() -> None:
        layer = task_state()
        storage = ScopedStorage(MemoryStorage(), layer.id, "t")
        assert await layer.init(storage=storage) == {"state": {"checkpoints": [], "files": [], "data": {}}}
        await storage.set("state", {"extra": 1, "files": ["x"]})
        loaded = await layer.init(storage=storage)
        assert loaded == {"state": {"checkpoints": [], "files": ["x"], "data": {}, "extra": 1}}

    asyncio.run(scenario())


def test_no_state_shows_nothing_and_completes_nothing() -> None:
    layer = task_state()
    assert layer.recall(state=None, budget=100) is None
    assert layer.on_complete(state=None, outcome="success", ctx=ROOT) is None
    with pytest.raises(ConfigurationError):
        layer.on_complete(state=None, outcome="good", ctx=ROOT)


def test_the_message_has_the_role_and_the_tokens_that_were_asked_for(state: Any) -> None:
    shown = task_state(role="user", count_tokens=len).recall(state=state, budget=200)
    assert shown is not None
    (message,) = shown["items"]
    assert message["role"] == "user"
    assert shown["token_count"] == len(message["content"]) <= 200
    assert message["content"] == core.render(state, 200, len)[0]


def test_the_order_of_calls_is_the_order_of_data(state: Any) -> None:
    record, put = task_state().functions
    for key in ("z", "a", "10", "9"):
        change = put.apply(state, put.parse("put", {"key": key, "value": key}), ROOT)
        assert change.result == f"Recorded {key}."
        assert list(change.state["data"]) == ["k", key]
    assert record.apply(state, record.parse("record", {"path": "a.md"}), ROOT).state is None


def test_the_reserved_key_is_refused_with_a_text_that_a_model_can_read(state: Any) -> None:
    _, put = task_state().functions
    change = put.apply(state, put.parse("put", {"key": "__outcome", "value": "success"}), ROOT)
    assert change.state is None
    assert change.result == 'Cannot set reserved key "__outcome".'
