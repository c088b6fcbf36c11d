"""When a task that waits in several branches is suspended, and what that does to the other branches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from taskstate.errors import StorageError, WaitTimeoutError
from taskstate.tasks import DurableTasks, Limits, TaskContext, task
from taskstate.tasks.stores.memory import MemoryTaskStore

from .site import eventually, outcomes, state

pytestmark = pytest.mark.once

ONCE = Limits(attempts=1)


class Watched(MemoryTaskStore):
    """Counts suspensions, and can hold one up or refuse it."""

    def __init__(self) -> None:
        super().__init__()
        self.suspended: list[list[str]] = []
        self.gate: asyncio.Event | None = None
        self.asked = asyncio.Event()
        self.faults = 0

    async def suspend(self, lease: Any, keys: Any, reason: str, *, hold: bool = False) -> Any:
        if self.faults:
            self.faults -= 1
            raise StorageError("tasks", "out of reach")
        self.asked.set()
        if self.gate is not None:
            await self.gate.wait()
        ended = await super().suspend(lease, keys, reason, hold=hold)
        if not ended and not hold:
            self.suspended.append(sorted(keys))
        return ended


def tasks_of(*types: Any, store: Any = "memory:") -> DurableTasks:
    return DurableTasks(types=types, store=store, poll_s=0.1, grace_s=0.1)


async def test_branches_that_all_wait_are_suspended_once_with_all_their_waits() -> None:
    @task("waiting", limits=ONCE)
    async def waiting(ctx: TaskContext, input: None) -> list[Any]:
        waits = [ctx.wait_for(f"s{number}", key=f"w{number}") for number in range(50)]
        return await asyncio.gather(ctx.checkpoint("a", lambda: 1), *waits)

    store = Watched()
    async with tasks_of(waiting, store=store) as tasks:
        handle = await tasks.start(waiting, None)
        await eventually(lambda: len(store.suspended) == 1)
        assert len(store.suspended[0]) == 50
        assert len(await tasks.waits(handle.id)) == 50
        await asyncio.gather(*(handle.signal(f"s{number}", number) for number in range(50)))
        assert await handle.result(10) == [1, *range(50)]
        assert len(await outcomes(tasks, handle.id)) <= 52


async def test_a_step_that_is_being_made_is_not_cut_off_by_a_wait_beside_it() -> None:
    runs: list[str] = []

    async def step() -> str:
        runs.append("begun")
        await asyncio.sleep(0.15)
        runs.append("ended")
        return "made"

    @task("working", limits=ONCE)
    async def working(ctx: TaskContext, input: None) -> list[Any]:
        return await asyncio.gather(ctx.checkpoint("step", step), ctx.sleep(0.02), ctx.wait_for("go", 5))

    store = Watched()
    async with tasks_of(working, store=store) as tasks:
        handle = await tasks.start(working, None)
        await eventually(lambda: bool(store.suspended))
        assert runs == ["begun", "ended"]
        await handle.signal("go", 1)
        assert await handle.result(5) == ["made", None, 1]
        assert runs == ["begun", "ended"]


async def test_a_wait_that_ends_while_a_step_is_made_is_gone_on_from_at_once() -> None:
    gate = asyncio.Event()
    order: list[str] = []

    @task("working", limits=ONCE)
    async def working(ctx: TaskContext, input: None) -> None:
        async def wait() -> None:
            await ctx.wait_for("go")
            order.append("went on")
            gate.set()

        await asyncio.gather(ctx.checkpoint("step", gate.wait), wait())
        order.append("ended")

    async with tasks_of(working) as tasks:
        handle = await tasks.start(working, None)
        await asyncio.sleep(0.05)
        await handle.signal("go")
        await handle.result(5)
        assert order == ["went on", "ended"]
        assert await outcomes(tasks, handle.id) == ["succeeded"]


async def test_a_branch_that_awaits_something_of_its_own_begins_anew_after_the_suspension_and_ends() -> None:
    begun: list[int] = []

    @task("mixed", limits=ONCE)
    async def mixed(ctx: TaskContext, input: None) -> list[Any]:
        async def own() -> Any:
            begun.append(1)
            await asyncio.sleep(0.1)
            return await ctx.checkpoint("own", lambda: "own")

        return await asyncio.gather(own(), ctx.sleep(0.02))

    async with tasks_of(mixed) as tasks:
        assert await tasks.run(mixed, None, timeout=5) == ["own", None]
        assert len(begun) == 2


async def test_a_step_that_begins_while_the_task_is_being_suspended_is_not_recorded_twice() -> None:
    store = Watched()
    store.gate = asyncio.Event()
    go = asyncio.Event()
    runs: list[int] = []

    @task("racing", limits=ONCE)
    async def racing(ctx: TaskContext, input: None) -> list[Any]:
        async def late() -> Any:
            await go.wait()
            return await ctx.checkpoint("late", lambda: runs.append(1) or len(runs))

        return await asyncio.gather(late(), ctx.sleep(0.05))

    async with tasks_of(racing, store=store) as tasks:
        handle = await tasks.start(racing, None)
        await store.asked.wait()
        go.set()
        await eventually(lambda: bool(runs))
        store.gate.set()
        result = await handle.result(5)
        recorded = (await tasks.history(handle.id))["checkpoints"]
        assert [one["key"] for one in recorded] == ["late"]
        assert 1 <= result[0] <= len(runs)
        assert (await handle.info())["attempt"] == 1


async def test_a_wait_that_is_given_up_leaves_the_others_and_the_function() -> None:
    @task("choosing", limits=ONCE)
    async def choosing(ctx: TaskContext, input: None) -> str:
        first = asyncio.ensure_future(ctx.wait_for("first"))
        second = asyncio.ensure_future(ctx.wait_for("second"))
        done, left = await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await ctx.sleep(0.01)
        return str(done.pop().result())

    async with tasks_of(choosing) as tasks:
        handle = await tasks.start(choosing, None)
        await asyncio.sleep(0.05)
        await handle.signal("second", "2")
        assert await handle.result(5) == "2"


async def test_time_outs_of_one_branch_are_caught_there_and_are_the_same_after_a_suspension() -> None:
    @task("timing", limits=ONCE)
    async def timing(ctx: TaskContext, input: None) -> list[Any]:
        async def patient() -> str:
            try:
                return str(await ctx.wait_for("never", 0.02))
            except WaitTimeoutError as error:
                return error.name

        found = await asyncio.gather(patient(), ctx.wait_for("go", 5), ctx.wait_for("now", -1), return_exceptions=True)
        await ctx.sleep(0.01)
        return [one if isinstance(one, str) else type(one).__name__ for one in found]

    async with tasks_of(timing) as tasks:
        handle = await tasks.start(timing, None)
        await asyncio.sleep(0.1)
        await handle.signal("go", "went")
        assert await handle.result(5) == ["never", "went", "WaitTimeoutError"]


async def test_a_wait_in_a_time_limit_of_the_event_loop_is_cut_by_the_suspension_not_by_the_limit() -> None:
    @task("limited", limits=ONCE)
    async def limited(ctx: TaskContext, input: None) -> str:
        async with asyncio.timeout(60):
            await ctx.sleep(0.05)
        return "slept"

    async with tasks_of(limited) as tasks:
        handle = await tasks.start(limited, None)
        assert await handle.result(5) == "slept"
        assert await outcomes(tasks, handle.id) == ["suspended", "succeeded"]


async def test_a_store_that_fails_while_suspending_is_heard_of_in_every_branch_and_the_next_attempt_goes_on() -> None:
    heard: list[list[Any]] = []

    @task("failing", limits=Limits(attempts=2, backoff_s=0))
    async def failing(ctx: TaskContext, input: None) -> int:
        found = await asyncio.gather(ctx.sleep(60), ctx.wait_for("go"), return_exceptions=True)
        heard.append([type(one) for one in found])
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return ctx.attempt

    store = Watched()
    store.faults = 1
    async with tasks_of(failing, store=store) as tasks:
        handle = await tasks.start(failing, None)
        await eventually(lambda: bool(store.suspended))
        assert heard == [[StorageError, StorageError]]
        assert await outcomes(tasks, handle.id) == ["retry", "suspended"]
        assert len(await tasks.waits(handle.id)) == 2


async def test_a_wait_that_nobody_awaits_suspends_its_task_like_any_other() -> None:
    @task("careless", limits=ONCE)
    async def careless(ctx: TaskContext, input: None) -> int:
        forgotten = asyncio.ensure_future(ctx.wait_for("go"))
        value = await ctx.checkpoint("step", lambda: 1)
        await asyncio.sleep(0.05)
        forgotten.cancel()
        return int(value)

    async with tasks_of(careless) as tasks:
        handle = await tasks.start(careless, None)
        await state(tasks, handle.id, "suspended")
        await handle.signal("go")
        assert await handle.result(5) == 1
