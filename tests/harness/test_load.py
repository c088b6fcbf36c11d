"""Much work: the loop stays free, and nothing grows that should not."""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from taskstate.harness import Harness
from taskstate.storage import MemoryStorage

from .support import Plain, running, task_layer, tools

Open = Callable[[], Any]


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    """10 MB of documents, as an agent would keep them."""
    page = "An offer of 12 pieces at 5.50 each, delivered within three weeks. " * 60
    return {f"document-{number:04d}": {"text": page, "page": number} for number in range(2600)}


def test_the_loop_stays_free_while_a_large_state_is_saved_merged_and_shown(
    open_storage: Open, documents: dict[str, Any]
) -> None:
    # Reported of another library as Cyrax321/CONTINUUM PR#246. A state of many small values takes longer to walk.
    async def lag_of(work: Awaitable[Any]) -> tuple[float, float]:
        """The longest time between two ticks, by the clock and in work of this thread."""
        worst = busiest = 0.0

        async def tick() -> None:
            nonlocal worst, busiest
            while True:
                start, used = time.perf_counter(), time.thread_time()
                await asyncio.sleep(0.01)
                busiest = max(busiest, time.thread_time() - used)
                worst = max(worst, time.perf_counter() - start - 0.01)

        ticker = asyncio.create_task(tick())
        await asyncio.sleep(0.03)
        worst = busiest = 0.0
        await work
        await asyncio.sleep(0.03)
        ticker.cancel()
        return worst, busiest

    async def merge(run: Any) -> None:
        async with run.spawn() as child:
            await tools(child).set_task_data(key="more", value=1)

    async def scenario() -> None:
        assert len(orjson.dumps(documents)) > 10_000_000
        async with (
            Harness(storage=open_storage(), layers=[task_layer()]) as harness,
            harness.execution(thread_id="t") as run,
        ):
            await tools(run).set_task_data(key="documents", value=documents)
            works: dict[str, Callable[[], Awaitable[Any]]] = {
                "store": run.store,
                "tool": lambda: tools(run).record_artifact(path="x"),
                "recall": run.recall,
                "merge": lambda: merge(run),
                "read": harness.threads.list,
            }
            for name, work in works.items():
                lags: list[tuple[float, float]] = []
                while min(lags, default=(1.0, 1.0))[0] > 0.05:
                    lags.append(await lag_of(work()))
                    if len(lags) == 8:  # the machine is busy with other things: only the thread's own work counts
                        assert min(busy for _, busy in lags) < 0.05, (name, lags)
                        break

    asyncio.run(scenario())


def test_a_slow_storage_does_not_hold_up_the_loop() -> None:
    async def scenario() -> None:
        async with running(Plain(delay=0.3)) as run:
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.01)
                    ticks += 1

            ticker = asyncio.create_task(tick())
            await run.store()
            ticker.cancel()
            assert ticks > 10

    asyncio.run(scenario())


def blocks_after(work: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[int]]:
    async def measure() -> int:
        await work()
        gc.collect()
        return sys.getallocatedblocks()

    return measure


def grows_by(cycle: Callable[[], Awaitable[Any]], *, rounds: int = 4) -> Callable[[], Awaitable[int]]:
    """How many more blocks of memory are in use after each round than after the one before; the fewest."""
    measured = blocks_after(cycle)

    async def measure() -> int:
        await measured()
        counts = [await measured() for _ in range(rounds)]
        return min(after - before for before, after in itertools.pairwise(counts))

    return measure


def test_many_executions_leave_nothing_behind() -> None:
    async def scenario() -> None:
        async with Harness(storage=MemoryStorage(), layers=[task_layer()]) as harness:

            async def fails(child: Any) -> None:
                raise ZeroDivisionError

            async def cycles() -> None:
                for _ in range(100):
                    async with harness.execution(thread_id="t") as run:
                        await tools(run).set_task_data(key="k", value=[1, 2, 3])
                        await run.in_parallel([lambda child: child.store(), fails], mode="settle")
                        await run.recall()
                        await run.store()

            assert await grows_by(cycles)() < 30

    asyncio.run(scenario())


def test_many_cycles_of_one_execution_do_not_grow_it() -> None:
    async def scenario() -> None:
        async with running(MemoryStorage()) as run:

            async def cycles() -> None:
                for number in range(1500):
                    await tools(run).set_task_data(key="k", value=number)
                    if number % 3 == 0:
                        await run.store()
                    if number % 30 == 0:
                        async with run.spawn() as child:
                            await child.store()

            assert await grows_by(cycles)() < 30

    asyncio.run(scenario())


def test_refused_calls_and_conflicts_leave_nothing_behind(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="taskstate")  # what pytest captures would grow

    async def scenario() -> None:
        async with Harness(storage=MemoryStorage(), layers=[task_layer()]) as harness:

            async def cycles() -> None:
                for _ in range(60):
                    with pytest.raises(Exception, match="expected version"):  # noqa: PT012
                        async with harness.execution(thread_id="t") as one, harness.execution(thread_id="t") as two:
                            await one.store()
                            with pytest.raises(ValueError, match="set is not a JSON value"):
                                await tools(two).set_task_data(key="k", value={1})
                            await two.store()
                    with pytest.raises(ValueError, match="thread_id"):
                        async with harness.execution(thread_id=7):  # type: ignore[arg-type]
                            pass

            assert await grows_by(cycles)() < 30

    asyncio.run(scenario())
