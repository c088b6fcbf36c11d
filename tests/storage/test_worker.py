from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from taskstate.storage.worker import Outcome, Worker, attempt


class Resource:
    """Notes what the worker does with it."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.closed = 0
        self.error: Exception | None = None

    def write_group(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        if self.error:
            raise self.error
        self.groups.append(len(works))
        return [attempt(work) for work in works]

    def close(self) -> None:
        self.closed += 1


def test_writes_that_wait_together_are_one_group_and_order_is_kept() -> None:
    async def scenario() -> None:
        resource = Resource()
        worker = Worker("test", resource)
        gate = threading.Event()
        done: list[Any] = []
        calls: list[Any] = [asyncio.ensure_future(worker.write(gate.wait))]
        await asyncio.sleep(0.05)
        calls += [worker.write(lambda number=number: done.append(number)) for number in range(3)]
        calls += [worker.read(lambda: list(done))]
        calls += [worker.write(lambda: done.append("last"))]
        running = asyncio.gather(*calls)
        await asyncio.sleep(0.05)
        gate.set()
        assert (await running)[4] == [0, 1, 2]
        assert done == [0, 1, 2, "last"]
        assert resource.groups == [1, 3, 1]
        await worker.close()

    asyncio.run(scenario())


def test_each_caller_gets_its_own_error_and_all_get_that_of_the_group() -> None:
    def fail() -> None:
        raise KeyError("own")

    async def scenario() -> None:
        resource = Resource()
        worker = Worker("test", resource)
        outcomes = await asyncio.gather(worker.write(fail), worker.write(int), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [KeyError, int]
        resource.error = OSError("all")
        outcomes = await asyncio.gather(worker.write(int), worker.write(int), return_exceptions=True)
        assert [str(outcome) for outcome in outcomes] == ["all", "all"]
        with pytest.raises(KeyError):
            await worker.read(fail)
        await worker.close()

    asyncio.run(scenario())


def test_a_cancelled_write_that_has_not_begun_never_begins_and_one_that_has_is_awaited() -> None:
    async def scenario() -> None:
        worker = Worker("test", Resource())
        gate, begun = threading.Event(), threading.Event()
        done: list[str] = []

        def slow() -> None:
            begun.set()
            gate.wait()
            done.append("slow")

        first = asyncio.ensure_future(worker.write(slow))
        await asyncio.to_thread(begun.wait)
        second = asyncio.ensure_future(worker.write(lambda: done.append("second")))
        await asyncio.sleep(0)
        for call in (first, second):
            call.cancel()
        await asyncio.wait([first, second], timeout=0.05)
        assert second.cancelled()
        assert not first.done()
        gate.set()
        await asyncio.wait([first])
        assert first.cancelled()
        assert done == ["slow"]
        await worker.close()
        assert done == ["slow"]

    asyncio.run(scenario())


def test_a_cancelled_read_returns_at_once() -> None:
    async def scenario() -> None:
        worker = Worker("test", Resource())
        gate = threading.Event()
        reading = asyncio.ensure_future(worker.read(gate.wait))
        await asyncio.sleep(0.02)
        reading.cancel()
        await asyncio.wait([reading], timeout=1)
        assert reading.cancelled()
        gate.set()
        await worker.close()

    asyncio.run(scenario())


def test_close_waits_for_work_and_the_next_work_starts_anew() -> None:
    async def scenario() -> None:
        resource = Resource()
        worker = Worker("test", resource)
        await worker.close()
        assert resource.closed == 0  # there was nothing to close
        writing = asyncio.ensure_future(worker.write(lambda: 1))
        await asyncio.sleep(0)
        await worker.close()
        assert writing.result() == 1
        assert resource.closed == 1
        assert await worker.write(lambda: 2) == 2
        await worker.close()

    asyncio.run(scenario())


def test_the_thread_keeps_no_finished_value_alive() -> None:
    import gc
    import weakref

    class Value:
        pass

    async def scenario() -> None:
        worker = Worker("test", Resource())
        value = Value()
        watch = weakref.ref(value)
        await worker.write(lambda value=value: None)
        await worker.read(lambda value=value: value)
        del value
        await asyncio.sleep(0.05)
        gc.collect()
        assert watch() is None
        await worker.close()

    asyncio.run(scenario())


class Wakes:
    """Counts how often a loop is woken from another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.count = 0
        self._wake = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = self  # type: ignore[method-assign,assignment]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        return self._wake(*args, **kwargs)


async def gated(worker: Worker) -> threading.Event:
    """Have the worker's thread wait for an event, so that what follows is one group."""
    gate, begun = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gate.wait(10)

    background.add(asyncio.ensure_future(worker.read(wait)))
    await asyncio.to_thread(begun.wait, 10)
    return gate


background: set[asyncio.Future[None]] = set()


