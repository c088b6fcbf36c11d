"""Several processes, forks, threads and event loops on the same records."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from postgres import servers
from taskstate.errors import StorageError

pytestmark = pytest.mark.parametrize("storage", ["file", "sqlite", *servers()], indirect=True)


def test_processes_that_write_at_once_from_the_first_open_on_lose_nothing(
    start: Callable[..., subprocess.Popen[str]], open_storage: Callable[..., Any]
) -> None:
    # Reported of another library as openai/openai-agents-python#2722.
    writers = [start("write_together.py", name) for name in ("a", "b")]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors

    async def look() -> None:
        async with open_storage() as storage:
            names = [f"{name}-{number}" for name in ("a", "b") for number in range(20)]
            assert sorted(await storage.list("own/")) == sorted(f"own/{name}" for name in names)
            assert await storage.get_many([f"own/{name}" for name in names]) == {
                f"own/{name}": {"name": name} for name in names
            }
            assert await storage.get("shared") == 40

    asyncio.run(look())


def test_a_first_open_in_several_processes_at_one_instant_fails_in_none(finish: Callable[..., str]) -> None:
    # Reported of another library as openai/openai-agents-python#2722.
    assert finish("open_at_once.py") == "all written\n"


def test_a_storage_works_on_both_sides_of_a_fork_and_in_spawned_processes(finish: Callable[..., str]) -> None:
    # Reported of other libraries as DeytaHQ/khora PR#796, gentoo/portage#600 and mem0ai/mem0#3184.
    assert finish("fork.py") == "all written\n"


def test_one_object_serves_several_event_loops_one_after_another(open_storage: Callable[..., Any]) -> None:
    storage = open_storage()
    for number in range(3):
        asyncio.run(storage.set(f"k{number}", number))
    assert asyncio.run(storage.get_many(["k0", "k1", "k2"])) == {"k0": 0, "k1": 1, "k2": 2}
    asyncio.run(storage.close())


def test_one_object_serves_several_threads_at_once(open_storage: Callable[..., Any]) -> None:
    storage = open_storage()

    async def write(name: str) -> None:
        await asyncio.gather(*(storage.set(f"{name}/{number}", number) for number in range(20)))

    threads = [threading.Thread(target=asyncio.run, args=(write(str(name)),)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asyncio.run(storage.list(""))) == 160
    asyncio.run(storage.close())


def test_a_pickle_is_a_storage_on_the_same_records(open_storage: Callable[..., Any]) -> None:
    async def scenario() -> None:
        async with open_storage(max_bytes=1000) as storage, pickle.loads(pickle.dumps(storage)) as other:
            await storage.set("k", 1)
            assert await other.get("k") == 1
            with pytest.raises(ValueError, match="larger than 1000 bytes"):
                await other.set("k", "x" * 1000)

    asyncio.run(scenario())


def test_close_can_be_called_again_and_the_storage_used_again(open_storage: Callable[..., Any]) -> None:
    async def scenario() -> None:
        threads = threading.active_count()
        storage = open_storage()
        await storage.close()
        for number in range(3):
            assert await storage.get("k") == (number or None)
            await storage.set("k", number + 1)
            await asyncio.gather(storage.close(), storage.close())
            assert threading.active_count() == threads

    asyncio.run(scenario())


def test_work_handed_in_around_a_close_is_all_done_in_order(open_storage: Callable[..., Any]) -> None:
    async def scenario() -> None:
        storage = open_storage()
        calls: list[Any] = []
        for number in range(20):
            calls.append(asyncio.ensure_future(storage.set("k", number)))
            if number % 4 == 0:
                calls.append(asyncio.ensure_future(storage.close()))
        await asyncio.gather(*calls)
        assert await storage.get("k") == 19
        await storage.close()

    asyncio.run(scenario())


def test_a_storage_that_is_dropped_ends_its_thread(open_storage: Callable[..., Any]) -> None:
    async def scenario() -> None:
        await open_storage().set("k", 1)

    threads = threading.active_count()
    asyncio.run(scenario())
    deadline = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == threads


async def lag_during(work: Callable[[], Any]) -> float:
    """The longest time by which a ticker of 10 ms was late while `work` was done."""
    ended = False
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while not ended:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before - 0.01)

    ticking = asyncio.ensure_future(tick())
    await asyncio.sleep(0.05)
    await work()
    ended = True
    await ticking
    return longest


def test_the_event_loop_runs_on_while_the_storage_works(open_storage: Callable[..., Any], hold_lock: Any) -> None:
    # Reported of another library as Cyrax321/CONTINUUM PR#246.
    async def scenario() -> list[float]:
        large = {"rows": [f"{number}" * 200 for number in range(10_000)]}
        async with open_storage() as storage:

            async def work() -> None:
                await storage.set("large", large)
                assert len((await storage.get("large"))["rows"]) == 10_000
                with hold_lock(0.3):
                    began = time.monotonic()
                    await storage.set("k", 1)
                    assert time.monotonic() - began > 0.2

            lags = []
            for _ in range(4):  # another process may have had the processor meanwhile
                lags.append(await lag_during(work))
                if lags[-1] < 0.05:
                    break
            return lags

    lags = asyncio.run(scenario())
    assert min(lags) < 0.05, lags


def test_a_writer_that_waits_too_long_for_another_gives_up(open_storage: Callable[..., Any], hold_lock: Any) -> None:
    async def scenario() -> None:
        async with open_storage(busy_timeout=100) as storage:
            await storage.set("k", 1)
            with hold_lock(1.0):
                began = time.monotonic()
                calls = [storage.set("k", 2), storage.set("k", 3), storage.set("other", 4)]
                outcomes = await asyncio.gather(*calls, return_exceptions=True)
                assert time.monotonic() - began < 0.9
            assert all(type(outcome) is StorageError for outcome in outcomes)
            assert "locked by another process" in str(outcomes[0])
            assert await storage.get("k") == 1
            await storage.set("k", 5)
            assert await storage.get("k") == 5

    asyncio.run(scenario())


def test_a_write_cancelled_while_it_waits_takes_no_effect_after_its_end(
    open_storage: Callable[..., Any], hold_lock: Any
) -> None:
    # Reported of another library as openai/openai-agents-python#1658.
    async def scenario() -> None:
        async with open_storage() as storage:
            await storage.set("k", "old")
            with hold_lock(0.3):
                running = asyncio.ensure_future(storage.set("k", "running"))
                await asyncio.sleep(0.05)
                waiting = asyncio.ensure_future(storage.set("k", "waiting"))
                await asyncio.sleep(0.05)
                running.cancel()
                waiting.cancel()
                await asyncio.wait([waiting], timeout=0.1)
                assert waiting.cancelled()  # it had not begun, so it never will
                assert not running.done()  # it may yet take effect, so its end is awaited
                running.cancel()
                await asyncio.wait([running])
            assert running.cancelled()
            assert await storage.get("k") == "running"

    asyncio.run(scenario())
