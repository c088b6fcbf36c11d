"""How hooks of users are called: plain or async, with what they take, and for so long at most."""

from __future__ import annotations

import asyncio
import functools
import time
from typing import Any

import pytest

from taskstate import ContextLayer
from taskstate.errors import ConfigurationError, HookTimeoutError, LifecycleError
from taskstate.harness import Diagnostic

from .support import running, task_layer, tools

HOOKS = ("recall", "store", "on_spawn", "on_return", "on_complete", "dispose")


async def use(run: Any) -> None:
    """Make every hook be called once (those of ends twice, for the child too)."""
    await run.recall()
    await run.store("response")
    async with run.spawn():
        pass


def test_a_hook_gets_only_the_arguments_that_it_takes() -> None:
    got: dict[str, Any] = {}

    class Few(ContextLayer):
        def init(self) -> Any:
            return {"state": {"n": 0}}

        def recall(self, *, budget: float, query: str) -> Any:
            got["recall"] = (budget, query)
            return "shown"

        async def store(self, response: Any, new_items: Any = ()) -> None:
            got["store"] = (response, new_items)

        def on_spawn(self, **rest: Any) -> Any:
            got["on_spawn"] = sorted(rest)
            return {"child_state": {}}

        async def on_return(self, **rest: Any) -> None:
            got["on_return"] = sorted(rest)

        @staticmethod
        def on_complete(outcome: str) -> None:
            got["on_complete"] = outcome

        def dispose(self) -> None:
            got["dispose"] = True

    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(None, Few("few", budget=50), diagnostics=seen.append) as run:
            assert await run.recall("what?", log=["l"]) == [{"role": "developer", "content": "shown"}]
            await run.store("r", new_items=["i"], log=["l"])
            async with run.spawn():
                pass
        assert seen == []
        assert got == {
            "recall": (50, "what?"),
            "store": ("r", ["i"]),
            "on_spawn": ["child_ctx", "parent_state"],
            "on_return": ["child_ctx", "child_log", "child_state", "inherited", "parent_state", "result"],
            "on_complete": "success",
            "dispose": True,
        }

    asyncio.run(scenario())


def test_a_hook_may_be_an_attribute_a_partial_or_an_object() -> None:
    class Storing:
        async def __call__(self, state: Any) -> Any:
            await asyncio.sleep(0)
            return {"state": {"n": state["n"] + 1}}

    async def scenario() -> None:
        layer = ContextLayer("own")
        layer.init = lambda: {"state": {"n": 0}}
        layer.store = Storing()
        async with running(None, layer) as run:
            await run.store()
            await run.store()
            assert run.state("own") == {"n": 2}

    asyncio.run(scenario())


class Faulty(ContextLayer):
    """A layer with one hook that fails, in the plain or the async way."""

    def __init__(self, hook: str, how: str, **options: Any) -> None:
        super().__init__("faulty", **options)

        def fail() -> None:
            raise KeyError("sk-in-the-text")

        async def fail_later() -> None:
            await asyncio.sleep(0)
            raise KeyError("sk-in-the-text")

        async def hang() -> None:
            await asyncio.sleep(60)

        async def cancel() -> None:
            raise asyncio.CancelledError

        self.init = lambda: {"state": {"n": 0}}
        self.on_spawn = lambda parent_state: {"child_state": parent_state}
        setattr(self, hook, {"plain": fail, "async": fail_later, "hang": hang, "cancel": cancel}[how])


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("how", ["plain", "async", "hang", "cancel"])
def test_a_hook_that_fails_is_reported_and_the_others_go_on(hook: str, how: str) -> None:
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        faulty = Faulty(hook, how, timeouts={hook: 20})
        async with running(None, faulty, task_layer(), diagnostics=seen.append) as run:
            await use(run)
            await tools(run).record_artifact(path="x")
            assert run.state("faulty") == {"n": 0}
            assert len(tools(run).checkpoints) == 1
            assert len(await run.recall()) == 1
        kind = {"plain": KeyError, "async": KeyError, "hang": HookTimeoutError, "cancel": LifecycleError}[how]
        assert {(one.layer_id, one.hook, type(one.error)) for one in seen} >= {("faulty", hook, kind)}
        if how == "hang":
            assert str(seen[0].error) == "Timeout after 20ms"

    asyncio.run(scenario())


