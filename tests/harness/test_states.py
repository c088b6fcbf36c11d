"""What may enter a state, and what is refused: nothing of it is live, nothing of it is stored."""

from __future__ import annotations

import asyncio
import collections
import datetime as dt
import decimal
import enum
import math
import pathlib
import sys
import threading
import typing
import uuid
from collections.abc import Callable
from typing import Any

import pydantic
import pytest

from taskstate import ContextLayer
from taskstate.errors import InvalidBudgetError, InvalidValueError, StateTooLargeError
from taskstate.harness import Diagnostic, Harness
from taskstate.layer import Change, LayerFunction
from taskstate.storage import MemoryStorage

from .support import KEY, running, stored, task_layer, tools

Open = Callable[[], Any]


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Table(dict):  # type: ignore[type-arg]
    pass


class Level(enum.IntEnum):
    LOW = 1


class Colour(enum.Enum):
    RED = "red"


class Point(typing.NamedTuple):
    x: int
    y: int


class Model(pydantic.BaseModel):
    x: int = 1


def cycle() -> Any:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


# Reported of others: crewAIInc/crewAI#7358, pydantic/pydantic-ai#8367, langchain-ai/langgraph#8388,
# simonsobs/ocs#300, conbench/conbench#1163, google/adk-python#3471, microsoft/agent-framework PR#7790,
# agentscope-ai/agentscope#1117 and agent0ai/agent-zero#1773.
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "datetime": (lambda: dt.datetime.now(dt.UTC), ""),
    "date": (lambda: dt.date(2024, 1, 1), ""),
    "bytes": (lambda: b"\xff\xfe\x00", ""),
    "Decimal": (lambda: decimal.Decimal("1.5"), ""),
    "set": (lambda: {1}, ""),
    "set of tuples": (lambda: {(1, 2)}, ""),
    "NaN": (lambda: math.nan, ""),
    "Infinity": (lambda: math.inf, ""),
    "-Infinity": (lambda: -math.inf, ""),
    "Path": (lambda: pathlib.Path("x"), ""),
    "UUID": (lambda: uuid.UUID(int=1), ""),
    "pydantic model": (Model, ""),
    "enum": (lambda: Colour.RED, ""),
    "IntEnum": (lambda: Level.LOW, ""),
    "subclass of str": (lambda: Text("x"), ""),
    "subclass of int": (lambda: Whole(1), ""),
    "subclass of dict": (lambda: Table(x=1), ""),
    "NamedTuple": (lambda: Point(1, 2), ""),
    "Counter": (lambda: collections.Counter("aab"), ""),
    "defaultdict": (lambda: collections.defaultdict(list), ""),
    "deque": (lambda: collections.deque([1], maxlen=2), ""),
    "key that is a tuple": (lambda: {(1, "a"): 2}, ""),
    "key that is a number": (lambda: {"a": {1: 2}}, ".a"),
    "lone surrogate": (lambda: "a\ud83d", ""),
    "lone surrogate in a key": (lambda: {"\ud83d": 1}, ""),
    "2**64": (lambda: 2**64, ""),
    "-2**63-1": (lambda: -(2**63) - 1, ""),
    "lock three levels down": (lambda: {"a": {"b": [0, threading.Lock()]}}, ".a.b[1]"),
    "open file": (lambda: {"a": {"b": {"c": sys.__stderr__}}}, ".a.b.c"),
    "cycle": (cycle, ""),
    "nesting of 300": (lambda: nested(300), ""),
    "function": (lambda: print, ""),
    "object": (object, ""),
}

STATE = {"checkpoints": [{"timestamp": 1, "depth": 0}], "files": ["a.md"], "data": {"report": "old"}}


@pytest.fixture(params=list(BAD))
def bad(request: pytest.FixtureRequest) -> Any:
    """A value that no state can hold, and where below itself the fault is."""
    make, place = BAD[request.param]
    return make(), place


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_bad_value_is_refused_by_path_and_changes_nothing(bad: Any) -> None:
    value, place = bad

    async def scenario() -> None:
        storage = MemoryStorage()
        await storage.set(KEY, STATE)
        async with running(storage) as run:
            before = await storage.get_versioned(KEY)
            with pytest.raises(InvalidValueError) as caught:
                await tools(run).set_task_data(key="report", value={"when": value})
            assert caught.value.path.startswith(f"data.report.when{place}")
            assert str(caught.value).startswith(caught.value.path)
            with pytest.raises(InvalidValueError):
                await run.call_tool("task-state/setTaskData", {"key": "report", "value": value})
            assert run.state("task-state") == STATE
            assert await storage.get_versioned(KEY) == before
            async with run.spawn() as child:
                with pytest.raises(InvalidValueError):
                    await tools(child).set_task_data(key="report", value=value)
            assert run.state("task-state") == STATE
            await tools(run).set_task_data(key="good", value=1)
            assert (await stored(storage))["data"] == {"report": "old", "good": 1}

    asyncio.run(scenario())


