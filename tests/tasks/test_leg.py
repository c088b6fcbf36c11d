"""How a function may end or refuse to, and what that makes of its task and its worker."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from taskstate.errors import TaskFailure, TaskUnsuccessfulError
from taskstate.tasks import DurableTasks, Limits, SyncTaskContext, TaskContext, task

from .site import eventually, kept_late, outcomes, state

pytestmark = pytest.mark.once

ONCE = Limits(attempts=1)
QUICK = Limits(attempts=2, backoff_s=0, timeout_s=0.1, cancel_grace_s=0.05)


class Odd(BaseException):
    """No Exception."""


def tasks_of(*types: Any, **options: Any) -> DurableTasks:
    return DurableTasks(types=types, store="memory:", **({"poll_s": 0.1, "grace_s": 0.1} | options))


RAISED = [Odd("x"), SystemExit(1), GeneratorExit(), StopIteration(1), StopAsyncIteration(), asyncio.CancelledError()]


@pytest.mark.parametrize("error", RAISED, ids=repr)
async def test_whatever_a_function_raises_is_its_failure_and_the_worker_goes_on(error: BaseException) -> None:
    @task("failing", limits=ONCE)
    async def failing(ctx: TaskContext, input: None) -> None:
        raise error

    @task("blocking", limits=ONCE)
    def blocking(ctx: SyncTaskContext, input: None) -> None:
        raise error

    @task("fine")
    async def fine(ctx: TaskContext, input: None) -> int:
        return 1

    async with tasks_of(failing, blocking, fine) as tasks:
        for definition in (failing, blocking):
            with pytest.raises(TaskUnsuccessfulError) as caught:
                await tasks.run(definition, None, timeout=5)
            assert caught.value.error_code in ("error", "cancelled_itself")
        assert await tasks.run(fine, None, timeout=5) == 1


async def test_an_interrupt_from_a_thread_is_a_failure_too() -> None:
    @task("blocking", limits=ONCE)
    def blocking(ctx: SyncTaskContext, input: None) -> None:
        raise KeyboardInterrupt

    async with tasks_of(blocking) as tasks:
        with pytest.raises(TaskUnsuccessfulError):
            await tasks.run(blocking, None, timeout=5)


@pytest.mark.parametrize(
    ("code", "message"), [("a" * 500, "b" * 5000), ("\ud800", "\x00"), ("", ""), ("ok", "\udfff\x00"), (5, None)]
)
async def test_a_failure_of_any_text_is_recorded_within_bounds(code: Any, message: Any) -> None:
    @task("failing", limits=ONCE)
    async def failing(ctx: TaskContext, input: None) -> None:
        raise TaskFailure(code, message)

    async with tasks_of(failing) as tasks:
        handle = await tasks.start(failing, None)
        with pytest.raises(TaskUnsuccessfulError):
            await handle.result(5)
        info = await handle.info()
        assert len(info["error_code"] or "") <= 200
        assert len(info["error"] or "") <= 2000
        for text in (info["error_code"], info["error"]):
            assert "\x00" not in (text or "")
            (text or "").encode()


async def test_an_error_whose_text_cannot_be_made_is_a_failure_like_any_other() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

    @task("failing", limits=ONCE)
    async def failing(ctx: TaskContext, input: None) -> None:
        raise Unspeakable

    async with tasks_of(failing) as tasks:
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await tasks.run(failing, None, timeout=5)
        assert caught.value.error_code == "error"


async def test_a_failure_that_may_be_tried_again_is_and_one_that_may_not_is_final() -> None:
    @task("failing", limits=Limits(attempts=3, backoff_s=0))
    async def failing(ctx: TaskContext, input: bool) -> int:
        if ctx.attempt < 3:
            raise TaskFailure("mine", retry=input)
        return ctx.attempt

    async with tasks_of(failing) as tasks:
        assert await tasks.run(failing, True, timeout=5) == 3
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await tasks.run(failing, False, timeout=5)
        assert caught.value.error_code == "mine"


async def test_a_function_that_ignores_being_cut_off_is_left_behind_and_does_no_step_any_more() -> None:
    gate = asyncio.Event()
    steps: list[int] = []
    ended: list[str] = []

    @task("stubborn", limits=QUICK)
    async def stubborn(ctx: TaskContext, input: None) -> int:
        attempt = ctx.attempt
        if attempt == 1:
            while not gate.is_set():
                try:
                    await gate.wait()
                except asyncio.CancelledError:
                    continue
        try:
            await ctx.checkpoint("step", steps.append, attempt)
        except Exception as error:
            ended.append(type(error).__name__)
            raise
        return attempt

    async with tasks_of(stubborn) as tasks:
        handle = await tasks.start(stubborn, None)
        assert await handle.result(5) == 2
        gate.set()
        await eventually(lambda: bool(ended))
        assert (steps, ended) == ([2], ["LeaseLostError"])
        assert await outcomes(tasks, handle.id) == ["retry", "succeeded"]


async def test_a_function_that_ignores_its_suspension_does_no_step_beside_the_next_leg() -> None:
    steps: list[int] = []
    legs: list[int] = []

    @task("stubborn", limits=ONCE)
    async def stubborn(ctx: TaskContext, input: None) -> int:
        legs.append(1)
        leg = len(legs)
        try:
            await ctx.sleep(0.05)
        except asyncio.CancelledError:
            await ctx.checkpoint("step", steps.append, leg)
        await ctx.checkpoint("after", steps.append, 0)
        return leg

    async with tasks_of(stubborn) as tasks:
        assert await tasks.run(stubborn, None, timeout=5) == 2
        assert steps == [0]


async def test_a_thread_that_outlived_its_time_does_no_step_any_more() -> None:
    gate = threading.Event()
    steps: list[int] = []
    left: list[str] = []

    @task("overdue", limits=QUICK)
    def overdue(ctx: SyncTaskContext, input: None) -> int:
        attempt = ctx.attempt
        if attempt == 1:
            gate.wait(10)
        try:
            ctx.checkpoint("step", steps.append, attempt)
        except BaseException as error:
            left.append(type(error).__name__)
            raise
        return attempt

    async with tasks_of(overdue) as tasks:
        handle = await tasks.start(overdue, None)
        assert await handle.result(5) == 2
        gate.set()
        await eventually(lambda: bool(left))
        assert (steps, left) == ([2], ["Suspended"])
        assert await kept_late(tasks, handle.id) == []


async def test_a_cancelled_function_that_cleans_up_with_a_step_does_it_within_the_grace() -> None:
    begun = asyncio.Event()

    @task("careful", limits=Limits(cancel_grace_s=5))
    async def careful(ctx: TaskContext, input: None) -> str:
        begun.set()
        await ctx.wait_cancelled()
        return await ctx.checkpoint("undo", lambda: "undone")  # type: ignore[no-any-return]

    async with tasks_of(careful) as tasks:
        handle = await tasks.start(careful, None)
        await begun.wait()
        await handle.cancel()
        await state(tasks, handle.id, "cancelled")
        assert [one["key"] for one in (await tasks.history(handle.id))["checkpoints"]] == ["undo"]
        (late,) = await kept_late(tasks, handle.id)
        assert late["result"] == '"undone"'


async def test_an_input_that_no_longer_keeps_the_contract_is_final_and_the_function_is_not_called() -> None:
    called: list[Any] = []

    @task("changing", limits=Limits(attempts=5))
    async def before(ctx: TaskContext, input: str) -> None: ...

    @task("changing", limits=Limits(attempts=5))
    async def after(ctx: TaskContext, input: int) -> None:
        called.append(input)

    first = tasks_of(before, worker=False)
    async with first:
        handle = await first.start(before, "secret")
        async with DurableTasks(types=[after], store=first.store) as second:
            with pytest.raises(TaskUnsuccessfulError) as caught:
                await second.result(handle.id, timeout=5)
            assert (caught.value.error_code, called) == ("input_invalid", [])
            assert "secret" not in str((await second.get(handle.id))["error"])