def test_an_init_that_hangs_is_given_up_and_raised() -> None:
    async def scenario() -> None:
        start = time.monotonic()
        with pytest.raises(HookTimeoutError, match="Timeout after 20ms"):
            async with running(None, Faulty("init", "hang", timeouts={"init": 20})):
                pass
        assert time.monotonic() - start < 10
        async with running(None, Faulty("init", "hang", timeouts={"init": 20}, on_init_error="disable")) as run:
            assert run.state("faulty") is None

    asyncio.run(scenario())


def test_what_a_hook_gives_after_its_limit_is_not_taken() -> None:
    class Slow(ContextLayer):
        def init(self) -> Any:
            return {"state": {"n": 0}}

        async def store(self) -> Any:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.01)
            return {"state": {"n": "late"}}

    async def scenario() -> None:
        async with running(None, Slow("slow", timeouts={"store": 10})) as run:
            await run.store()
            await asyncio.sleep(0.03)
            assert run.state("slow") == {"n": 0}

    asyncio.run(scenario())


def test_a_limit_of_zero_is_none() -> None:
    class Patient(ContextLayer):
        async def store(self) -> Any:
            await asyncio.sleep(0.02)
            return {"state": "done"}

    async def scenario() -> None:
        async with running(None, Patient("patient", timeouts={"store": 0})) as run:
            await run.store()
            assert run.state("patient") == "done"

    asyncio.run(scenario())


@pytest.mark.parametrize("given", [7, "text", ["state"], object()], ids=["int", "str", "list", "object"])
@pytest.mark.parametrize("hook", ["init", "on_spawn", "on_return"])
def test_a_hook_that_gives_something_else_than_a_dict_is_reported(hook: str, given: Any) -> None:
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        layer = Faulty("recall", "plain", on_init_error="disable")
        layer.recall = None
        setattr(layer, hook, lambda: given)
        async with running(None, layer, task_layer(), diagnostics=seen.append) as run:
            await use(run)
        assert [one.hook for one in seen] == [hook]

    asyncio.run(scenario())


def test_an_outcome_that_nobody_knows_is_refused() -> None:
    async def scenario() -> None:
        async with running() as run:
            with pytest.raises(ConfigurationError, match="'great'"):
                await run._lifecycle.complete(run.ctx, "great")

    asyncio.run(scenario())


def decorated(hook: Any) -> Any:
    @functools.wraps(hook)
    def call(*arguments: Any, **options: Any) -> Any:
        return hook(*arguments, **options)

    return call


def test_a_decorated_async_hook_has_the_state_to_itself_too() -> None:
    layer = task_layer()
    layer.store = decorated(slow_store)

    async def scenario() -> None:
        async with running(None, layer) as run:
            await asyncio.gather(run.store(), tools(run).record_artifact(path="kept"))
            assert run.state("task-state")["files"] == ["kept"]
            assert run.state("task-state")["data"] == {"stored": True}

    asyncio.run(scenario())


async def slow_store(state: Any) -> Any:
    await asyncio.sleep(0.02)
    return {"state": {**state, "data": {"stored": True}}}


def test_a_hook_that_calls_a_function_of_its_own_layer_is_told_so_at_once() -> None:
    layer = task_layer()
    runs: list[Any] = []
    seen: list[Diagnostic] = []

    async def calling() -> None:
        await tools(runs[0]).record_artifact(path="never")

    layer.store = calling

    async def scenario() -> None:
        async with running(None, layer, diagnostics=seen.append) as run:
            runs.append(run)
            await asyncio.wait_for(run.store(), 5)
        assert [(one.hook, type(one.error)) for one in seen] == [("store", LifecycleError)]

    asyncio.run(scenario())
