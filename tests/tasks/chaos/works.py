"""Tasks that write down what they do. A line of the journal is appended whole, whoever is killed."""

from __future__ import annotations

import asyncio
import os
import random
import uuid

from taskstate.tasks import Limits, TaskContext, task

JOURNAL = os.environ.get("CHAOS_JOURNAL", os.devnull)
LIMITS = Limits(attempts=200, backoff_s=0.05, backoff_max_s=0.2, lease_s=1.0, cancel_grace_s=0.2)


def note(*words: object) -> None:
    handle = os.open(JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (" ".join(map(str, words)) + "\n").encode())
    os.close(handle)


async def step(ctx: TaskContext, key: str) -> str:
    """A step whose every execution shows, and whose result says which execution was kept."""

    async def body() -> str:
        token = uuid.uuid4().hex
        note("began", ctx.task_id, key, token, ctx._claim.fence)
        await asyncio.sleep(random.uniform(0, 0.15))
        return token

    kept = await ctx.checkpoint(key, body)
    note("kept", ctx.task_id, key, kept, ctx._claim.fence)
    return kept


@task("leaf", limits=LIMITS)
async def leaf(ctx: TaskContext, input: int) -> int:
    await step(ctx, "one")
    if random.random() < 0.05:
        raise ValueError("now and then it fails")
    await step(ctx, "two")
    return input * 2


@task("branch", limits=LIMITS)
async def branch(ctx: TaskContext, input: int) -> int:
    await step(ctx, "before")
    one = await ctx.run(leaf, input)
    await ctx.publish({"so far": one})
    many = await ctx.fan_out(leaf, [input + n for n in range(4)], limit=2)
    await ctx.start(leaf, input)
    await step(ctx, "after")
    return one + sum(many)


@task("waiter", limits=LIMITS)
async def waiter(ctx: TaskContext, input: int) -> int:
    await step(ctx, "before")
    await ctx.sleep(0.1)
    said, _ = await asyncio.gather(ctx.wait_for("go"), ctx.sleep(0.05))
    await step(ctx, "after")
    return int(said) + input


TYPES = [leaf, branch, waiter]


def expected(name: str, input: int) -> int:
    return {"leaf": input * 2, "branch": input * 2 + sum((input + n) * 2 for n in range(4)), "waiter": input + 1}[name]
