"""Definitions as tools for a model."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from taskstate.errors import ConfigurationError, TaskFailure
from taskstate.tasks import DurableTasks, TaskContext, task

pytestmark = pytest.mark.once


class Order(BaseModel):
    model_config = ConfigDict(strict=True)
    number: int
    day: dt.date = dt.date(2026, 1, 1)


class Node(BaseModel):
    below: list[Node] = []


@task("shop.order", description="Order a thing.")
async def order(ctx: TaskContext, input: Order) -> Order:
    return input


@task("add")
async def add(ctx: TaskContext, input: list[Order]) -> int:
    """Add them up."""
    return sum(one.number for one in input)


@task("grow")
async def grow(ctx: TaskContext, input: Node) -> int:
    return len(input.below)


@task("free")
async def free(ctx: TaskContext, input: dict[str, Any]) -> dict[str, Any]:
    return input


@task("break")
async def breaking(ctx: TaskContext, input: None) -> None:
    raise TaskFailure("broken", "secret")


TYPES = [order, add, grow, free, breaking]


def tasks_of(**options: Any) -> DurableTasks:
    return DurableTasks(types=TYPES, store="memory:", **options)


def references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        found = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        return found + [one for value in schema.values() for one in references(value)]
    return [one for value in schema for one in references(value)] if isinstance(schema, list) else []


def test_a_spec_is_an_object_under_a_safe_name_whose_references_lead_somewhere() -> None:
    specs = {spec["name"]: spec for spec in tasks_of().tools().specs}
    assert list(specs) == ["shop_order", "add", "grow", "free", "break"]
    for spec in specs.values():
        schema = json.loads(json.dumps(spec["parameters"]))
        assert schema["type"] == "object"
        for reference in references(schema):
            found = schema
            for part in reference.removeprefix("#/").split("/"):
                found = found[part]
    assert set(specs["shop_order"]["parameters"]["properties"]) == {"number", "day"}  # type: ignore[arg-type]
    assert specs["add"]["parameters"]["required"] == ["input"]
    assert specs["shop_order"]["description"].startswith("Order a thing.")
    assert specs["add"]["description"].startswith("Add them up.")
    assert specs["grow"]["description"].startswith("grow")


def test_definitions_are_chosen_and_their_names_as_tools_may_not_meet() -> None:
    tasks = tasks_of()
    assert [spec["name"] for spec in tasks.tools([order, "add"], mode="foreground").specs] == ["shop_order", "add"]
    with pytest.raises(ConfigurationError):
        tasks.tools(["none"])
    with pytest.raises(ConfigurationError):
        tasks.tools(mode="sideways")
    for names in (("a.b", "a_b"), ("x" * 64 + "1", "x" * 64 + "2")):
        types = [task(name)(lambda ctx, given: None) for name in names]
        with pytest.raises(ConfigurationError, match="same name"):
            DurableTasks(types=types, store="memory:").tools()


async def test_a_call_in_the_foreground_gives_the_result_as_data() -> None:
    async with tasks_of() as tasks:
        tools = tasks.tools(mode="foreground")
        day = "2026-02-03"
        assert await tools.call("shop_order", {"number": 1, "day": day}) == {"result": {"number": 1, "day": day}}
        assert await tools.call("add", {"input": [{"number": 1}, {"number": 2}]}) == {"result": 3}
        assert await tools.call("grow", {"input": {"below": [{}]}}) == {"result": 1}
        assert await tools.call("free", {"input": 1}) == {"result": {"input": 1}}
        with pytest.raises(ConfigurationError, match="not one of these tools"):
            await tools.call("shop.order", {})


@pytest.mark.parametrize("mode", ["foreground", "background"])
async def test_bad_arguments_are_told_to_the_model_and_nothing_is_stored(mode: Any) -> None:
    async with tasks_of(worker=False) as tasks:
        tools = tasks.tools(mode=mode)
        bad: list[tuple[str, Any]] = [
            *(("shop_order", arguments) for arguments in ({}, {"number": "1"}, {"number": True}, [], None, "x", 5)),
            *(("shop_order", arguments) for arguments in ({"number": float("nan")}, {"number": object()})),
            *(("add", arguments) for arguments in ({}, {"input": 5}, [{"number": 1}], {"input": [], "more": 1})),
            ("break", {}),
        ]
        for name, arguments in bad:
            answer = await tools.call(name, arguments)
            assert answer["error"]["code"] == "input_invalid", (name, arguments)  # type: ignore[index,call-overload]
            assert json.dumps(answer)
        large = await tools.call("free", {"a": "x" * 2_000_000})
        assert large["error"]["code"] == "input_too_large"  # type: ignore[index,call-overload]
        assert await tasks.list() == []


async def test_a_task_that_fails_is_an_error_for_the_model_without_its_message() -> None:
    async with tasks_of() as tasks:
        answer = await tasks.tools(mode="foreground").call("break", {"input": None})
        (info,) = await tasks.list()
        assert answer == {"error": {"code": "broken", "task_id": info["id"]}}


async def test_a_call_in_the_background_gives_an_id_and_the_result_comes_to_the_inbox() -> None:
    async with tasks_of() as tasks:
        tools = tasks.tools([add], owner="u", conversation="c", generation=2)
        answer = await tools.call("add", {"input": [{"number": 5}]})
        assert answer["state"] == "started"
        (event,) = await tasks.inbox("c").take(wait_s=5)
        assert (event["task_id"], event["result"], event["generation"]) == (answer["task_id"], 5, 2)
        assert (await tasks.get(event["task_id"]))["owner"] == "u"


async def test_within_a_task_both_start_a_task_below_that_one() -> None:
    @task("agent")
    async def agent(ctx: TaskContext, input: None) -> list[Any]:
        arguments: Any = {"input": [{"number": 5}]}
        found = [await tasks.tools([add], mode=mode).call("add", arguments) for mode in ("foreground", "background")]
        await ctx.sleep(0)
        return found

    async with DurableTasks(types=[*TYPES, agent], store="memory:") as tasks:
        handle = await tasks.start(agent, None, owner="u", conversation="c")
        first, second = await handle.result(10)
        assert first == {"result": 5}
        below = await tasks.list(parent_id=handle.id)
        assert {one["mode"] for one in below} == {"foreground", "background"}
        assert second["task_id"] in {one["id"] for one in below}
        assert {one["owner"] for one in below} == {"u"}
