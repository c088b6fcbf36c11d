"""The code of a task changes while the task is under way."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tasks.programs.changed import code
from taskstate.errors import TaskUnsuccessfulError
from taskstate.tasks import TaskContext, task

from .site import Site, outcomes, state

pytestmark = pytest.mark.once


async def halfway(site: Site) -> str:
    """The id of a task that has made the steps a and b of a, b, c, and was given back."""
    changing = code(["a", "b", "c"])
    async with site.tasks(changing, grace_s=0.0) as tasks:
        handle = await tasks.start(changing, None)
        await site.noted("halfway")
    site.open("g")
    return handle.id


def steps(site: Site) -> list[str]:
    return [note["step"] for note in site.notes("step")]


@pytest.mark.parametrize(
    ("now", "result", "made"),
    [
        (["a", "x", "b", "c"], ["a", "x", "b", "c"], ["a", "b", "x", "c"]),
        (["a", "c"], ["a", "c"], ["a", "b", "c"]),
        (["b", "a", "c"], ["b", "a", "c"], ["a", "b", "c"]),
    ],
    ids=["a step more", "a step less", "another order"],
)
async def test_steps_are_known_by_their_names_so_that_those_completed_stand(
    site: Site, now: Sequence[str], result: list[str], made: list[str]
) -> None:
    # Reported of another system as PostHog/posthog PR#69046.
    begun = await halfway(site)
    async with site.tasks(code(now)) as tasks:
        assert await tasks.result(begun, timeout=10) == result
        assert steps(site) == made


async def test_a_step_with_another_input_is_final_and_is_named(site: Site) -> None:
    begun = await halfway(site)
    async with site.tasks(code(["a", "b:other", "c"])) as tasks:
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await tasks.result(begun, timeout=10)
        assert (caught.value.state, caught.value.error_code) == ("failed", "nondeterminism")
        assert "'b'" in str(caught.value.message)
        assert await outcomes(tasks, begun) == ["released", "failed"]
        assert steps(site) == ["a", "b"]
    async with site.tasks(code(["a", "b", "c"])) as tasks:
        await tasks.retry(begun)
        assert await tasks.result(begun, timeout=10) == ["a", "b", "c"]


async def test_a_task_of_another_version_waits_for_a_worker_that_has_it_and_can_be_cancelled(site: Site) -> None:
    begun = await halfway(site)
    first = code(["a", "b", "c"])
    async with site.tasks(first, worker=False) as tasks:
        other = (await tasks.start(first, None)).id
    async with site.tasks(code(["a"], version=2)) as tasks:
        assert await tasks.run("changing", None, timeout=10) == ["a"]
        assert [(await tasks.get(one))["state"] for one in (begun, other)] == ["ready", "ready"]
        assert await tasks.cancel(other) == {"ended": [other], "asked": []}
    async with site.tasks(code(["a", "b", "d"], version=2, accepts=(1,))) as tasks:
        assert await tasks.result(begun, timeout=10) == ["a", "b", "d"]
        assert (await tasks.get(other))["state"] == "cancelled"


async def test_a_wait_that_has_become_another_one_is_final(site: Site) -> None:
    @task("waiting")
    async def before(ctx: TaskContext, input: None) -> None:
        await ctx.wait_for("answer", key="pause")

    @task("waiting")
    async def after(ctx: TaskContext, input: None) -> None:
        await ctx.sleep(0.01, key="pause")

    async with site.tasks(before) as tasks:
        handle = await tasks.start(before, None)
        await state(tasks, handle.id, "suspended")
    async with site.tasks(after) as tasks:
        await tasks.signal(handle.id, "answer")
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await tasks.result(handle.id, timeout=10)
        assert caught.value.error_code == "nondeterminism"


async def test_children_with_other_inputs_are_final_and_none_of_them_is_started(site: Site) -> None:
    @task("child")
    async def child(ctx: TaskContext, input: int) -> int:
        if input == 1:
            return await ctx.wait_for("answer")  # type: ignore[no-any-return]
        return input

    inputs = [1, 2]

    @task("above")
    async def above(ctx: TaskContext, input: None) -> list[int]:
        return await ctx.fan_out(child, inputs)

    async with site.tasks(child, above) as tasks:
        handle = await tasks.start(above, None)
        await state(tasks, handle.id, "suspended")
        inputs.append(3)
        children = await tasks.list(parent_id=handle.id)
        first = next(one["id"] for one in children if one["input"] == 1)
        await state(tasks, first, "suspended")
        await tasks.signal(first, "answer", 1)
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await handle.result(10)
        assert caught.value.error_code == "nondeterminism"
        assert len(await tasks.list(parent_id=handle.id)) == 2
