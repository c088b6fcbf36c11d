"""What a step may be, and under which key it is kept."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from taskstate.errors import TaskUnsuccessfulError
from taskstate.tasks import DurableTasks, Limits, SyncTaskContext, TaskContext, task

pytestmark = pytest.mark.once

ONCE = Limits(attempts=1)


class Fact(BaseModel):
    text: str


class Reader:
    def __init__(self) -> None:
        self.calls = 0

    def read(self, path: str) -> Fact:
        self.calls += 1
        return Fact(text=path)

    async def aread(self, path: str, *, times: int = 1) -> list[Fact]:
        return [Fact(text=path)] * times


@dataclass
class Unhashable:
    factor: int

    def __call__(self, number: int, idempotency_key: str = "") -> list[Any]:
        return [self.factor * number, idempotency_key]


def count(most: int) -> Iterator[int]:
    yield from range(most)


async def plain(number: int) -> int:
    return number


async def doing(body: Callable[[TaskContext], Awaitable[Any]], **options: Any) -> tuple[Any, dict[str, Any]]:
    """What a task with this body gives, and what is recorded of it."""

    @task("doing", limits=ONCE)
    async def definition(ctx: TaskContext, input: None) -> Any:
        return await body(ctx)

    async with DurableTasks(types=[definition], store="memory:", **options) as tasks:
        handle = await tasks.start(definition, None)
        return await handle.result(10), await tasks.history(handle.id)


def keys(history: dict[str, Any]) -> list[str]:
    return [one["key"] for one in history["checkpoints"]]


async def test_any_callable_can_be_a_step_and_gives_the_same_whether_it_ran_or_is_recorded() -> None:
    reader = Reader()
    steps: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
        (lambda: {"a": (1, 2)}, (), {"a": [1, 2]}),
        (reader.read, ("p",), Fact(text="p")),
        (functools.partial(reader.aread, times=2), ("p",), [{"text": "p"}, {"text": "p"}]),
        (reader.aread, ("p",), [Fact(text="p")]),
        (lambda: plain(4), (), 4),
        (Unhashable(3), (2,), None),
        (Fact.model_validate, ({"text": "p"},), {"text": "p"}),
        (Fact, (), None),
        (len, ("abc",), 3),
        (functools.lru_cache(str.upper), ("a",), "A"),
        (lambda: list(count(3)), (), [0, 1, 2]),
        (type(None), (), None),
    ]
    runs: list[list[Any]] = []

    async def body(ctx: TaskContext) -> None:
        found: list[Any] = []
        runs.append(found)
        for number, (function, arguments, _) in enumerate(steps):
            more = {"text": "q"} if function is Fact else {}
            found.append(await ctx.checkpoint(f"step {number}", function, *arguments, **more))
        await ctx.sleep(0.01)

    _, history = await doing(body)
    first, second = runs
    assert first == second
    assert reader.calls == 1
    for number, ((function, _, wanted), found) in enumerate(zip(steps, first, strict=True)):
        if isinstance(function, Unhashable):
            assert found[0] == 6
            assert found[1].endswith(f":step {number}")
        elif function is Fact:
            assert found == {"text": "q"}
        else:
            assert found == wanted, number
    assert keys(history) == [f"step {number}" for number in range(len(steps))]


async def test_what_a_generator_yields_is_kept_as_a_list() -> None:
    async def body(ctx: TaskContext) -> Any:
        return await ctx.checkpoint("count", count, 3)

    assert (await doing(body))[0] == [0, 1, 2]


async def test_a_name_that_comes_again_is_numbered_in_loops_and_in_branches_at_once() -> None:
    async def body(ctx: TaskContext) -> Any:
        found = [await ctx.checkpoint("step", plain, number) for number in range(3)]
        await ctx.sleep(0.01)
        found += await asyncio.gather(*(ctx.checkpoint("step", plain, number) for number in range(3, 6)))
        await asyncio.gather(ctx.sleep(0.01), ctx.sleep(0.02))
        return found

    result, history = await doing(body)
    assert result == list(range(6))
    assert sorted(keys(history)) == ["step", *(f"step#{number}" for number in range(2, 7))]
    assert sorted(wait["key"] for wait in history["waits"]) == ["sleep", "sleep#2", "sleep#3"]


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize(
    "error", [StopIteration("x"), StopAsyncIteration("x"), SystemExit(3), GeneratorExit(), KeyError("x")], ids=repr
)
async def test_whatever_a_step_raises_is_the_failure_of_its_task_only(error: BaseException, blocking: bool) -> None:
    def fail() -> None:
        raise error

    async def afail() -> None:
        raise error

    @task("failing", limits=ONCE)
    async def failing(ctx: TaskContext, input: bool) -> None:
        await asyncio.gather(ctx.checkpoint("step", afail if input else fail))

    @task("blocking", limits=ONCE)
    def in_thread(ctx: SyncTaskContext, input: bool) -> None:
        ctx.checkpoint("step", afail if input else fail)

    async with DurableTasks(types=[failing, in_thread], store="memory:") as tasks:
        for chosen in (False, True):
            with pytest.raises(TaskUnsuccessfulError) as caught:
                await tasks.run(in_thread if blocking else failing, chosen, timeout=5)
            assert caught.value.state == "failed"
            assert caught.value.error_code == "error"


async def test_an_error_that_is_caught_leaves_the_step_free_to_be_tried_again_under_a_new_key() -> None:
    tries: list[int] = []

    def flaky() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        return len(tries)

    async def body(ctx: TaskContext) -> Any:
        while True:
            try:
                return await ctx.checkpoint("flaky", flaky)
            except OSError:
                continue

    result, history = await doing(body)
    assert (result, keys(history)) == (3, ["flaky#3"])


async def test_steps_that_are_not_async_run_in_threads_at_once() -> None:
    met = threading.Barrier(3, timeout=10)

    async def body(ctx: TaskContext) -> Any:
        return await asyncio.gather(*(ctx.checkpoint(f"s{number}", met.wait) for number in range(3)))

    assert sorted((await doing(body))[0]) == [0, 1, 2]


async def test_a_step_sees_no_task_so_what_it_starts_is_not_below_it() -> None:
    @task("other")
    async def other(ctx: TaskContext, input: None) -> str | None:
        return ctx.parent_id

    @task("outer", limits=ONCE)
    async def outer(ctx: TaskContext, input: None) -> list[Any]:
        async def start() -> str | None:
            return await tasks.run(other, None, timeout=5)

        return [await ctx.checkpoint("start", start), await tasks.run(other, None) == ctx.task_id]

    async with DurableTasks(types=[other, outer], store="memory:") as tasks:
        assert await tasks.run(outer, None, timeout=10) == [None, True]


async def test_the_context_of_a_thread_refuses_to_be_used_in_the_event_loop_which_it_would_stop() -> None:
    @task("blocking", limits=ONCE)
    def blocking(ctx: SyncTaskContext, input: None) -> None:
        async def step() -> None:
            ctx.publish(1)

        ctx.checkpoint("step", step)

    async with DurableTasks(types=[blocking], store="memory:") as tasks:
        handle = await tasks.start(blocking, None)
        with pytest.raises(TaskUnsuccessfulError):
            await handle.result(5)
        assert "LifecycleError" in str((await handle.info())["error"])


async def test_the_context_of_a_thread_has_what_needs_no_waiting_and_no_coroutines() -> None:
    @task("blocking", limits=ONCE)
    def blocking(ctx: SyncTaskContext, input: None) -> list[Any]:
        assert not hasattr(ctx, "wait_cancelled")
        assert not hasattr(ctx, "_claim")
        return [ctx.task_id, ctx.name, ctx.attempt, ctx.owner, ctx.conversation, ctx.generation, ctx.cancelled]

    async with DurableTasks(types=[blocking], store="memory:") as tasks:
        handle = await tasks.start(blocking, None, owner="u", conversation="c", generation=2)
        assert await handle.result(5) == [handle.id, "blocking", 1, "u", "c", 2, False]
