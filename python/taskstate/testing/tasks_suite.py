"""What the suites for task stores share: a store in an event loop of its own, and ways to bring about a situation."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..tasks.protocol import TaskStore
from ..tasks.records import Claim, Ending, History, Lease, NewTask, NewWait, State, StoredEvent, TaskRow, Want

T = TypeVar("T")

LEASE_MS = 60_000
DONE = Ending("succeeded", result='"done"')
FAILED = Ending("failed", code="broken", message="it broke")


class TaskStoreSuite:
    """Gives each test a fresh store; see `taskstate.testing.TaskStoreConformance`."""

    def make_store(self, tmp_path: Path) -> Any:
        """A fresh, empty store that isn't open yet, or an awaitable of one.

        Called again with the same `tmp_path`, it makes another store on what the first one works on, if that is shared.
        """
        raise NotImplementedError

    def advance_clock(self, store: Any, ms: int) -> Any:
        """Let so much time pass for the store's clock; may be a coroutine. The clock may also go on by itself."""
        raise NotImplementedError

    def use(self, tmp_path: Path, scenario: Callable[[Bench], Awaitable[T]]) -> T:
        """Run `scenario` with a store that is open, and close it whatever happens."""

        async def run() -> T:
            bench = await self.bench(tmp_path)
            try:
                return await scenario(bench)
            finally:
                await bench.store.close()

        return asyncio.run(run())

    async def bench(self, tmp_path: Path) -> Bench:
        """A store that is open, with what helps to test it."""
        made = self.make_store(tmp_path)
        store: TaskStore = await made if isinstance(made, Awaitable) else made
        await store.open()
        return Bench(store, self.advance_clock)


def scenario(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test of a coroutine that takes a bench `b`: it is run with a fresh store."""

    def run(self: TaskStoreSuite, tmp_path: Path, **values: Any) -> None:
        self.use(tmp_path, functools.partial(test, self, **values))

    signature = inspect.signature(test)
    parameters = [
        parameter.replace(name="tmp_path") if name == "b" else parameter
        for name, parameter in signature.parameters.items()
    ]
    functools.update_wrapper(run, test)
    # pytest asks for what a test takes, and would find the coroutine's parameters.
    del run.__wrapped__  # type: ignore[attr-defined]
    run.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    return run


class Bench:
    """A store, and short ways to bring it into a situation.

    Each task has a definition of its own unless `name` says otherwise, so a claim gets the one that is meant.
    """

    def __init__(self, store: TaskStore, advance: Callable[[Any, int], Any]) -> None:
        self.store = store
        self._advance = advance
        self._numbers = itertools.count(1)

    async def later(self, ms: int) -> None:
        """Let time pass."""
        passing = self._advance(self.store, ms)
        if isinstance(passing, Awaitable):
            await passing

    def fresh(self, kind: str = "task") -> str:
        """An id that sorts after those before it."""
        return f"{kind}-{next(self._numbers):06}"

    def new(self, **changes: Any) -> NewTask:
        """A request for a task."""
        task_id = changes.get("id") or self.fresh()
        plain = NewTask(
            id=task_id,
            name=f"definition of {task_id}",
            version=1,
            mode="background",
            input='{"n":1}',
            input_hash="hash",
            max_attempts=3,
            lease_ms=LEASE_MS,
            max_result_bytes=1000,
            owner="owner",
        )
        return replace(plain, **{**changes, "id": task_id})

    async def put(self, **changes: Any) -> str:
        """Enqueue a task; its id."""
        (placed,) = await self.store.enqueue([self.new(**changes)])
        return placed.id

    async def heard(self, conversation: str = "c", generation: int = 1, **changes: Any) -> str:
        """Enqueue a task whose conversation gets its events."""
        return await self.put(conversation=conversation, generation=generation, notify=True, **changes)

    async def claim(self, task_id: str, worker: str = "worker") -> Claim:
        """Claim this task."""
        row = await self.row(task_id)
        (claim,) = await self.store.claim(worker, [Want(row.name, row.version, 1)], 1)
        assert claim.id == task_id
        return claim

    async def running(self, **changes: Any) -> Claim:
        """Enqueue a task and claim it."""
        return await self.claim(await self.put(**changes))

    async def work(self, task_id: str, ending: Ending = DONE) -> State:
        """Claim a task and finish it."""
        return await self.store.finish((await self.claim(task_id)).lease, ending)

    async def suspended(self, kind: str = "signal", **changes: Any) -> tuple[Claim, NewWait]:
        """A task that is suspended until one wait, without a time-out, has ended."""
        claim = await self.running(**changes)
        wait = self.wait(kind)
        await self.store.wait(claim.lease, [wait])
        assert await self.store.suspend(claim.lease, [wait.key], "a reason") == []
        return claim, wait

    def wait(self, kind: Any = "signal", *, name: str | None = "answer", timeout_ms: int | None = None) -> NewWait:
        """A wait at a place of its own."""
        wait_id = self.fresh("wait")
        return NewWait(wait_id, f"key of {wait_id}", kind, name if kind == "signal" else None, timeout_ms)

    async def fan_out(
        self, lease: Lease, number: int, *, key: str = "step", limit: int = 0, waited: bool = True, **changes: Any
    ) -> list[str]:
        """Spawn children; their ids in order."""
        children = [self.new(**changes) for _ in range(number)]
        wait = NewWait(self.fresh("wait"), key, "children") if waited else None
        return [placed.id for placed in await self.store.spawn(lease, key, children, wait=wait, limit=limit)]

    async def parent(self, number: int = 1, *, limit: int = 0, **changes: Any) -> tuple[Claim, list[str]]:
        """A task that is suspended until its children have ended."""
        claim = await self.running(**changes)
        children = await self.fan_out(claim.lease, number, limit=limit)
        assert await self.store.suspend(claim.lease, ["step"], "children") == []
        return claim, children

    async def row(self, task_id: str) -> TaskRow:
        """The task as it stands."""
        (row,) = await self.store.get([task_id])
        return row

    async def state(self, task_id: str) -> State:
        """The state of a task."""
        return (await self.row(task_id)).state

    async def states(self, ids: Sequence[str]) -> list[State]:
        """The states of tasks."""
        return [row.state for row in await self.store.get(ids)]

    async def settle(self) -> None:
        """Dispatch until nothing is up for delivery."""
        while True:
            done = await self.store.dispatch()
            if not (done.delivered or done.suppressed or done.failed):
                return

    async def events(self, conversation: str = "c", **options: Any) -> list[StoredEvent]:
        """What an inbox offers, after all that is up for delivery was delivered."""
        await self.settle()
        return await self.store.take(conversation, **{"owner": None, "limit": 100, "offer_ms": 0, **options})

    async def attempts(self, task_id: str) -> list[tuple[int, str]]:
        """Number and outcome of each attempt."""
        return [(one["number"], one["outcome"]) for one in (await self.store.history(task_id)).attempts]

    async def deliveries(self, task_id: str, target: str) -> list[tuple[str, str | None]]:
        """State and reason of each delivery of a task to this kind of target."""
        found = (await self.store.history(task_id)).deliveries
        return [(one["state"], one["reason"]) for one in found if one["target"] == target]

    async def everything(self, ids: Sequence[str]) -> list[tuple[TaskRow, History]]:
        """All that is known of tasks, to see that nothing changed."""
        return [(await self.row(task_id), await self.store.history(task_id)) for task_id in ids]
