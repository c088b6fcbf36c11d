"""One thread that does the blocking work of one storage, in the order in which it was asked for.

The event loop never waits for a disk. Writes that wait at the same time are handed to the resource as
one group, so that it can make them durable together. A fork never sees work half done: before one,
the work in hand is finished and the resource closed, and the child begins with a thread of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

T = TypeVar("T")

_GROUP_LIMIT = 256  # bounds how long the first of a group waits for the last
_EXIT_PATIENCE = 5.0  # seconds that the end of the process waits for the work in hand


class Outcome(NamedTuple):
    """How a piece of work ended: its value, or the error that it raised."""

    value: Any
    error: BaseException | None = None


def attempt(work: Callable[[], Any]) -> Outcome:
    """Do `work` and give its outcome, whatever it is."""
    try:
        return Outcome(work())
    except BaseException as error:  # noqa: BLE001 - whoever waits for this work must hear of anything
        return Outcome(None, error)


class Resource(Protocol):
    """What the work uses: opened when it is first needed, and again after `close`."""

    def write_group(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        """Do all `works` in order and make them durable; their outcomes, in the same order."""
        ...

    def close(self) -> None:
        """Let go of files and connections; nothing to let go of is no error."""
        ...


class _Job(NamedTuple):
    work: Callable[[], Any]
    writes: bool
    done: Future[Any]

    def settle(self, outcome: Outcome) -> None:
        if outcome.error is None:
            self.done.set_result(outcome.value)
        else:
            self.done.set_exception(outcome.error)


class _Stop(NamedTuple):
    done: Future[None]


class Worker:
    """Runs work on its thread, which starts when needed and ends with `close` or with the process.

    Safe to use from several threads and event loops.
    """

    def __init__(self, name: str, resource: Resource) -> None:
        self._name = name
        self.resource = resource
        self._begin()
        _workers.add(self)

    def _begin(self) -> None:
        self._guard = threading.Lock()  # held for a moment, by whoever hands in work
        self.busy = threading.Lock()  # held while the resource is in use
        self._queue: SimpleQueue[_Job | _Stop] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._earlier: threading.Thread | None = None  # a thread that was told to end and may still have work

    async def read(self, work: Callable[[], T]) -> T:
        """What `work` returns. Cancellation is immediate; the work may still be done, unheard."""
        return await _heard(self._submit(work, writes=False))

    async def write(self, work: Callable[[], T]) -> T:
        """What `work` returns, once it is durable.

        Cancelled before the work began, it never begins. Cancelled later, the cancellation waits until
        the work has ended: no write takes effect after its call has returned.
        """
        done = self._submit(work, writes=True)
        try:
            return await _heard(done)
        except asyncio.CancelledError:
            if not done.cancel():
                await _ended(done)
            raise

    async def close(self) -> None:
        """Finish the work that was handed in, close the resource and end the thread; idempotent."""
        with self._guard:
            thread = self._thread
            if thread is None:
                return
            stop = _Stop(Future())
            self._queue.put(stop)
            self._earlier, self._thread, self._queue = thread, None, SimpleQueue()
        await _ended(stop.done)
        thread.join()  # it has nothing left to do

    def abandon(self) -> None:
        """Tell the thread to end when its work is done, without waiting; safe during garbage collection."""
        if self._thread is not None:
            self._queue.put(_Stop(Future()))

    def finish(self) -> None:
        """As `abandon`, but wait a while for the thread: for the end of the process."""
        self.abandon()
        if self._thread is not None:
            self._thread.join(_EXIT_PATIENCE)

    def _submit(self, work: Callable[[], T], *, writes: bool) -> Future[T]:
        done: Future[T] = Future()
        with self._guard:
            if self._thread is None:
                args = (self._queue, self.busy, self.resource, self._earlier)
                thread = threading.Thread(target=_serve, args=args, name=self._name, daemon=True)
                thread.start()
                self._thread, self._earlier = thread, None
            self._queue.put(_Job(work, writes, done))
        return done


def _serve(
    queue: SimpleQueue[_Job | _Stop], busy: threading.Lock, resource: Resource, earlier: threading.Thread | None
) -> None:
    """The thread's life. It holds no reference to the worker, which may so be collected."""
    if earlier is not None:
        earlier.join()
    stops: list[_Stop] = []
    while not stops:
        taken = _take(queue)
        stops = [item for item in taken if isinstance(item, _Stop)]
        jobs = [item for item in taken if isinstance(item, _Job) and item.done.set_running_or_notify_cancel()]
        with busy:
            _perform(jobs, resource)
            if stops:
                attempt(resource.close)
        del taken, jobs  # the values of finished work would live on while the thread waits
    for stop in stops:
        stop.done.set_result(None)


