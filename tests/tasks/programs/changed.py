"""The code of one task as it changes while the task runs."""

from __future__ import annotations

from collections.abc import Sequence

from taskstate.tasks import Definition, TaskContext, task

from .journal import note, passed
from .works import QUICK


def code(steps: Sequence[str], *, version: int = 1, accepts: tuple[int, ...] = ()) -> Definition[None, list[str]]:
    """A task that makes these steps, `name` or `name:argument`, and waits at the gate `g` after the second."""

    @task("changing", version=version, accepts=accepts, limits=QUICK)
    async def changing(ctx: TaskContext, input: None) -> list[str]:
        note("begun", version=version)
        found = []
        for number, step in enumerate(steps):
            name, _, argument = step.partition(":")
            found.append(str(await ctx.checkpoint(name, _step, name, argument)))
            if number == 1:
                note("halfway")
                await passed("g")
        return found

    return changing


async def _step(name: str, argument: str) -> str:
    note("step", step=name)
    return name + argument
