"""Functions of layers as code and models reach them: bound to a run, from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from taskstate.errors import ConfigurationError, InvalidArgumentError, LifecycleError
from taskstate.harness import Harness
from taskstate.storage import MemoryStorage

from .support import Notes, Plain, running, stored, task_layer, tools

Open = Callable[[], Any]


def test_calls_started_together_all_take_effect(open_storage: Open) -> None:
    # Reported of another library as langchain-ai/langgraph#8115: of calls made together some were lost.
    async def scenario() -> None:
        async with running(open_storage()) as run:
            await asyncio.gather(
                *(tools(run).record_artifact(path=f"{n}.md") for n in range(40)),
                *(run.call_tool("task-state/setTaskData", {"key": f"k{n}", "value": n}) for n in range(40)),
            )
            state = run.state("task-state")
            assert state["files"] == [f"{n}.md" for n in range(40)]
            assert state["data"] == {f"k{n}": n for n in range(40)}
            assert await stored(open_storage()) == state

    asyncio.run(scenario())


@pytest.mark.parametrize("storage", ["memory", "file", "sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("way", ["loop of its own", "no loop"])
def test_calls_from_32_threads_all_take_effect(open_storage: Open, way: str) -> None:
    async def scenario() -> None:
        async with running(open_storage()) as run:
            barrier = threading.Barrier(32, timeout=30)
            results: list[Any] = []

            def work(number: int) -> None:
                arguments = {"path": f"{number}.md"}
                barrier.wait()
                if way == "no loop":
                    results.append(run.call_tool_sync("task-state/recordArtifact", arguments))
                else:
                    results.append(asyncio.run(run.call_tool("task-state/recordArtifact", arguments)))

            threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            assert sorted(results) == sorted(f"Recorded artifact: {n}.md" for n in range(32))
            assert sorted(tools(run).files) == sorted(f"{n}.md" for n in range(32))
            assert await stored(open_storage()) == run.state("task-state")

    asyncio.run(scenario())


def test_errors_reach_the_thread_that_called() -> None:
    async def scenario() -> None:
        async with running() as run:

            def work() -> None:
                with pytest.raises(InvalidArgumentError):
                    run.call_tool_sync("task-state/recordArtifact", {"path": 7})
                with pytest.raises(InvalidArgumentError):
                    asyncio.run(run.call_tool("task-state/recordArtifact", {"path": 7}))

            await asyncio.to_thread(work)

    asyncio.run(scenario())


def test_a_blocking_call_inside_a_running_loop_is_refused_at_once() -> None:
    # Reported of others as langchain-ai/langgraph#7857: such a call waited for itself for ever.
    async def scenario() -> None:
        async with running() as run:
            with pytest.raises(LifecycleError, match="await the async function instead"):
                run.call_tool_sync("task-state/recordArtifact", {"path": "x"})

            async def elsewhere() -> None:
                run.call_tool_sync("task-state/recordArtifact", {"path": "x"})

            def work() -> None:
                with pytest.raises(LifecycleError, match="await the async function instead"):
                    asyncio.run(elsewhere())

            await asyncio.to_thread(work)
            assert tools(run).files == []

    asyncio.run(scenario())


def test_a_loop_that_does_not_answer_is_an_error_and_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskstate.harness.execution.PATIENCE_SECONDS", 0.05)

    async def scenario() -> None:
        async with running() as run:
            errors: list[str] = []

            def work(call: Callable[[], Any]) -> None:
                try:
                    call()
                except LifecycleError as error:
                    errors.append(str(error))

            arguments = ("task-state/recordArtifact", {"path": "x"})
            for call in (
                lambda: run.call_tool_sync(*arguments),
                lambda: asyncio.run(run.call_tool(*arguments)),
            ):
                thread = threading.Thread(target=work, args=(call,))
                thread.start()
                thread.join(timeout=30)
            assert len(errors) == 2
            assert all("is it blocked?" in error for error in errors)
            await asyncio.sleep(0.01)
            assert tools(run).files == []

    asyncio.run(scenario())


def test_what_is_reached_through_a_run_is_bound_to_it() -> None:
    async def scenario() -> None:
        async with running() as run:
            record = tools(run).record_artifact
            async with run.spawn() as child:
                await record(path="parent.md")
                await tools(child).record_artifact(path="child.md")
                await child.call_tool("task-state__setTaskData", {"key": "k", "value": 1})
                assert tools(run).files == ["parent.md"]
                assert tools(child).files == ["child.md"]
                assert tools(run).data == {}
            assert tools(run).files == ["parent.md", "child.md"]
            with pytest.raises(LifecycleError, match="has ended"):
                await tools(child).record_artifact(path="late.md")

    asyncio.run(scenario())


def test_a_handle_shows_functions_and_fields() -> None:
    async def scenario() -> None:
        async with running(None, task_layer(), Notes()) as run:
            handle = tools(run)
            await run.store("r")
            assert list(run.context) == ["task-state", "notes"]
            assert len(run.context) == 2
            assert handle.checkpoints == [{"timestamp": 1, "depth": 0}]
            assert handle.files == []
            assert handle.data == {}
            assert run.context["notes"].seen == ["r", "r"]
            assert {"state", "record_artifact", "set_task_data", "checkpoints", "files", "data"} <= set(dir(handle))
            assert handle.record_artifact.__name__ == "record_artifact"
            assert handle.record_artifact.__doc__
            assert repr(handle) == f"<LayerHandle 'task-state' of execution {run.execution_id}>"
            for name in ("nothing", "__len__", "_private"):
                assert not hasattr(handle, name)
            with pytest.raises(AttributeError, match="'nothing'"):
                _ = handle.nothing
            with pytest.raises(AttributeError):
                handle.files = []
            with pytest.raises(KeyError):
                _ = run.context["unknown"]
            with pytest.raises(ConfigurationError, match="'unknown'"):
                run.state("unknown")

    asyncio.run(scenario())


def test_tools_are_described_for_each_provider() -> None:
    async def scenario() -> None:
        async with running(None, task_layer(), task_layer(id="plan")) as run:
            plain = run.tools()
            assert [tool["name"] for tool in plain] == [
                "task-state__recordArtifact",
                "task-state__setTaskData",
                "plan__recordArtifact",
                "plan__setTaskData",
            ]
            assert all(tool["parameters"]["type"] == "object" and tool["description"] for tool in plain)
            assert run.tools("openai-chat")[0] == {"type": "function", "function": plain[0]}
            assert run.tools("openai-responses")[0] == {"type": "function", **plain[0]}
            assert run.tools("anthropic")[0] == {
                "name": plain[0]["name"],
                "description": plain[0]["description"],
                "input_schema": plain[0]["parameters"],
            }
            with pytest.raises(ConfigurationError):
                run.tools("other")  # type: ignore[arg-type]

    asyncio.run(scenario())


def test_a_tool_is_called_by_its_name_or_its_alias_with_a_dict_or_json_text() -> None:
    async def scenario() -> None:
        async with running() as run:
            assert await run.call_tool("task-state/recordArtifact", {"path": "a"}) == "Recorded artifact: a"
            assert await run.call_tool("task-state__recordArtifact", '{"path": "a"}') == "Already recorded: a"
            assert await run.call_tool("task-state__setTaskData", b'{"key": "k", "value": [1, 2.0]}') == "Recorded k."
            assert await run.call_tool("task-state__setTaskData", {"key": "n", "value": None}) == "Recorded n."
            assert tools(run).data == {"k": [1, 2.0], "n": None}
            assert await run.call_tool("task-state/setTaskData", {"key": "__outcome", "value": 1}) == (
                'Cannot set reserved key "__outcome".'
            )
            assert "__outcome" not in tools(run).data

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"key": "k"},
        {"value": 1},
        {"key": "", "value": 1},
        {"key": 7, "value": 1},
        None,
        [],
        7,
        "",
        "{",
        "[1]",
        "null",
        b"\xff",
        '{"key": "k", "value": NaN}',
        '{"key": "k", "value": 1e400}',
        '{"key": "k", "value": 18446744073709551616}',
        '{"key": "k", "value": -9223372036854775809}',
        '{"key": "k", "value": "\\ud83d"}',
        '{"key": "k", "value": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
    ids=lambda value: repr(value)[:50],
)
def test_bad_arguments_are_a_typed_error_and_change_nothing(arguments: Any) -> None:
    async def scenario() -> None:
        storage = Plain()
        async with running(storage) as run:
            with pytest.raises(InvalidArgumentError) as caught:
                await run.call_tool("task-state/setTaskData", arguments)
            assert "setTaskData" in str(caught.value)
            assert len(str(caught.value)) < 500
            assert storage.writes == []
            assert tools(run).data == {}

    asyncio.run(scenario())


def test_an_unknown_tool_is_named() -> None:
    async def scenario() -> None:
        async with running() as run:
            for name in (
                "task-state/unknown",
                "recordArtifact",
                "task-state__record_artifact",
                "",
                "other/setTaskData",
            ):
                with pytest.raises(ConfigurationError, match="no tool has the name"):
                    await run.call_tool(name, {})
                with pytest.raises(ConfigurationError, match="no tool has the name"):
                    await asyncio.to_thread(run.call_tool_sync, name, {})

    asyncio.run(scenario())


def test_a_store_hook_that_awaits_loses_no_call_made_meanwhile() -> None:
    from taskstate.layer import Change, LayerFunction

    from ..layer.test_functions import Arguments

    def add(state: Any, arguments: Any, ctx: Any) -> Change:
        return Change("added", {**state, "seen": [*state["seen"], arguments.n]})

    class Adding(Notes):
        functions = (LayerFunction("add", "add", "Adds a number.", lambda: Arguments, add),)

    async def scenario() -> None:
        storage = MemoryStorage()
        async with running(storage, Adding(pause=0.003)) as run:
            calls: list[Any] = []
            for number in range(30):
                calls.append(asyncio.ensure_future(run.context["notes"].add(n=number)))
                if number % 5 == 0:
                    calls.append(asyncio.ensure_future(run.store(f"r{number}")))
                await asyncio.sleep(0.001)
            await asyncio.gather(*calls)
            seen = run.state("notes")["seen"]
            assert [n for n in seen if type(n) is int] == list(range(30))
            assert sorted(n for n in seen if type(n) is str) == sorted(2 * [f"r{n}" for n in range(0, 30, 5)])
            assert await storage.get("layers/notes/t/state") == {"seen": seen}

    asyncio.run(scenario())


def test_a_call_on_a_layer_without_state_is_refused() -> None:
    async def scenario() -> None:
        storage = Plain()
        storage.records["layers/task-state/t/state"] = {"files": 7}
        layer = task_layer(on_init_error="disable")
        async with Harness(storage=storage, layers=[layer]) as harness, harness.execution(thread_id="t") as run:
            assert run.state("task-state") is None
            assert not hasattr(tools(run), "files")
            with pytest.raises(LifecycleError, match="layer task-state is disabled in this run"):
                await tools(run).record_artifact(path="x")
        assert storage.records["layers/task-state/t/state"] == {"files": 7}

    asyncio.run(scenario())
