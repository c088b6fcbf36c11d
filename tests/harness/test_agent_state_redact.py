"""An agent state whose texts are redacted stays one that can be loaded."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from taskstate import agent_state_layer
from taskstate.errors import AgentStateError, InvalidValueError
from taskstate.harness import Diagnostic, Execution, Harness

from .support import running, task_layer

Open = Callable[[], Any]
KEY = "layers/agent-state/t/state"


def layers() -> Any:
    return task_layer(), agent_state_layer()


def agent(run: Execution) -> Any:
    """The agent-state layer of a run."""
    return run.context["agent-state"]


def test_texts_are_redacted_before_they_are_kept_and_shown(open_storage: Open, raw_bytes: Callable[[], bytes]) -> None:
    def redact(text: str) -> str:
        return re.sub(r"sk-[12]|\b(id|content|status|objective|schemaVersion|workItems|decisions)\b", "[x]", text)

    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(open_storage(), *layers(), redact=redact, diagnostics=seen.append) as run:
            added = await agent(run).add_work_item(id="w sk-1", content="use sk-1")
            assert added == {"id": "w [x]", "content": "use [x]", "status": "open"}
            await agent(run).set_work_item_status(id="w sk-1", status="blocked")
            await agent(run).set_objective(objective="hide sk-2")
            await agent(run).apply(operations=[{"op": "addDecision", "args": [{"id": "d", "content": "sk-2"}]}])
            async with run.spawn() as child:
                await agent(child).add_decision(id="e", content="sk-1 again")
            wanted = {
                "schemaVersion": 1,
                "workItems": [{"id": "w [x]", "content": "use [x]", "status": "blocked"}],
                "decisions": [{"id": "d", "content": "[x]"}, {"id": "e", "content": "[x] again"}],
                "objective": "hide [x]",
            }
            assert run.state("agent-state") == wanted
            assert "[x]" in str(await run.recall())
            assert not re.search("sk-[12]", str(await run.recall()))
        assert await open_storage().get(KEY) == wanted
        assert b"sk-1" not in raw_bytes()
        assert b"sk-2" not in raw_bytes()
        assert seen == []

    asyncio.run(scenario())


def test_redaction_that_makes_two_ids_equal_or_a_text_blank_is_refused(open_storage: Open) -> None:
    def redact(text: str) -> str:
        return "" if text == "secret" else text.replace("sk-1", "[x]").replace("sk-2", "[x]")

    def add(item_id: str, content: str = "c") -> Any:
        return {"op": "addWorkItem", "args": [{"id": item_id, "content": content}]}

    async def scenario() -> None:
        async with running(open_storage(), *layers(), redact=redact) as run:
            await agent(run).add_work_item(id="sk-1", content="c")
            kept = run.state("agent-state")
            for call in (
                lambda: agent(run).add_work_item(id="sk-2", content="other"),
                lambda: agent(run).add_decision(id="d", content="secret"),
                lambda: agent(run).apply(operations=[add("sk-2")]),
                lambda: agent(run).apply(operations=[add("one sk-1"), add("one sk-2")]),
                lambda: agent(run).apply(operations=[add("b", "secret")]),
            ):
                with pytest.raises((AgentStateError, InvalidValueError)):
                    await call()
                assert run.state("agent-state") == kept == await open_storage().get(KEY)
        async with running(open_storage(), *layers(), redact=redact) as run:
            assert run.state("agent-state") == kept
            await agent(run).set_work_item_status(id="sk-1", status="done")

    asyncio.run(scenario())


def to_x(text: str) -> str:
    return re.sub(r"sk-[12]|done|open", "[x]", text)


def test_a_status_is_left_alone_and_nested_operations_are_redacted_as_other_arguments_are() -> None:
    async def scenario() -> None:
        async with running(None, *layers(), redact=to_x) as run:
            await agent(run).add_work_item(id="sk-1", content="c")
            moved = await agent(run).apply(operations=[{"op": "set_work_item_status", "args": ["sk-1", "done"]}])
            assert moved == [{"id": "[x]", "content": "c", "status": "done"}]
            with pytest.raises(AgentStateError, match=re.escape('Duplicate work item id "[x]".')):
                await agent(run).apply(operations=[{"op": "addWorkItem", "args": [{"id": "sk-2", "content": "c"}]}])

    asyncio.run(scenario())


def test_a_stored_state_that_redaction_spoils_is_refused_and_never_moved_away(open_storage: Open) -> None:
    stored = {
        "schemaVersion": 1,
        "workItems": [{"id": f"sk-{number}", "content": "c", "status": "open"} for number in (1, 2)],
        "decisions": [],
    }

    async def scenario() -> None:
        storage = open_storage()
        await storage.set(KEY, stored)
        for option in ("raise", "set_aside"):
            layer = agent_state_layer(on_init_error=option)
            with pytest.raises(AgentStateError, match="Duplicate work item id"):
                async with running(storage, task_layer(), layer, redact=to_x):
                    pass
            assert await storage.get(KEY) == stored
            assert await storage.list("layers/agent-state/t/") == [KEY]

    asyncio.run(scenario())


@pytest.mark.parametrize("redact", [None, to_x], ids=["plain", "redacted"])
def test_an_imported_state_that_could_not_be_loaded_is_refused(redact: Any) -> None:
    items = [{"id": "sk-1", "content": "c", "status": "open"}, {"id": "sk-2", "content": "c", "status": "open"}]
    state = {"schemaVersion": 1, "workItems": items if redact else items[:1] * 2, "decisions": []}
    document = {
        "format": "taskstate.thread",
        "schemaVersion": 1,
        "threadId": "u",
        "layers": {"agent-state": {"state": state}},
    }

    async def scenario() -> None:
        async with Harness(layers=layers(), redact=redact) as harness:
            with pytest.raises(AgentStateError, match="Duplicate work item id") as caught:
                await harness.threads.import_(document)
            assert caught.value.path == "workItems[1].id"
            assert caught.value.__notes__[-1] == "in document.layers.agent-state.state"
            assert await harness.threads.list() == []

    asyncio.run(scenario())


def test_a_redaction_of_every_text_leaves_operations_what_they_are() -> None:
    async def scenario() -> None:
        async with running(None, *layers(), redact=str.upper) as run:
            operations = [{"op": "add_work_item", "args": [{"id": "b", "content": "c", "status": "blocked"}]}]
            assert await agent(run).apply(operations=operations) == [{"id": "B", "content": "C", "status": "blocked"}]

    asyncio.run(scenario())
