"""A fan-out gives results in the order of its inputs, and keeps its bound."""

from __future__ import annotations

import asyncio
import random

import pytest

from tasks.programs import works
from taskstate.errors import FanOutError, TaskUnsuccessfulError
from taskstate.tasks import Limits, Outcome, TaskContext, task

from .site import Site

pytestmark = pytest.mark.once


def peak(site: Site, task_id: str) -> int:
    """How many children ran at once at most."""
    running = most = 0
    for note in site.notes("in", "out", task=task_id):
        running += 1 if note["what"] == "in" else -1
        most = max(most, running)
    return most


async def test_results_have_the_order_of_the_inputs_whenever_the_children_end(shared_site: Site) -> None:
    site = shared_site
    await site.worker(concurrency=4)
    numbers = random.sample(range(100), 20)
    async with site.tasks(*works.TYPES, concurrency=4) as tasks:
        handle = await tasks.start(works.spread, numbers)
        assert await handle.result(20) == numbers
        assert peak(site, handle.id) <= 3
        assert site.count("in") == 20
        assert [note["number"] for note in site.notes("out")] != numbers


async def test_a_nested_fan_out_ends_with_one_worker_that_runs_one_task_at_once(site: Site) -> None:
    @task("leaf")
    async def leaf(ctx: TaskContext, input: int) -> int:
        return input

    @task("branch")
    async def branch(ctx: TaskContext, input: list[int]) -> list[int]:
        return await ctx.fan_out(leaf, input, limit=1)

    @task("root")
    async def root(ctx: TaskContext, input: list[list[int]]) -> list[list[int]]:
        return await ctx.fan_out(branch, input, limit=2)

    async with site.tasks(leaf, branch, root, concurrency=1) as tasks:
        assert await tasks.run(root, [[1, 2, 3], [4], []], timeout=20) == [[1, 2, 3], [4], []]


@task("odd", limits=Limits(attempts=1))
async def odd(ctx: TaskContext, input: int) -> int:
    await asyncio.sleep(random.uniform(0, 0.03))
    if input % 2:
        raise ValueError(f"{input} is odd")
    return input


async def test_a_fan_out_raises_when_all_children_have_ended_with_every_outcome(site: Site) -> None:
    found: list[Outcome] = []

    @task("all", limits=Limits(attempts=1))
    async def every(ctx: TaskContext, input: list[int]) -> None:
        try:
            await ctx.fan_out(odd, input)
        except FanOutError as error:
            found[:] = error.outcomes
            raise

    async with site.tasks(odd, every) as tasks:
        with pytest.raises(TaskUnsuccessfulError):
            await tasks.run(every, [0, 1, 2, 3], timeout=20)
        assert [(one.state, one.result, one.message) for one in found] == [
            ("succeeded", 0, None),
            ("failed", None, "ValueError: 1 is odd"),
            ("succeeded", 2, None),
            ("failed", None, "ValueError: 3 is odd"),
        ]


async def test_a_settled_fan_out_gives_the_outcomes_in_order(site: Site) -> None:
    @task("settled")
    async def settled(ctx: TaskContext, input: list[int]) -> list[str]:
        return [one.state for one in await ctx.fan_out(odd, input, settle=True, limit=2)]

    async with site.tasks(odd, settled) as tasks:
        states = ["succeeded", "failed", "succeeded", "failed", "failed"]
        assert await tasks.run(settled, [0, 1, 2, 3, 5], timeout=20) == states


async def test_two_last_children_that_end_together_wake_their_parent_once(site: Site) -> None:
    legs: list[str] = []

    @task("pair")
    async def pair(ctx: TaskContext, input: int) -> list[int]:
        legs.append(ctx.task_id)
        return await ctx.fan_out(works.quick, [input, input + 1])

    async with site.tasks(works.quick, pair, concurrency=20) as tasks:
        handles = await tasks.start_many(pair, range(8))
        assert [await handle.result(20) for handle in handles] == [[n, n + 1] for n in range(8)]
        assert all(legs.count(handle.id) <= 2 for handle in handles)