class Keeper(ContextLayer):
    """A user's layer that puts into its state what it is given."""

    def __init__(self) -> None:
        super().__init__("keeper")

    async def init(self, storage: Any) -> Any:
        return {"state": await storage.get("state") or {"report": "old"}}

    async def store(self, state: Any, response: Any) -> Any:
        return {"state": {**state, "report": {"when": response}}}

    def on_spawn(self, parent_state: Any) -> Any:
        return {"child_state": parent_state}

    def on_return(self, parent_state: Any, result: Any) -> Any:
        return {"parent_state": {**parent_state, "report": {"when": result}}}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_bad_value_in_a_users_state_is_reported_by_path_and_changes_nothing(bad: Any) -> None:
    value, place = bad

    async def scenario() -> None:
        seen: list[Diagnostic] = []
        storage = MemoryStorage()
        async with running(storage, Keeper(), diagnostics=seen.append) as run:
            await run.store("good")
            state = {"report": {"when": "good"}}
            await run.store(value)
            async with run.spawn() as child:
                child.result = value
            assert run.state("keeper") == await storage.get("layers/keeper/t/state") == state
            assert [one.hook for one in seen] == ["store", "on_return"]
            for one in seen:
                assert isinstance(one.error, InvalidValueError)
                assert one.error.path.startswith(f"report.when{place}")
            await run.store("better")
            assert await storage.get("layers/keeper/t/state") == {"report": {"when": "better"}}

    asyncio.run(scenario())


@pytest.mark.parametrize("field", ["path", "key"])
@pytest.mark.parametrize("text", ["a\ud83d", Text("x"), b"x", 7, None, ""], ids=repr)
def test_a_bad_path_or_key_changes_nothing(field: str, text: Any) -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        await storage.set(KEY, STATE)
        async with running(storage) as run:
            with pytest.raises(ValueError, match=r"^task-state/|^files\[1\]: |^data: "):  # noqa: PT012
                if field == "path":
                    await tools(run).record_artifact(path=text)
                else:
                    await tools(run).set_task_data(key=text, value=1)
            assert run.state("task-state") == await stored(storage) == STATE

    asyncio.run(scenario())


def test_what_json_can_hold_arrives_as_it_was(open_storage: Open) -> None:
    shared = [1]
    value = {
        "numbers": [0, -0.0, 1.0, 1, 1e21, 5e-324, 2**64 - 1, -(2**63), True, None],
        "text": [
            "",
            "\x00\x1f",
            "\u2028\u2029\x85\x0b\x0c",
            "日本語",
            "👩‍👩‍👧",
            "</task_state>",
            '{"$type": "os.system"}',
        ],
        "shared": {"x": shared, "y": shared},
        "keys": {"": 1, "10": 2, "9": 3, "__proto__": 4, "a/b": 5},
        "deep": nested(150),
    }

    async def scenario() -> None:
        async with running(open_storage()) as run:
            await tools(run).set_task_data(key="value", value=value)
        async with running(open_storage()) as run:
            found = tools(run).data["value"]
            assert repr(found) == repr(value)
            assert list(found["keys"]) == list(value["keys"])

    asyncio.run(scenario())


def test_a_tuple_is_kept_as_a_list() -> None:
    async def scenario() -> None:
        async with running() as run:
            await tools(run).set_task_data(key="value", value=(1, (2, 3)))
            assert tools(run).data == {"value": [1, [2, 3]]}

    asyncio.run(scenario())


def test_a_state_over_the_limit_is_refused_and_the_old_one_stays(open_storage: Open) -> None:
    async def scenario() -> None:
        async with running(open_storage(), max_state_bytes=10_000) as run:
            await tools(run).set_task_data(key="small", value="x" * 5000)
            before = run.state("task-state")
            with pytest.raises(StateTooLargeError, match="larger than 10000 bytes"):
                await tools(run).set_task_data(key="more", value="x" * 5000)
            assert run.state("task-state") == await stored(open_storage()) == before
            await tools(run).set_task_data(key="small", value="y")
            await tools(run).set_task_data(key="more", value="x" * 5000)

    asyncio.run(scenario())


