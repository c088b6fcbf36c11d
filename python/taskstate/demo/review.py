"""The agent: do what the plan says, record the evidence of each step, say where the work stands, compare at the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from taskstate import ContextLayer, agent_state_layer, task_state
from taskstate.harness import Execution, Harness
from taskstate.restart import Assessment, RecordStore, Transition, plan
from taskstate.storage import SQLiteStorage

from .artifacts import Artifacts, to_bytes
from .checks import extracts_of
from .compare import comparison
from .documents import Folder, read_folder
from .evidence import ReviewRecord
from .extract import extract
from .extraction import MAKING, Extraction, history_lines
from .extraction import forget as forget_tasks
from .job import Job
from .rule import COMPARISON_UNIT, unit_id
from .show import assessment_table, plan_table
from .work import Work

Say = Callable[[str], None]


def layers() -> list[ContextLayer]:
    """What the harness keeps: files and what was done in the task state, where the work stands in the agent state."""
    return [task_state(merge_data="three_way"), agent_state_layer()]


@dataclass(frozen=True)
class Outcome:
    """How a review ended: the checked extracts in order, the criteria, what a model is shown, what is unfinished."""

    extracts: list[dict[str, Any]]
    criteria: dict[str, str]
    blocks: str
    unfinished: list[str]


async def forget(job: Job) -> None:
    """Start over: remove the thread's states, its restart record and what earlier reviews made, and end its tasks."""
    async with Harness(storage=SQLiteStorage(job.state), layers=layers()) as harness:
        await harness.threads.delete(job.thread_id)
        await RecordStore(harness.storage).delete(job.thread_id)
    await forget_tasks(job)
    Artifacts(job.out).clear()


async def review(job: Job, say: Say) -> Outcome:
    """Work on the folder from wherever the evidence says that the work stands."""
    artifacts = Artifacts(job.out)
    folder = read_folder(job.folder, artifacts.copies)
    async with (
        Harness(storage=SQLiteStorage(job.state), layers=layers()) as harness,
        harness.execution(thread_id=job.thread_id) as run,
    ):
        store = RecordStore(harness.storage)
        record = await ReviewRecord.open(store, job.thread_id, job.objective, artifacts, folder)
        reviewer = Reviewer(job, run, record, folder, say)
        await reviewer.begin()
        await reviewer.work()
        unfinished = await reviewer.end()
        messages = await run.recall()
        return Outcome(
            extracts_of(record.record, artifacts),
            dict(record.record.criteria.items),
            "\n".join(message["content"] for message in messages),
            unfinished,
        )


