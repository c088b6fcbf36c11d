"""The extractions as durable tasks: one for each document, below one that waits for them all.

They are kept in the same file as the states. A process that is killed leaves its tasks as they are; the next one goes
on with them, and a step that was completed isn't done again. What is true of a document is for the restart record to
say: where that no longer agrees with what the tasks have recorded, they are cancelled and others are started.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from pydantic import BaseModel

from taskstate.errors import TaskUnsuccessfulError
from taskstate.restart import Transition
from taskstate.tasks import Definition, DurableTasks, Limits, State, TaskContext, TaskInfo, task
from taskstate.tasks.records import ENDED, STATES

from .job import Job
from .rule import unit_id

MAKING = ("make", "remake", "attach")
_MAKE, _CHECK = "extract", "check"
_UNFINISHED: tuple[State, ...] = tuple(state for state in STATES if state not in ENDED)
# As long as this the tasks of a killed process are kept from the next one. Five processes may die with the same one.
_LIMITS = Limits(attempts=5, backoff_s=0.1, lease_s=0.6)
_PLACES = 1
"""Documents at once: one, so that what a process had done when it was killed doesn't depend on chance."""


class Document(BaseModel):
    """A version of a document that is to be extracted."""

    name: str
    sha256: str


class Steps(Protocol):
    """The two steps of an extraction, each done for one unit of the restart record."""

    async def make(self, unit: str) -> str:
        """Put the extract in place and record it as unchecked, unless it is there; what was done."""
        ...

    async def check(self, unit: str) -> str:
        """Have the extract checked; the state that its unit has now."""
        ...

    def between(self, unit: str) -> None:
        """Called when the first step is completed, also when that was found to be recorded."""
        ...


class Extraction:
    """The durable tasks of one review. The file is opened while there is something to extract."""

    def __init__(self, job: Job, documents: Mapping[str, str], steps: Steps) -> None:
        self._documents = {unit_id(name): Document(name=name, sha256=sha256) for name, sha256 in documents.items()}
        self._steps = steps
        self._owner = job.thread_id
        # Another review may use the same file: its tasks are none of this one's, whose worker knows these names only.
        self._one, self._all = f"{job.thread_id}/extract", f"{job.thread_id}/extract-all"
        self._store = job.state
        self._types = self._definitions()
        self._fault: Exception | None = None
        self._faulty = asyncio.Event()
        self._root = ""
        self.history: list[tuple[str, list[str], list[str]]] = []
        """Of each task that was waited for: its name, how its attempts ended, its completed steps."""

    async def begin(self, steps: Sequence[Transition]) -> set[str]:
        """Start tasks for the steps that are extractions, or find unfinished ones; the units that they are for."""
        if not any(step.op in (*MAKING, "validate") for step in steps):
            return set()
        units = {step.subject for step in steps}
        # No worker yet: it would go on with what may be about to be cancelled.
        async with DurableTasks(types=self._types, store=self._store, worker=False) as tasks:
            root = await self._unfinished(tasks, steps)
            if root is None:
                units = {step.subject for step in steps if step.op in MAKING}
                if not units:
                    return set()
                documents = [self._documents[unit] for unit in self._documents if unit in units]
                root = (await tasks.start(self._all, documents, owner=self._owner)).id
        self._root = root
        return units

    async def end(self) -> None:
        """Run the tasks, wait for them, and look up what is recorded of them."""
        async with DurableTasks(types=self._types, store=self._store, grace_s=2) as tasks:
            await self._end_of(tasks, self._root)
            for one in [await tasks.get(self._root), *await _below(tasks, self._root)]:
                history = await tasks.history(one["id"])
                attempts = [attempt["outcome"] or "running" for attempt in history["attempts"]]
                steps = [step["key"] for step in history["checkpoints"]]
                kind = one["name"].rpartition("/")[2]
                name = f"{kind} {one['input']['name']}" if one["parent_id"] else kind
                self.history.append((name, attempts, steps))

    def _definitions(self) -> list[Definition[Any, Any]]:
        @task(self._one, limits=_LIMITS)
        async def extract(ctx: TaskContext, input: Document) -> str:
            unit = unit_id(input.name)
            await ctx.checkpoint(_MAKE, self._or_fault(self._steps.make), unit)
            self._steps.between(unit)
            state: str = await ctx.checkpoint(_CHECK, self._or_fault(self._steps.check), unit)
            return state

        @task(self._all, limits=_LIMITS)
        async def extract_all(ctx: TaskContext, input: list[Document]) -> list[str]:
            return await ctx.fan_out(extract, input, limit=_PLACES, key="documents")

        return [extract, extract_all]

    def _or_fault(self, step: Callable[[str], Awaitable[str]]) -> Callable[[str], Awaitable[str]]:
        """The step; what it raises ends the review too, and the task is for the next process to try again."""

        async def performed(unit: str) -> str:
            try:
                return await step(unit)
            except Exception as error:
                self._fault = self._fault or error
                self._faulty.set()
                raise

        return performed

    async def _end_of(self, tasks: DurableTasks, root: str) -> None:
        ends = asyncio.ensure_future(tasks.result(root)), asyncio.ensure_future(self._faulty.wait())
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._fault is not None:
                raise self._fault
            await ends[0]
        except TaskUnsuccessfulError as error:
            error.add_note(error.message or "no reason is recorded")
            raise
        finally:
            for end in ends:
                end.cancel()

    async def _unfinished(self, tasks: DurableTasks, steps: Sequence[Transition]) -> str | None:
        """Tasks of an earlier process that are about just these steps; others are cancelled."""
        found = None
        for root in await tasks.list(owner=self._owner, name=self._all, states=_UNFINISHED):
            if found is None and await self._is_about(tasks, root, steps):
                found = root["id"]
            else:
                await tasks.cancel(root["id"])
        return found

    async def _is_about(self, tasks: DurableTasks, root: TaskInfo, steps: Sequence[Transition]) -> bool:
        first = {step.subject: step.op for step in reversed(steps)}
        left = {unit_id(each["name"]): each["sha256"] for each in root["input"]}
        for one in await _below(tasks, root["id"]):
            unit = unit_id(one["input"]["name"])
            if one["state"] in ENDED:
                left.pop(unit)
            elif one["started_at"] is not None and first.get(unit) != "validate":
                history = await tasks.history(one["id"])
                if any(step["key"] == _MAKE for step in history["checkpoints"]):
                    return False  # it takes an extract for made that isn't there as it was
        return left == {unit: self._documents[unit].sha256 for unit in first}


async def _below(tasks: DurableTasks, root: str) -> list[TaskInfo]:
    """The tasks of the documents, in their order."""
    return (await tasks.list(parent_id=root, limit=1_000_000))[::-1]


async def forget(job: Job) -> None:
    """Cancel what an earlier review has left unfinished."""
    async with DurableTasks(types=[], store=job.state, worker=False) as tasks:
        for root in await tasks.list(owner=job.thread_id, states=_UNFINISHED):
            await tasks.cancel(root["id"])


def history_lines(history: Sequence[tuple[str, list[str], list[str]]]) -> Iterator[str]:
    """The history of tasks as a table."""
    rows = [("task", "attempts", "steps completed"), *((n, ", ".join(a), ", ".join(s)) for n, a, s in history)]
    width, attempts = (min(max(len(row[at]) for row in rows), 56) for at in (0, 1))
    for row in rows:
        yield f"  {row[0].ljust(width)}  {row[1].ljust(attempts)}  {row[2]}"
