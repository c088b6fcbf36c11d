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