class Reviewer:
    """One process's work on the task. It knows nothing but the documents, the files and what is recorded."""

    def __init__(self, job: Job, run: Execution, record: ReviewRecord, folder: Folder, say: Say) -> None:
        self._job = job
        self._run = run
        self._record = record
        self._folder = folder
        self._say = say
        self._task = run.context["task-state"]
        self._work = Work(run.context["agent-state"])
        self._artifacts = Artifacts(job.out)
        self._sources = {unit_id(source.name): source for source in folder.sources}
        self._steps: dict[str, str] = {}
        self._extracted: set[str] = set()
        self._width = min(max(map(len, [*self._sources, COMPARISON_UNIT])), 48)

    async def begin(self) -> None:
        """Assess what is there, say so together with the plan, and put right what is declared."""
        found = await self._record.look()
        items = {item.id: item for item in found.items if item.kind == "unit"}
        record = self._record.record
        if record.generation == 1 and all(item.verdict == "pending" and not item.found_at for item in items.values()):
            self._say(f"Process {os.getpid()}: nothing is recorded of this task yet")
        else:
            self._tell(found)
        criteria = f"The {len(record.criteria.items)} criteria of version {record.criteria.version} are used"
        unreadable = {unit_id(name): reason for name, reason in self._folder.unreadable}
        for name in await self._work.begin(self._job.objective, criteria, items, unreadable):
            self._line(name, "gone", "no longer in the folder; its extract stays as history")
        for name in record.completion_rule.units:
            if items[name].verdict == "keep":
                await self._list_file(name)

    async def work(self) -> None:
        """Do what is planned, extractions as durable tasks; a check that fails asks for another plan.

        The comparison waits for a plan without other steps: an extract that is made again may be the same as before.
        """
        documents = {source.name: source.sha256 for source in self._folder.sources}
        extraction = Extraction(self._job, documents, self)
        taken = True
        while taken:
            steps = plan(await self._record.look()).transitions
            taken = await self._take_before(steps, extraction) or await self._take(steps)
        if extraction.history:
            for line in ("", "What is recorded of the tasks:", *history_lines(extraction.history), ""):
                self._say(line)

    async def _take_before(self, steps: Sequence[Transition], extraction: Extraction) -> bool:
        """Take all steps but those of the comparison."""
        taken = await self._take(step for step in steps if step.op == "observe")
        left = [step for step in steps if step.subject in self._sources and self._steps.get(step.subject) != "failed"]
        units = await extraction.begin(left)
        taken = await self._take(step for step in left if step.subject not in units) or taken
        if units:
            await extraction.end()
        return bool(units) or taken

    async def make(self, unit: str) -> str:
        """See `Steps`."""
        for step in await self._planned(unit, MAKING):
            await self._make(step)
        return self._steps.get(unit, "there already")

    async def check(self, unit: str) -> str:
        """See `Steps`."""
        for step in await self._planned(unit, ("validate", "recheck")):
            await self._check(step)
        return self._record.record.completion_rule.units[unit].state

    def between(self, unit: str) -> None:
        """See `Steps`: here a process kills itself that was asked to."""
        if self._steps.get(unit) == "extracted" and unit not in self._extracted:
            self._extracted.add(unit)
            if len(self._extracted) == self._job.crash_after:
                self._line(unit, "extracted", "recorded, not checked yet: this process now kills itself")
                kill_myself()

    async def _planned(self, unit: str, ops: Sequence[str]) -> list[Transition]:
        steps = plan(await self._record.look()).transitions
        return [step for step in steps if step.subject == unit and step.op in ops][:1]

    async def _take(self, steps: Iterable[Transition]) -> bool:
        return any([await self._do(step) for step in steps])

    async def end(self) -> list[str]:
        """End the task if nothing is missing; else what is."""
        found = await self._record.complete()
        unfinished = [f"{entry.id}: {entry.reason}" for entry in found.missing if entry.what == "unit"]
        if unfinished:
            why_not = f"put off: {unfinished[0]}" + " and more" * (len(unfinished) > 1)
            await self._work.declare(COMPARISON_UNIT, "blocked", why_not)
        elif (artifact := self._record.artifact(COMPARISON_UNIT)) is not None:
            written = self._steps.get(COMPARISON_UNIT) == "compared"
            self._say(f"Comparison {'written' if written else 'kept'}: {self._job.out / artifact.location}")
        steps = list(self._steps.values())
        await self._task.set_task_data(key="last_run", value={step: steps.count(step) for step in sorted({*steps})})
        return unfinished

    async def _do(self, step: Transition) -> bool:
        """Take one step, unless it has to wait or can't succeed; whether it was taken."""
        name = step.subject
        if step.op == "observe":
            await self._record.see(step)
            return True
        if step.op == "complete" or self._steps.get(name) == "failed" or not self._record.is_ready(name):
            return False
        if step.op in ("validate", "recheck"):
            await self._check(step)
        else:
            await self._make(step)
        return True

    async def _make(self, step: Transition) -> None:
        """Put an artifact on the disk, or take the one that is there, and record it as unchecked."""
        name = step.subject
        # An intention: after a crash it explains why there may be a file, and is never taken for one.
        await self._work.declare(name, "in_progress")
        location = self._record.record.completion_rule.units[name].location or name
        content = self._artifacts.read(location) if step.op == "attach" else None
        if content is None:
            location = self._record.free_place(location)
            content = self._made(name)
            self._artifacts.write(location, content)
            self._steps[name] = "extracted" if name in self._sources else "compared"
        self._steps.setdefault(name, "attached")
        await self._record.take_in(step, location, content)

    def _made(self, name: str) -> bytes:
        source = self._sources.get(name)
        if source is None:
            criteria = self._record.record.criteria.items
            extracts = extracts_of(self._record.record, self._artifacts)
            return comparison(extracts, self._folder.left_out, criteria).encode("utf-8")
        self._artifacts.note("extracted", document=source.name, source=source.sha256)
        return to_bytes(extract(source))

    async def _check(self, step: Transition) -> None:
        """Have an artifact checked; what fails is made once more, unless it was made just now."""
        name = step.subject
        made = self._steps.get(name)
        check = await self._record.check(step)
        if check.state == "failed":
            why_not = f"it fails its check: {check.reason}"
            self._line(name, "failed", why_not)
            if made in ("extracted", "compared"):
                self._steps[name] = "failed"
            await self._work.declare(name, "blocked", why_not)
            return
        done = made or ("rechecked" if step.op == "recheck" else "validated")
        self._steps[name] = done
        if made is None:
            self._artifacts.note(done, unit=name)
        await self._list_file(name)
        await self._work.declare(name, "done")
        await self._run.store({"role": "assistant", "content": f"{name}: {done} and checked"})
        self._line(name, done, f"passed {check.verifier}@{check.verifier_version}")

    async def _list_file(self, name: str) -> None:
        artifact = self._record.artifact(name)
        if artifact is not None:
            await self._task.record_artifact(path=artifact.location)

    def _tell(self, found: Assessment) -> None:
        record = self._record.record
        data = self._task.data
        ended = data.get("__outcome", "none: the process before this one was cut off")
        self._say(f"Process {os.getpid()} takes over as generation {record.generation}; last outcome: {ended}")
        for line in ("", *assessment_table(found, record.criteria.version), "", *plan_table(plan(found)), ""):
            self._say(line)

    def _line(self, name: str, step: str, reason: str) -> None:
        self._say(f"  {name.ljust(self._width)}  {step.ljust(9)}  {reason}")


def kill_myself() -> None:
    """End this process at once, as a power cut would: nothing is flushed, closed or said."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
