"""Tasks that say in the journal what they do, and wait at gates."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from typing import Any

from taskstate.tasks import Limits, SyncTaskContext, TaskContext, task

from .journal import is_open, note, passed, passed_by_thread

LEASE = 0.6  # for what is lost in some test: short, yet kept on a busy machine
QUICK = Limits(attempts=3, backoff_s=0.0, lease_s=LEASE, cancel_grace_s=0.2)
KEPT = Limits(attempts=3, backoff_s=0.0, cancel_grace_s=0.2)


def begun(ctx: TaskContext | SyncTaskContext, **facts: Any) -> None:
    note("begun", task=ctx.task_id, name=ctx.name, attempt=ctx.attempt, **facts)


@task("quick", limits=KEPT)
async def quick(ctx: TaskContext, input: int) -> int:
    """Says that it ran."""
    note("ran", task=ctx.task_id, input=input)
    return input


@task("gated", limits=QUICK)
async def gated(ctx: TaskContext, input: str) -> str:
    """Waits at a gate."""
    begun(ctx, gate=input)
    await passed(input)
    return input


@task("stubborn", limits=QUICK)
async def stubborn(ctx: TaskContext, input: str) -> str:
    """As `gated`, at its first attempt; a cancellation only has it give its result at once."""
    begun(ctx, gate=input)
    if ctx.attempt == 1:
        try:
            await passed(input)
        except asyncio.CancelledError:
            return f"{input} too late"
    return f"{input} by attempt {ctx.attempt}"


@task("hasty", limits=QUICK)
async def hasty(ctx: TaskContext, input: str) -> str:
    """Has a gate for each attempt; the first one ends before anything can tell it that it is too late."""
    begun(ctx)
    if ctx.attempt == 1:
        passed_by_thread(f"{input}1")
    else:
        await passed(f"{input}{ctx.attempt}")
    return f"attempt {ctx.attempt}"


@task("parent", limits=QUICK)
async def parent(ctx: TaskContext, input: str) -> str:
    """Has a child that waits at a gate."""
    begun(ctx)
    await passed(f"before-{input}")
    value = await ctx.run("gated", input)
    note("resumed", task=ctx.task_id, value=value)
    await ctx.checkpoint("after", _said, "after", ctx.task_id)
    return f"parent of {value}"


async def _said(what: str, task: str) -> None:
    note(what, task=task)


@task("counting", limits=QUICK)
async def counting(ctx: TaskContext, input: str) -> int:
    """A step, a gate, another step."""
    begun(ctx)
    first = await ctx.checkpoint("one", _step, "one", ctx.task_id)
    await passed(input)
    return first + int(await ctx.checkpoint("two", _step, "two", ctx.task_id))


async def _step(name: str, task: str, idempotency_key: str = "") -> int:
    note("step", step=name, task=task, key=idempotency_key)
    return 1


@task("unrecorded", limits=QUICK)
async def unrecorded(ctx: TaskContext, input: str) -> int:
    """A step whose body waits at a gate when it has done its work."""
    return int(await ctx.checkpoint("one", _held_up, input, ctx.task_id))


async def _held_up(gate: str, task: str, idempotency_key: str = "") -> int:
    note("step", step="one", task=task, key=idempotency_key)
    await passed(gate)
    return 1


@task("steps", limits=Limits(attempts=50, backoff_s=0.0, lease_s=LEASE))
async def steps(ctx: TaskContext, input: int) -> int:
    """So many steps, each of which says when it is done and when that is recorded."""
    for number in range(input):
        await ctx.checkpoint("step", _done, number, ctx.task_id)
        note("recorded", task=ctx.task_id, step=number)
        await asyncio.sleep(0.01)
    return input


async def _done(number: int, task: str) -> int:
    note("done", task=task, step=number)
    return number


@task("tool", limits=KEPT)
async def tool(ctx: TaskContext, input: str) -> str:
    """Calls a tool that takes long and doesn't heed that the task is cancelled."""
    begun(ctx)
    asyncio.get_running_loop().create_task(_seen(ctx))
    return str(await ctx.checkpoint("call", _long_call, input, ctx.task_id))


async def _seen(ctx: TaskContext) -> None:
    await ctx.wait_cancelled()
    note("seen", task=ctx.task_id, cancelled=ctx.cancelled)


