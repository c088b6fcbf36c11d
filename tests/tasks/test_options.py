"""What the methods of durable tasks take."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from taskstate.errors import ConfigurationError, LifecycleError
from taskstate.tasks import DurableTasks, TaskContext, task

pytestmark = pytest.mark.once

NO_TIME = (-1, math.nan, math.inf, True, "1", None)
NO_COUNT = (0, -1, 1.5, True, "1", 2**31, None)
NO_NAME = ("x" * 201, "a\x00", "\ud800", 5, b"a")


@task("echo")
async def echo(ctx: TaskContext, input: Any) -> Any:
    return input


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("poll_s", (*NO_TIME, 0, 3601)),
        ("grace_s", NO_TIME),
        ("concurrency", NO_COUNT),
        ("name", ("", *NO_NAME)),
    ],
)
def test_options_that_cannot_be_meant_are_refused(option: str, values: tuple[Any, ...]) -> None:
    for value in values:
        with pytest.raises(ConfigurationError, match=option):
            DurableTasks(types=[], store="memory:", **{option: value})


def test_a_place_that_is_no_store_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        DurableTasks(types=[], store="mysql://host/name")


async def test_a_start_whose_options_cannot_be_meant_stores_nothing() -> None:
    async with DurableTasks(types=[echo], store="memory:", worker=False) as tasks:
        cases: dict[str, tuple[Any, ...]] = {
            "owner": NO_NAME,
            "conversation": ("", *NO_NAME),
            "single_flight": ("", *NO_NAME),
            "task_id": ("", *NO_NAME),
            "generation": (-1, 1.5, True, "1", 2**63, None),
            "priority": (1.5, True, "1", 2**31, -(2**31) - 1),
            "delay_s": NO_TIME,
        }
        for option, values in cases.items():
            for value in values:
                with pytest.raises(ConfigurationError, match=option):
                    await tasks.start(echo, 1, **{option: value})
        for ids in (["a"], ["a", "b", "c"]):
            with pytest.raises(ConfigurationError, match="task_ids"):
                await tasks.start_many(echo, [1, 2], task_ids=ids)
        assert await tasks.start_many(echo, []) == []
        assert await tasks.list() == []


async def test_requests_whose_options_cannot_be_meant_are_refused() -> None:
    async with DurableTasks(types=[echo], store="memory:", worker=False) as tasks:
        handle = await tasks.start(echo, 1, conversation="c")
        calls: list[tuple[Callable[[Any], Awaitable[Any]], tuple[Any, ...]]] = [
            (handle.result, (math.nan, math.inf, True, "1")),
            (lambda value: tasks.list(limit=value), NO_COUNT),
            (lambda value: tasks.list(states=[value]), ("gone", 5, None)),
            (lambda value: tasks.purge({"failed": value}), NO_TIME),
            (lambda value: tasks.purge({"failed": 1}, limit=value), NO_COUNT),
            (lambda value: tasks.purge({value: 1}), ("running", "gone")),
            (lambda value: tasks.inbox("c", offer_s=value).take(), NO_TIME),
            (lambda value: tasks.inbox("c").take(limit=value), NO_COUNT),
            (lambda value: tasks.inbox("c").take(wait_s=value), NO_TIME),
            (handle.signal, ("", *NO_NAME)),
            (lambda value: tasks.signal(handle.id, "a", signal_id=value), ("", *NO_NAME)),
            (lambda value: tasks.advance_generation("c", value), (-1, 1.5, True, "1", None)),
            (lambda value: tasks.advance_generation(value, 1), ("", *NO_NAME)),
        ]
        for number, (call, values) in enumerate(calls):
            for value in values:
                try:
                    await call(value)
                except ConfigurationError:
                    continue
                pytest.fail(f"call {number} took {value!r}")
        assert (await handle.info())["state"] == "ready"


async def test_what_a_function_asks_of_its_context_is_checked() -> None:
    refused: list[str] = []

    @task("asking")
    async def asking(ctx: TaskContext, input: None) -> None:
        calls: list[tuple[str, Callable[[Any], Awaitable[Any]], tuple[Any, ...]]] = [
            ("sleep", ctx.sleep, (math.nan, math.inf, "1", True, None, 10**10)),
            ("wait_for", lambda value: ctx.wait_for("a", value), (math.nan, math.inf, "1", True)),
            ("signal", ctx.wait_for, ("", *NO_NAME)),
            ("limit", lambda value: ctx.fan_out(echo, [1], limit=value), NO_COUNT[:-1]),
            ("key", lambda value: ctx.sleep(0, key=value), ("x" * 501, "a\x00", "\ud800", 5)),
            ("key", lambda value: ctx.checkpoint(value, int), ("", "x" * 501, "a\x00", "\ud800", 5)),
        ]
        for name, call, values in calls:
            for value in values:
                try:
                    await call(value)
                except ConfigurationError:
                    continue
                refused.append(f"{name} took {value!r}")
        await ctx.sleep(-5)  # over already
        assert await ctx.fan_out(echo, []) == []

    async with DurableTasks(types=[asking, echo], store="memory:") as tasks:
        await tasks.run(asking, None, timeout=10)
        assert refused == []


async def test_durable_tasks_are_used_between_opening_and_closing_and_open_once() -> None:
    tasks = DurableTasks(types=[echo], store="memory:")
    with pytest.raises(LifecycleError):
        await tasks.start(echo, 1)
    for _ in range(2):  # again after closing
        async with tasks:
            with pytest.raises(LifecycleError):
                await tasks.__aenter__()
            assert await tasks.run(echo, 1, timeout=5) == 1
        with pytest.raises(LifecycleError):
            await tasks.list()
        await tasks.close()