def _take(queue: SimpleQueue[_Job | _Stop]) -> list[_Job | _Stop]:
    """All that waits, at least one."""
    taken = [queue.get()]
    try:
        while len(taken) < _GROUP_LIMIT:
            taken.append(queue.get_nowait())
    except Empty:
        pass
    return taken


def _heard(done: Future[T]) -> asyncio.Future[T]:
    """`done` for the event loop that runs here. What ends as one group wakes the loop once, not once for each."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[T] = loop.create_future()
    waiter.add_done_callback(lambda ended: done.cancel() if ended.cancelled() else None)

    def pass_on(done: Future[T]) -> None:
        together: _Together | None = getattr(_local, "together", None)
        if together is None:
            _wake(loop, [(waiter, done)])
        else:
            together.setdefault(loop, []).append((waiter, done))

    done.add_done_callback(pass_on)
    return waiter


_Together: TypeAlias = dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Future[Any]]]]
_local = threading.local()


def _wake(loop: asyncio.AbstractEventLoop, ended: list[tuple[asyncio.Future[Any], Future[Any]]]) -> None:
    with suppress(RuntimeError):  # the loop was closed: nobody waits any more
        loop.call_soon_threadsafe(_settle_all, ended)


def _settle_all(ended: list[tuple[asyncio.Future[Any], Future[Any]]]) -> None:
    for waiter, done in ended:
        if waiter.done():
            continue
        if done.cancelled():
            waiter.cancel()
        elif (error := done.exception()) is not None:
            waiter.set_exception(error)
        else:
            waiter.set_result(done.result())


@contextmanager
def _told_together() -> Iterator[None]:
    together: _Together = {}
    _local.together = together
    try:
        yield
    finally:
        _local.together = None
        for loop, ended in together.items():
            _wake(loop, ended)


def _perform(jobs: list[_Job], resource: Resource) -> None:
    for writes, grouped in groupby(jobs, key=lambda job: job.writes):
        group = list(grouped)
        works = [job.work for job in group]
        if writes:
            whole = attempt(partial(resource.write_group, works))
            outcomes = whole.value if whole.error is None else [whole] * len(group)
            with _told_together():
                for job, outcome in zip(group, outcomes, strict=True):
                    job.settle(outcome)
        else:
            for job in group:
                job.settle(attempt(job.work))


async def _ended(done: Future[Any]) -> None:
    """Wait until `done` has ended, through any number of cancellations; the last one is raised then."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def tell(_: Future[Any]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(ended.set)

    done.add_done_callback(tell)
    cancelled: asyncio.CancelledError | None = None
    while not ended.is_set():
        try:
            await ended.wait()
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()
_forking = threading.Lock()
_paused: list[Worker] = []  # belongs to the thread that holds _forking


def _before_fork() -> None:
    """Finish work in hand and close resources: a child that inherits an open database corrupts it."""
    _forking.acquire()
    for worker in list(_workers):
        worker.busy.acquire()
        _paused.append(worker)
        attempt(worker.resource.close)


def _after_fork_in_parent() -> None:
    while _paused:
        _paused.pop().busy.release()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking  # noqa: PLW0603 - the lock is held by this thread, and others may have waited for it
    _forking = threading.Lock()
    _paused.clear()
    for worker in list(_workers):
        worker._begin()  # noqa: SLF001 - its thread and locks stayed with the parent


@atexit.register
def _finish_all() -> None:
    for worker in list(_workers):
        worker.finish()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