async def _long_call(gate: str, task: str) -> str:
    note("called", task=task)
    try:
        await passed(gate)
    except asyncio.CancelledError:
        note("cut off", task=task)
        raise
    return gate


@task("orderly", limits=KEPT)
async def orderly(ctx: TaskContext, input: str) -> str:
    """Ends by itself when it is asked to."""
    begun(ctx)
    await ctx.wait_cancelled()
    return "in order"


@task("killer", limits=Limits(attempts=2, backoff_s=0.0, lease_s=LEASE))
async def killer(ctx: TaskContext, input: None) -> None:
    """Kills its worker."""
    begun(ctx)
    os.kill(os.getpid(), 9)


@task("thrice", limits=QUICK)
async def thrice(ctx: TaskContext, input: str) -> str:
    """Fails at once, or waits at a gate for its worker to be killed."""
    begun(ctx)
    if ctx.attempt == 2:
        await passed("never")
    raise ValueError(f"attempt {ctx.attempt}")


@task("blocking", limits=QUICK)
async def blocking(ctx: TaskContext, input: float) -> str:
    """Lets nothing else in the event loop go on."""
    begun(ctx)
    time.sleep(input)  # noqa: ASYNC251 - that is what it is for
    return "kept"


@task("spread", limits=KEPT)
async def spread(ctx: TaskContext, input: list[int]) -> list[int]:
    """A fan-out over children that take a random time."""
    return await ctx.fan_out(tardy, [{"number": number, "of": ctx.task_id} for number in input], limit=3)


@task("tardy", limits=KEPT)
async def tardy(ctx: TaskContext, input: dict[str, Any]) -> int:
    note("in", task=input["of"], number=input["number"])
    await asyncio.sleep(random.uniform(0, 0.05))
    note("out", task=input["of"], number=input["number"])
    return int(input["number"])


@task("reporting", limits=QUICK)
async def reporting(ctx: TaskContext, input: str) -> str:
    """Sends two partial results, waits at a gate, sends another one and ends."""
    await ctx.publish("first")
    await ctx.publish("second")
    begun(ctx)
    await passed(input)
    await ctx.publish("third")
    return "all"


@task("outside", limits=KEPT)
async def outside(ctx: TaskContext, input: None) -> None:
    """Starts a process, and ends it when it is ended itself."""
    begun(ctx)
    command = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
    note("process", task=ctx.task_id, process=process.pid)
    try:
        await process.wait()
    finally:
        process.kill()
        await process.wait()


@task("middle", limits=KEPT)
async def middle(ctx: TaskContext, input: None) -> None:
    await ctx.run(outside, None)


@task("grandparent", limits=KEPT)
async def grandparent(ctx: TaskContext, input: None) -> None:
    """Has a grandchild that starts a process."""
    await ctx.run(middle, None)


@task("sleeper", limits=QUICK)
async def sleeper(ctx: TaskContext, input: float) -> str:
    """Sleeps, says that it woke."""
    await ctx.sleep(input)
    note("woke", task=ctx.task_id)
    await asyncio.sleep(input)
    return "rested"


@task("threaded", limits=KEPT)
def threaded(ctx: SyncTaskContext, input: str) -> str:
    """As `gated`, in a thread."""
    begun(ctx, gate=input)
    while not (is_open(input) or ctx.cancelled):
        time.sleep(0.005)
    return f"{input} {'cancelled' if ctx.cancelled else 'passed'}"


@task("overdue", limits=Limits(attempts=2, backoff_s=0.0, timeout_s=0.15))
def overdue(ctx: SyncTaskContext, input: str) -> str:
    """Outlives its time-out at the first attempt."""
    begun(ctx, gate=input)
    if ctx.attempt == 1:
        passed_by_thread(input)
        note("thread over", task=ctx.task_id)
    return f"attempt {ctx.attempt}"


TYPES = [
    quick,
    gated,
    stubborn,
    hasty,
    parent,
    counting,
    unrecorded,
    steps,
    tool,
    orderly,
    killer,
    thrice,
    blocking,
    spread,
    tardy,
    reporting,
    outside,
    middle,
    grandparent,
    sleeper,
    threaded,
    overdue,
]
