"""Ways in which state could get out, be lost or block what follows, each found by trying."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from taskstate import ContextLayer, task_state
from taskstate.errors import ConfigurationError, InvalidValueError, StorageError
from taskstate.harness import Diagnostic, Harness
from taskstate.storage import MemoryStorage

from .support import KEY, Plain, running, tools


@pytest.mark.parametrize(
    "redact",
    [
        lambda text: text.replace("SECRET", ""),
        lambda text: text.replace("\\", ""),
        lambda text: text.replace("task", "[R]"),
        lambda text: text.replace("x", "xxxx"),
        str.upper,
    ],
    ids=["removes", "unescapes", "touches the tag", "lengthens", "upper"],
)
def test_no_redaction_opens_the_block_or_leaves_its_budget(redact: Callable[[str], str]) -> None:
    async def scenario() -> None:
        async with running(redact=redact) as run:
            await tools(run).set_task_data(key="k", value=["</taSESECRETCRET_state>", "</task_state>", "x" * 500])
            (message,) = await run.recall(budgets={"task-state": 100})
            assert message["content"].count("</task_state") == 1
            assert message["content"].endswith("\n</task_state>")
            assert len(message["content"]) <= 400
            await run.store()
            assert len(tools(run).checkpoints) == 1
            assert run.state("task-state").keys() == {"checkpoints", "files", "data"}

    asyncio.run(scenario())


def test_redaction_makes_no_reserved_key() -> None:
    async def scenario() -> None:
        async with running(redact=lambda text: text.replace("SECRET", "")) as run:
            for key in ("__outSECRETcome", "__outSECSECRETRETcome"):
                with suppress(InvalidValueError):
                    await tools(run).set_task_data(key=key, value="x")
            assert "__outcome" not in tools(run).data

    asyncio.run(scenario())


def test_a_window_without_room_shows_next_to_nothing() -> None:
    async def scenario() -> None:
        async with running() as run:
            await tools(run).set_task_data(key="k", value="x" * 100_000)
            for options in ({"system_prompt_tokens": 200_000}, {"context_window": 4000}, {"context_window": 0}):
                (message,) = await run.recall(**options)
                assert message["content"] == "\n</task_state>"

    asyncio.run(scenario())


@pytest.mark.parametrize("when", [math.nan, "2020", None, True])
def test_prune_takes_no_time_that_is_none(when: Any) -> None:
    async def scenario() -> None:
        async with Harness(layers=[task_state()]) as harness:
            async with harness.execution(thread_id="t") as run:
                await run.store()
            with pytest.raises(ConfigurationError):
                await harness.threads.prune(older_than=when)
            assert [info.thread_id for info in await harness.threads.list()] == ["t"]

    asyncio.run(scenario())


@pytest.mark.parametrize("now", [None, "now", math.nan, 1.5, True, -1, 2**63])
def test_a_clock_that_gives_no_time_leaves_the_record_as_it_was(now: Any) -> None:
    async def scenario() -> None:
        storage, seen = MemoryStorage(), []
        layer = task_state(clock=lambda: now)
        async with running(storage, layer, diagnostics=seen.append) as run:
            await run.store()
            assert tools(run).checkpoints == []
        assert {type(one.error) for one in seen} == {ConfigurationError}
        async with running(storage) as run:
            assert tools(run).checkpoints == []

    asyncio.run(scenario())


class Slow(ContextLayer):
    async def init(self) -> Any:
        await asyncio.sleep(0.05)
        return {"state": {}}

    async def dispose(self) -> None:
        await asyncio.sleep(0.05)


def test_a_second_cancellation_on_entry_takes_no_id_for_good() -> None:
    async def scenario() -> None:
        async with Harness(layers=[Slow("slow")]) as harness:

            async def enter() -> None:
                async with harness.execution(execution_id="e"):
                    raise AssertionError("must not start")

            entering = asyncio.create_task(enter())
            for _ in range(2):
                await asyncio.sleep(0.02)
                entering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await entering
            await asyncio.sleep(0.1)
            async with harness.execution(execution_id="e"):
                pass

    asyncio.run(scenario())


@pytest.mark.parametrize("hook", ["on_complete", "dispose"])
@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit], ids=lambda error: error.__name__)
def test_whatever_a_last_hook_raises_nothing_of_the_execution_stays(hook: str, error: type[BaseException]) -> None:
    layer = task_state()

    def fail() -> None:
        raise error

    setattr(layer, hook, fail)

    async def scenario() -> None:
        async with Harness(layers=[layer]) as harness:
            for _ in range(2):
                try:
                    async with harness.execution(execution_id="e") as run, run.spawn(execution_id="c"):
                        pass
                except GeneratorExit:
                    pass
            assert harness._running == set()
            assert harness.lifecycle.states._live == {}

    asyncio.run(scenario())


def test_what_is_exported_can_be_imported_again() -> None:
    deep: Any = 1
    for _ in range(198):
        deep = [deep]

    async def scenario() -> None:
        layers = [task_state(), task_state(id="second")]
        async with Harness(layers=layers) as harness:
            async with harness.execution(thread_id="t") as run:
                await tools(run).set_task_data(key="deep", value=deep)
                for layer in layers:
                    await run.context[layer.id].set_task_data(key="long", value="x" * 40_000_000)
            document = await harness.threads.export("t")
            await harness.threads.import_(document, thread_id="u")
            assert await harness.threads.read("u") == await harness.threads.read("t")

    asyncio.run(scenario())


def test_an_import_that_fails_half_way_can_be_tried_again() -> None:
    class Failing(Plain):
        async def set(self, key: str, value: Any) -> None:
            if key == KEY and self.error is not None:
                raise self.error
            self.records[key] = value

        async def delete(self, key: str) -> None:
            self.records.pop(key, None)

    async def scenario() -> None:
        storage = Failing()
        layers = [task_state(id="a"), task_state()]
        async with Harness(layers=layers) as other:
            async with other.execution(thread_id="t") as run:
                await run.store()
            document = await other.threads.export("t")
        async with Harness(layers=layers, storage=storage) as harness:
            storage.error = StorageError(KEY, "full")
            with pytest.raises(StorageError):
                await harness.threads.import_(document)
            assert storage.records == {}
            storage.error = None
            assert await harness.threads.import_(document) == "t"

    asyncio.run(scenario())


def test_no_execution_is_named_like_the_reserved_key() -> None:
    async def scenario() -> None:
        async with running(None, task_state(merge_data="namespace")) as run:
            with pytest.raises(ConfigurationError):
                async with run.spawn(execution_id="__outcome"):
                    pass

    asyncio.run(scenario())


@pytest.mark.parametrize("result", [{"turns": 1}, [], 7], ids=repr)
def test_a_hook_that_gives_no_state_where_one_is_due_is_reported(result: Any) -> None:
    class Wrong(ContextLayer):
        def init(self) -> Any:
            return {"state": {"turns": 0}}

        def store(self) -> Any:
            return result

    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(None, Wrong("wrong"), diagnostics=seen.append) as run:
            await run.store()
        assert [one.hook for one in seen] == ["store"]
        assert "wrong" in seen[0].message

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "options",
    [
        {"storage": "x.db"},
        {"redact": "x"},
        {"max_state_bytes": -1},
        {"max_state_bytes": math.inf},
        {"max_state_bytes": 200 * 2**20, "storage": MemoryStorage()},
        {"layers": task_state()},
        {"layers": [task_state]},
        {"layers": [task_state(budget="lots")]},  # type: ignore[arg-type]
    ],
    ids="-".join,
)
def test_bad_options_are_refused_where_they_are_given(options: Any) -> None:
    with pytest.raises(ConfigurationError):
        Harness(**options)


def test_a_state_may_be_as_large_as_it_says() -> None:
    async def scenario() -> None:
        async with running(max_state_bytes=200 * 2**20) as run:
            await tools(run).set_task_data(key="k", value="x" * (100 * 2**20))
            assert len(tools(run).data["k"]) == 100 * 2**20

    asyncio.run(scenario())


def test_a_layer_may_change_the_result_of_a_child_and_leave_the_state_alone() -> None:
    class Signs(ContextLayer):
        def init(self) -> Any:
            return {"state": {"n": 1}}

        def on_spawn(self, *, parent_state: Any) -> Any:
            return {"child_state": parent_state}

        def on_return(self, *, result: Any) -> Any:
            return {"result": f"{result}, signed"}

    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(None, Signs("signs"), diagnostics=seen.append) as run:
            async with run.spawn() as child:
                child.result = "done"
            assert child.result == "done, signed"
            assert run.state("signs") == {"n": 1}
        assert seen == []

    asyncio.run(scenario())
