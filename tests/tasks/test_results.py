"""What a task may give, and what becomes of one that gives something else."""

from __future__ import annotations

from typing import Any

import pytest

from taskstate.errors import PayloadError, TaskUnsuccessfulError
from taskstate.tasks import DurableTasks, Limits, TaskContext, task

from .site import Site, outcomes

pytestmark = pytest.mark.once

BAD: dict[str, tuple[Any, str]] = {
    "too large": ("secret" * 100, "too_large"),
    "not data": (object(), "invalid"),
    "not a number": (float("nan"), "invalid"),
    "infinite": ([float("inf")], "invalid"),
    "lone surrogate": ({"key": "secret \ud800"}, "invalid"),
    "lone surrogate in a key": ({"\udfff": 1}, "invalid"),
    "too large a number": (2**70, "invalid"),
    "a function": ([print], "invalid"),
    "bytes that are no text": (b"\xff", "invalid"),
}
SMALL = Limits(attempts=1000, backoff_s=0.0, max_result_bytes=300, max_checkpoint_bytes=300, max_input_bytes=300)


@task("giving", limits=SMALL)
async def giving(ctx: TaskContext, input: str) -> Any:
    return BAD[input][0]


@task("stepping", limits=SMALL)
async def stepping(ctx: TaskContext, input: str) -> Any:
    return await ctx.checkpoint("step", lambda: BAD[input][0])


@task("numbers", limits=SMALL)
async def numbers(ctx: TaskContext, input: str) -> int:
    return "secret"  # type: ignore[return-value]


@task("echo", limits=SMALL)
async def echo(ctx: TaskContext, input: Any) -> Any:
    return await ctx.checkpoint("step", lambda: input)


async def failed(tasks: DurableTasks, definition: Any, input: Any) -> str | None:
    """The code with which a task failed, at its only attempt, and nothing of what it gave was kept."""
    handle = await tasks.start(definition, input)
    with pytest.raises(TaskUnsuccessfulError):
        await handle.result(10)
    info = await handle.info()
    assert await outcomes(tasks, handle.id) == ["failed"]
    assert info["result"] is None
    assert (await tasks.history(handle.id))["checkpoints"] == []
    assert "secret" not in str(info["error"])
    return info["error_code"]


async def test_a_result_that_is_no_data_or_too_large_is_final_and_nothing_of_it_is_kept(site: Site) -> None:
    # Reported of another library as pydantic/pydantic-ai#7110.
    async with site.tasks(giving, numbers) as tasks:
        for case, (_, fault) in BAD.items():
            assert await failed(tasks, giving, case) == f"result_{fault}", case
        assert await failed(tasks, numbers, "") == "result_invalid"


async def test_a_step_that_gives_no_data_or_too_much_is_final_and_nothing_of_it_is_kept(site: Site) -> None:
    async with site.tasks(stepping) as tasks:
        for case, (_, fault) in BAD.items():
            assert await failed(tasks, stepping, case) == f"checkpoint_{fault}", case


async def test_an_input_that_is_no_data_or_too_large_is_refused_before_anything_is_stored(site: Site) -> None:
    async with site.tasks(echo, numbers) as tasks:
        for case, (value, fault) in BAD.items():
            with pytest.raises(PayloadError) as caught:
                await tasks.start_many(echo, [1, value])
            assert caught.value.code == f"input_{fault}", case
            assert "secret" not in str(caught.value)
        with pytest.raises(PayloadError):
            await tasks.start(numbers, 5)
        assert await tasks.list() == []


async def test_any_json_comes_back_as_it_was(site: Site) -> None:
    value = {"\x00": ["\x00", "\u2028", "\U0001f600", -0.0, 1e308, 2**63 - 1, None, True, {}, []], "": {"b": 1, "a": 2}}
    async with site.tasks(echo) as tasks:
        handle = await tasks.start(echo, value)
        result = await handle.result(10)
        assert repr(result) == repr(value)
        assert repr((await handle.info())["input"]) == repr(value)