def test_a_higher_limit_holds_for_everything_one_does_with_a_state() -> None:
    async def scenario() -> None:
        limit = 80 * 1024 * 1024
        async with running(MemoryStorage(max_bytes=limit), max_state_bytes=limit) as run:
            large = "x" * (36 * 1024 * 1024)
            for key in ("a", "b"):
                await tools(run).set_task_data(key=key, value=large)
            assert tools(run).data == run.state("task-state")["data"] == {"a": large, "b": large}
            async with run.spawn() as child:
                await tools(child).set_task_data(key="small", value=1)
            await run.store()
            assert tools(run).data["small"] == 1
            assert run._harness.lifecycle.states.live()

    asyncio.run(scenario())


def test_a_budget_that_is_no_number_is_refused_and_shows_nothing() -> None:
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(diagnostics=seen.append) as run:
            with pytest.raises(InvalidBudgetError):
                await run.recall(context_window=math.nan)
            with pytest.raises(InvalidBudgetError):
                await run.recall(system_prompt_tokens=math.nan)
            assert await run.recall(budgets={"task-state": math.nan}) == []
            assert [(one.hook, type(one.error)) for one in seen] == [("recall", InvalidBudgetError)]
            assert len(await run.recall()) == 1
        with pytest.raises(InvalidBudgetError, match="layer task-state: budget is NaN"):
            Harness(layers=[task_layer(budget=math.nan)])

    asyncio.run(scenario())


def test_neither_the_caller_nor_a_reader_can_reach_into_a_state() -> None:
    # Reported of others as pydantic/pydantic-ai#1684 and langchain-ai/langgraph#8314.
    async def scenario() -> None:
        given = {"a": {"b": [1]}}
        storage = MemoryStorage()
        async with running(storage) as first, running(storage, thread_id="other") as second:
            for run in (first, second):
                await tools(run).set_task_data(key="k", value=given)
            snapshot = first.state("task-state")
            given["a"]["b"].append(2)
            first.state("task-state")["data"]["k"]["a"]["b"].append(3)
            tools(first).data["k"]["a"]["b"].append(4)
            tools(first).files.append("x")
            tools(first).state["data"].clear()
            async with first.spawn() as child:
                child.state("task-state")["data"]["k"]["a"].clear()
            await tools(first).set_task_data(key="k", value={"a": {"b": [5]}})
            assert (
                snapshot
                == second.state("task-state")
                == {"checkpoints": [], "files": [], "data": {"k": {"a": {"b": [1]}}}}
            )
            assert tools(first).data == {"k": {"a": {"b": [5]}}}

    asyncio.run(scenario())


def test_hooks_of_users_get_copies_and_what_they_give_is_copied() -> None:
    kept: list[Any] = []

    def keep(state: Any, arguments: Any, ctx: Any) -> Change:
        state["seen"].append("in place")
        kept.append(state)
        return Change("kept", state)

    class Arguments(pydantic.BaseModel):
        pass

    class Hoarder(ContextLayer):
        functions = (LayerFunction("keep", "keep", "Keeps.", lambda: Arguments, keep),)

        def init(self) -> Any:
            kept.append({"seen": ["init"]})
            return {"state": kept[-1]}

        def recall(self, state: Any) -> Any:
            kept.append(state)
            state["seen"].append("recall")

        def store(self, state: Any) -> Any:
            kept.append(state)
            state["seen"].append("store")
            return {"state": state}

        def on_spawn(self, parent_state: Any) -> Any:
            kept.append(parent_state)
            parent_state["seen"].append("child")
            return {"child_state": parent_state}

        def on_return(self, parent_state: Any, child_state: Any) -> Any:
            kept.extend([parent_state, child_state])
            return {"parent_state": parent_state}

        def on_complete(self, state: Any) -> Any:
            kept.append(state)

    async def scenario() -> None:
        storage = MemoryStorage()
        async with running(storage, Hoarder("hoarder")) as run:

            def spoil() -> None:
                for state in kept:
                    state["seen"].append("spoilt")

            await run.recall()
            await run.store()
            spoil()
            async with run.spawn() as child:
                spoil()
                assert child.state("hoarder") == {"seen": ["init", "store", "child"]}
            spoil()
            await run.context["hoarder"].keep()
            spoil()
            await run.store()
            wanted = {"seen": ["init", "store", "in place", "store"]}
            assert run.state("hoarder") == await storage.get("layers/hoarder/t/state") == wanted

    asyncio.run(scenario())
