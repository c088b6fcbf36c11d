"""Paths side by side: all, settle and race, how many at once, and how they are stopped."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from taskstate.errors import ConfigurationError, LifecycleError, ParallelError
from taskstate.harness import Diagnostic, Harness

from .support import running, task_layer, tools


def after(seconds: float, value: Any = None) -> Any:
    """A worker that gives a value, or raises it if it is an exception, after a while."""

    async def work(child: Any) -> Any:
        await tools(child).set_task_data(key=child.execution_id, value=1)
        await asyncio.sleep(seconds)
        if isinstance(value, BaseException):
            raise value
        return value

    return work


def test_all_gives_the_results_in_order_and_merges_every_child() -> None:
    async def scenario() -> None:
        async with running() as run:
            results = await run.in_parallel([after(0.02, "a"), after(0.0, "b"), after(0.01, "c")], ids=["x", "y", "z"])
            assert results == ["a", "b", "c"]
            assert list(tools(run).data) == ["y", "z", "x"]

    asyncio.run(scenario())


def test_all_waits_for_every_path_and_tells_what_failed() -> None:
    async def scenario() -> None:
        async with running() as run:
            workers = [after(0.0, KeyError("sk-secret")), after(0.02, "b"), after(0.0, ValueError())]
            with pytest.raises(ParallelError) as caught:
                await run.in_parallel(workers, ids=["x", "y", "z"])
            assert caught.value.results == [None, "b", None]
            assert {index: type(error) for index, error in caught.value.errors.items()} == {0: KeyError, 2: ValueError}
            assert str(caught.value) == "2 of 3 parallel paths failed (path 0: KeyError, path 2: ValueError)"
            assert tools(run).data == {"y": 1}

    asyncio.run(scenario())


def test_settle_raises_nothing() -> None:
    async def scenario() -> None:
        async with running() as run:
            first, second, third = await run.in_parallel(
                [after(0.0, "a"), after(0.0, OSError()), after(0.0, asyncio.CancelledError())], mode="settle"
            )
            assert (first.ok, first.value, first.error) == (True, "a", None)
            assert (second.ok, second.value, type(second.error)) == (False, None, OSError)
            assert (third.ok, type(third.error)) == (False, asyncio.CancelledError)
            assert len(tools(run).data) == 1

    asyncio.run(scenario())


def test_a_race_gives_the_first_result_and_merges_only_the_winner() -> None:
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(diagnostics=seen.append) as run:
            workers = [after(5.0, "slow"), after(0.0, ValueError()), after(0.02, "fast"), after(5.0, "slow")]
            start = time.monotonic()
            assert await run.in_parallel(workers, mode="race", ids=["a", "b", "c", "d"]) == "fast"
            assert time.monotonic() - start < 3
            assert tools(run).data == {"c": 1}
            assert [one.hook for one in seen] == ["in_parallel"] * 3
            kinds = [type(one.error) for one in seen]
            assert kinds == [LifecycleError, ValueError, LifecycleError]

    asyncio.run(scenario())


def test_a_loser_that_resists_its_cancellation_is_awaited_and_not_merged() -> None:
    ended: list[str] = []

    async def resists(child: Any) -> str:
        await tools(child).set_task_data(key="loser", value=1)
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)
        ended.append("loser")
        return "late"

    async def scenario() -> None:
        seen: list[Diagnostic] = []
        async with running(diagnostics=seen.append) as run:
            assert await run.in_parallel([resists, after(0.01, "fast")], mode="race", ids=["l", "w"]) == "fast"
            assert ended == ["loser"]
            assert tools(run).data == {"w": 1}
            (report,) = seen
            assert isinstance(report.error, LifecycleError)
            assert "another path won the race" in str(report.error)

    asyncio.run(scenario())


def test_two_that_arrive_at_once_have_one_winner() -> None:
    async def scenario() -> None:
        for _ in range(20):
            async with running() as run:
                result = await run.in_parallel([after(0.0, n) for n in range(4)], mode="race", ids=list("abcd"))
                assert tools(run).data == {"abcd"[result]: 1}

    asyncio.run(scenario())


def test_a_race_that_nobody_finishes_is_an_error() -> None:
    async def scenario() -> None:
        async with running() as run:
            with pytest.raises(ParallelError, match="2 of 2 parallel paths failed"):
                await run.in_parallel([after(0.0, ValueError()), after(0.01, OSError())], mode="race")
            assert tools(run).data == {}

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["all", "settle", "race"])
@pytest.mark.parametrize("limit", [None, 1, 2, 3, 50])
def test_the_limit_is_honoured(mode: Any, limit: int | None) -> None:
    active = peak = 0

    async def work(child: Any) -> None:
        nonlocal active, peak
        active += 1
        peak = max(peak, active)
        try:
            await asyncio.sleep(0.002)
            if mode == "race":
                raise ValueError
        finally:
            active -= 1

    async def scenario() -> None:
        async with running() as run:
            try:
                await run.in_parallel([work] * 12, mode=mode, limit=limit)
            except ParallelError:
                assert mode == "race"
        assert peak == min(limit or 12, 12)

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["all", "settle", "race"])
def test_a_cancellation_stops_every_path_before_it_is_raised(mode: Any) -> None:
    stopped: list[str] = []

    async def work(child: Any) -> None:
        await tools(child).set_task_data(key=child.execution_id, value=1)
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0.01)
            stopped.append(child.execution_id)

    async def scenario() -> None:
        async with Harness(layers=[task_layer()]) as harness, harness.execution() as run:
            task = asyncio.create_task(run.in_parallel([work] * 4, mode=mode, limit=3, ids=list("abcd")))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert sorted(stopped) == ["a", "b", "c"]
            assert tools(run).data == {}
            assert list(harness.lifecycle.states.live()) == [run.execution_id]
            assert await run.in_parallel([after(0.0, "next")]) == ["next"]

    asyncio.run(scenario())


def test_a_second_cancellation_does_not_leave_paths_behind() -> None:
    stopped: list[int] = []

    async def work(child: Any) -> None:
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0.03)
            stopped.append(1)

    async def scenario() -> None:
        async with running() as run:
            task = asyncio.create_task(run.in_parallel([work] * 3))
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert stopped == [1, 1, 1]

    asyncio.run(scenario())


def test_a_path_that_cancels_itself_has_failed() -> None:
    async def scenario() -> None:
        async with running() as run:
            with pytest.raises(ParallelError) as caught:
                await run.in_parallel([after(0.0, asyncio.CancelledError()), after(0.0, "b")])
            assert caught.value.results == [None, "b"]
            assert isinstance(caught.value.errors[0], asyncio.CancelledError)
            current = asyncio.current_task()
            assert current is not None
            assert current.cancelling() == 0

    asyncio.run(scenario())


def test_a_worker_may_be_a_plain_function_or_an_awaitable_maker() -> None:
    class Worker:
        async def __call__(self, child: Any) -> int:
            return int(child.depth)

    async def scenario() -> None:
        async with running() as run:
            workers = [lambda child: 7, Worker(), lambda child: asyncio.sleep(0, "later"), lambda child: None]
            assert await run.in_parallel(workers) == [7, 1, "later", None]
            with pytest.raises(ParallelError, match="TypeError"):
                await run.in_parallel(["no worker"])  # type: ignore[list-item]

    asyncio.run(scenario())


def test_no_workers_give_no_results() -> None:
    async def scenario() -> None:
        async with running() as run:
            assert await run.in_parallel([]) == []
            assert await run.in_parallel([], mode="settle") == []
            with pytest.raises(ConfigurationError, match="at least one worker"):
                await run.in_parallel([], mode="race")

    asyncio.run(scenario())


def test_options_that_make_no_sense_are_refused_before_anything_runs() -> None:
    async def scenario() -> None:
        started: list[Any] = []
        async with running() as run:
            for options in (
                {"mode": "first"},
                {"limit": 0},
                {"limit": -1},
                {"limit": True},
                {"limit": 1.5},
                {"ids": ["a"]},
                {"ids": []},
            ):
                with pytest.raises(ConfigurationError):
                    await run.in_parallel([started.append] * 2, **options)
            assert started == []

    asyncio.run(scenario())


def test_the_same_id_twice_fails_the_second_path() -> None:
    async def scenario() -> None:
        async with running() as run:
            with pytest.raises(ParallelError) as caught:
                await run.in_parallel([after(0.01, "a"), after(0.01, "b")], ids=["x", "x"])
            assert caught.value.results == ["a", None]
            assert isinstance(caught.value.errors[1], LifecycleError)

    asyncio.run(scenario())


def test_paths_may_have_paths_of_their_own() -> None:
    async def outer(child: Any) -> int:
        inner = await child.in_parallel([after(0.0, n) for n in range(3)], limit=2)
        return sum(inner)

    async def scenario() -> None:
        async with running() as run:
            assert await run.in_parallel([outer] * 3, limit=2) == [3, 3, 3]
            assert len(tools(run).data) == 9

    asyncio.run(scenario())