@pytest.mark.once
def test_writes_that_end_as_one_group_wake_their_loop_once() -> None:
    async def scenario() -> None:
        worker = Worker("test", Resource())
        gate = await gated(worker)
        calls = [asyncio.ensure_future(worker.write(lambda number=number: number)) for number in range(50)]
        await asyncio.sleep(0)
        wakes = Wakes(asyncio.get_running_loop())
        gate.set()
        assert await asyncio.gather(*calls) == list(range(50))
        assert wakes.count <= 2  # the read that held the gate, and the group
        await worker.close()

    asyncio.run(scenario())


@pytest.mark.once
def test_of_a_group_each_caller_hears_its_own_outcome_whatever_the_others_do() -> None:
    def fail(error: BaseException) -> None:
        raise error

    async def scenario() -> None:
        worker = Worker("test", Resource())
        gate = await gated(worker)
        done: list[str] = []
        works: list[Callable[[], Any]] = [
            lambda: "value",
            lambda: fail(KeyError("own")),
            lambda: done.append("cancelled before"),
            lambda: fail(SystemExit(3)),
            lambda: None,
        ]
        calls = [asyncio.ensure_future(worker.write(work)) for work in works]
        await asyncio.sleep(0)
        calls[2].cancel()
        gate.set()
        outcomes = await asyncio.gather(*calls[:3], return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [str, KeyError, asyncio.CancelledError]
        assert await calls[4] is None
        assert done == []
        await worker.close()

    # What is no Exception goes through the loop as well; all others have been told by then.
    with pytest.raises(SystemExit):
        asyncio.run(scenario())


@pytest.mark.once
def test_a_write_cancelled_while_its_group_is_done_ends_with_the_group() -> None:
    async def scenario() -> None:
        worker = Worker("test", Resource())
        gate, begun = threading.Event(), threading.Event()
        hold = await gated(worker)
        done: list[int] = []

        def slow() -> None:
            begun.set()
            gate.wait(10)
            done.append(1)

        calls = [asyncio.ensure_future(worker.write(work)) for work in (slow, lambda: done.append(2))]
        await asyncio.sleep(0)
        hold.set()
        await asyncio.to_thread(begun.wait, 10)
        for call in calls:
            call.cancel()
            call.cancel()
        await asyncio.wait(calls, timeout=0.05)
        assert not any(call.done() for call in calls)
        gate.set()
        await asyncio.wait(calls, timeout=5)
        assert all(call.cancelled() for call in calls)
        assert done == [1, 2]
        await worker.close()

    asyncio.run(scenario())


@pytest.mark.once
def test_several_loops_share_a_group_and_each_is_woken_once() -> None:
    worker = Worker("test", Resource())
    gate, begun = threading.Event(), threading.Event()
    ready = threading.Barrier(4, timeout=10)
    woken: list[int] = []
    results: list[list[int]] = []

    def wait() -> None:
        begun.set()
        gate.wait(10)

    async def scenario(first: int) -> None:
        calls = [asyncio.ensure_future(worker.write(lambda n=n: n)) for n in range(first, first + 5)]
        await asyncio.sleep(0)
        wakes = Wakes(asyncio.get_running_loop())
        ready.wait()
        results.append(await asyncio.gather(*calls))
        woken.append(wakes.count)

    holding = threading.Thread(target=lambda: asyncio.run(worker.read(wait)))  # type: ignore[arg-type]
    holding.start()
    begun.wait(10)
    threads = [threading.Thread(target=lambda n=n: asyncio.run(scenario(n))) for n in (0, 10, 20)]
    for thread in threads:
        thread.start()
    ready.wait()
    gate.set()
    for thread in (*threads, holding):
        thread.join(10)
    assert sorted(results) == [list(range(n, n + 5)) for n in (0, 10, 20)]
    assert woken == [1, 1, 1]
    asyncio.run(worker.close())


@pytest.mark.once
def test_a_loop_that_was_closed_meanwhile_keeps_nobody_else_from_hearing() -> None:
    worker = Worker("test", Resource())
    gate, begun = threading.Event(), threading.Event()
    done: list[str] = []

    def wait() -> None:
        begun.set()
        gate.wait(10)

    holding = threading.Thread(target=lambda: asyncio.run(worker.read(wait)))  # type: ignore[arg-type]
    holding.start()
    begun.wait(10)
    gone = asyncio.new_event_loop()
    left = gone.create_task(worker.write(lambda: done.append("gone")))
    gone.run_until_complete(asyncio.sleep(0))

    async def scenario() -> None:
        mine = asyncio.ensure_future(worker.write(lambda: done.append("mine")))
        await asyncio.sleep(0)
        gone.close()
        gate.set()
        await asyncio.wait_for(mine, 5)
        assert await worker.write(lambda: "after") == "after"
        await worker.close()

    asyncio.run(scenario())
    holding.join(10)
    assert done == ["gone", "mine"]
    assert not left.done()
    left._log_destroy_pending = False  # type: ignore[attr-defined]
