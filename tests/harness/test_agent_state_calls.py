"""Calls of the agent-state layer's functions by code and by a model: checked, all or none, durable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from taskstate import agent_state_layer
from taskstate.errors import AgentStateError, ConfigurationError, InvalidArgumentError
from taskstate.harness import Execution
from taskstate.layer import AgentStateLayer
from taskstate.record import restore_agent_state
from taskstate.types import STATUSES

from .support import Plain, running, task_layer, tools

Open = Callable[[], Any]
KEY = "layers/agent-state/t/state"
NOTHING: dict[str, Any] = {"schemaVersion": 1, "workItems": [], "decisions": []}
ITEM = {"id": "a", "content": "c", "status": "open"}


def layers(**options: Any) -> Any:
    return task_layer(), agent_state_layer(**options)


def agent(run: Execution) -> Any:
    """The agent-state layer of a run."""
    return run.context["agent-state"]


def test_tools_take_a_dict_or_a_text_by_either_name() -> None:
    async def scenario() -> None:
        async with running(None, *layers()) as run:
            added = await run.call_tool("agent-state/addWorkItem", '{"id": "a", "content": "c", "more": 1}')
            assert added == ITEM
            done = await run.call_tool("agent-state__setWorkItemStatus", b'{"id": "a", "status": "done"}')
            assert done == {**ITEM, "status": "done"}
            assert await run.call_tool("agent-state/addDecision", {"id": "d", "content": "x"}) == {
                "id": "d",
                "content": "x",
            }
            assert await run.call_tool("agent-state/readAgentState", "{}") == run.state("agent-state")
            assert json.loads(json.dumps(run.tools())) == run.tools()
            assert [tool["name"] for tool in run.tools()] == [
                "task-state__recordArtifact",
                "task-state__setTaskData",
                "agent-state__readAgentState",
                "agent-state__addWorkItem",
                "agent-state__setWorkItemStatus",
                "agent-state__addDecision",
            ]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("addWorkItem", '{"id": "b"', InvalidArgumentError),
        ("addWorkItem", "[]", InvalidArgumentError),
        ("addWorkItem", None, InvalidArgumentError),
        ("addWorkItem", {"id": "b", "content": "\ud800"}, AgentStateError),
        ("addWorkItem", {"id": "b", "content": "c", "status": "todo"}, InvalidArgumentError),
        ("setWorkItemStatus", '{"id": "a", "status": "Done"}', InvalidArgumentError),
        ("setWorkItemStatus", {"id": "none", "status": "done"}, AgentStateError),
        ("addWorkItem", {"id": "a", "content": "again"}, AgentStateError),
        ("addDecision", {"id": "\t", "content": "c"}, AgentStateError),
    ],
)
def test_a_call_that_is_refused_changes_and_writes_nothing(name: str, arguments: Any, error: type[Exception]) -> None:
    async def scenario() -> None:
        storage = Plain()
        async with running(storage, *layers()) as run:
            await agent(run).add_work_item(id="a", content="c")
            writes = len(storage.writes)
            with pytest.raises(error):
                await run.call_tool(f"agent-state/{name}", arguments)
            assert run.state("agent-state") == {**NOTHING, "workItems": [ITEM]}
            assert len(storage.writes) == writes
        assert storage.records[KEY] == {**NOTHING, "workItems": [ITEM]}

    asyncio.run(scenario())


def test_functions_of_the_code_are_no_tools_of_the_model() -> None:
    async def scenario() -> None:
        hidden = [function for function in AgentStateLayer.functions if not function.for_model]
        assert [function.attribute for function in hidden] == [
            "set_objective",
            "set_work_item_content",
            "remove_work_item",
            "remove_decision",
            "apply",
        ]
        async with running(None, *layers()) as run:
            await agent(run).add_work_item(id="a", content="c")
            for function in hidden:
                for name in (f"agent-state/{function.name}", f"agent-state__{function.name}", function.name):
                    with pytest.raises(ConfigurationError):
                        await run.call_tool(name, {"id": "a", "objective": "x", "operations": []})
                assert callable(getattr(agent(run), function.attribute))
                assert function.attribute in dir(agent(run))
            assert run.state("agent-state") == {**NOTHING, "workItems": [ITEM]}
            assert await agent(run).set_work_item_content(id="a", content="d") == {**ITEM, "content": "d"}
            assert await agent(run).set_objective(objective="o") is None
            assert agent(run).objective == "o"
            assert await agent(run).remove_work_item(id="a") is True
            assert await agent(run).remove_decision(id="a") is False

    asyncio.run(scenario())


def test_operations_take_effect_all_or_none() -> None:
    async def scenario() -> None:
        storage = Plain()
        async with running(storage, *layers()) as run:
            add = {"op": "addWorkItem", "args": [{"id": "a", "content": "c"}]}
            for bad in ({"op": "removeWorkItem"}, {"op": "snapshot", "args": [1]}, {"op": "__init__", "args": []}, add):
                with pytest.raises(AgentStateError) as caught:
                    await agent(run).apply(operations=[add, bad])
                assert caught.value.path.startswith("operations[1]")
                assert run.state("agent-state") == NOTHING
            assert storage.writes == []
            assert await agent(run).apply(operations=[add, {"op": "removeWorkItem", "args": ["a"]}, add]) == [
                ITEM,
                True,
                ITEM,
            ]
            assert storage.writes == [{**NOTHING, "workItems": [ITEM]}]

    asyncio.run(scenario())


def test_a_change_is_durable_when_its_call_returns(open_storage: Open) -> None:
    async def scenario() -> None:
        async with running(open_storage(), *layers()) as run:
            for n, status in enumerate(STATUSES):
                await agent(run).add_work_item(id=f"W-{n}", content="c")
                await run.call_tool("agent-state/setWorkItemStatus", {"id": f"W-{n}", "status": status})
                assert await open_storage().get(KEY) == run.state("agent-state")
            await agent(run).set_objective(objective="o")
            assert await open_storage().get(KEY) == run.state("agent-state")
        assert restore_agent_state(await open_storage().get(KEY)).summary()["total"] == 4

    asyncio.run(scenario())


def test_calls_made_together_all_take_effect(open_storage: Open) -> None:
    async def scenario() -> None:
        async with running(open_storage(), *layers()) as run:
            await asyncio.gather(
                *(agent(run).add_work_item(id=f"W-{n}", content="c") for n in range(30)),
                *(run.call_tool("agent-state/addDecision", {"id": f"D-{n}", "content": "c"}) for n in range(30)),
                *(tools(run).record_artifact(path=f"{n}.md") for n in range(10)),
            )
            refused = await asyncio.gather(
                *(agent(run).add_work_item(id="same", content=f"{n}") for n in range(5)), return_exceptions=True
            )
            assert [type(one) for one in refused[1:]] == [AgentStateError] * 4
        state = await open_storage().get(KEY)
        assert [item["id"] for item in state["workItems"]] == [*(f"W-{n}" for n in range(30)), "same"]
        assert len(state["decisions"]) == 30

    asyncio.run(scenario())
