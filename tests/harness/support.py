"""What the tests of the harness share: a bare adapter, layers, and a cancellation at a chosen await."""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator, Awaitable, Generator
from contextlib import asynccontextmanager
from typing import Any

from taskstate import ContextLayer, task_state
from taskstate.harness import Execution, Harness
from taskstate.layer import TaskStateLayer

KEY = "layers/task-state/t/state"
EMPTY: dict[str, Any] = {"checkpoints": [], "files": [], "data": {}}


class Plain:
    """An adapter with nothing but the four methods, that can be slow and can fail."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay
        self.error: BaseException | None = None
        self.records: dict[str, Any] = {}
        self.writes: list[Any] = []

    async def get(self, key: str) -> Any:
        await asyncio.sleep(0)
        return copy.deepcopy(self.records.get(key))

    async def set(self, key: str, value: Any) -> None:
        value = copy.deepcopy(value)
        await asyncio.sleep(self.delay)
        self.writes.append(value)
        if self.error is not None:
            raise self.error
        self.records[key] = value

    async def delete(self, key: str) -> None:
        await asyncio.sleep(self.delay)
        self.writes.append(None)
        if self.error is not None:
            raise self.error
        self.records.pop(key, None)

    async def list(self, prefix: str) -> Any:
        return [key for key in self.records if key.startswith(prefix)]


def task_layer(**options: Any) -> TaskStateLayer:
    """A task-state layer whose clock counts 1, 2, 3 and so on."""
    ticks = itertools.count(1)
    return task_state(**{"merge_data": "three_way", "clock": lambda: next(ticks), **options})


class Notes(ContextLayer):
    """A user's layer with async hooks that take their time and change what they were given."""

    def __init__(self, id: str = "notes", pause: float = 0.0, **options: Any) -> None:
        super().__init__(id, **options)
        self.pause = pause

    async def init(self, storage: Any) -> Any:
        return {"state": await storage.get("state") or {"seen": []}}

    async def store(self, state: Any, response: Any) -> Any:
        state["seen"].append(response)
        await asyncio.sleep(self.pause)
        state["seen"].append(response)
        return {"state": state}

    async def on_spawn(self, parent_state: Any) -> Any:
        await asyncio.sleep(self.pause)
        return {"child_state": parent_state}

    async def on_return(self, parent_state: Any, child_state: Any) -> Any:
        await asyncio.sleep(self.pause)
        parent_state["seen"] += child_state["seen"]
        return {"parent_state": parent_state}


@asynccontextmanager
async def running(storage: Any = None, *layers: ContextLayer, **options: Any) -> AsyncIterator[Execution]:
    """A root on thread `t`, in a harness of its own."""
    thread_id = options.pop("thread_id", "t")
    execution_id = options.pop("execution_id", None)
    async with (
        Harness(storage=storage, layers=layers or (task_layer(),), **options) as harness,
        harness.execution(thread_id=thread_id, execution_id=execution_id) as run,
    ):
        yield run


def tools(run: Execution) -> Any:
    """The task-state layer of a run."""
    return run.context["task-state"]


async def stored(storage: Any) -> Any:
    """What is stored as the task state of thread `t`."""
    return await storage.get(KEY)


class CancelledAt:
    """Awaits something in the current task, which is cancelled where that suspends for the `step`-th time."""

    def __init__(self, work: Awaitable[Any], step: int) -> None:
        self.work = work
        self.step = step
        self.reached = False

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self.work.__await__()
        error: BaseException | None = None
        for count in itertools.count(1):
            try:
                future = steps.send(None) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value
            if count == self.step:
                self.reached = True
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            error = None
            try:
                yield future
            except BaseException as failure:
                error = failure
        return None


async def cancel_at(work: Awaitable[Any], step: int) -> bool:
    """Do `work` in a task that is cancelled at its `step`-th suspension; whether it came so far."""
    cancelled = CancelledAt(work, step)

    async def do() -> None:
        await cancelled

    task = asyncio.ensure_future(do())
    await asyncio.wait({task}, timeout=30)
    assert task.done(), "the work hangs after its cancellation"
    if not task.cancelled():
        task.result()
    assert task.cancelled() == cancelled.reached, "a cancellation was lost"
    return cancelled.reached
