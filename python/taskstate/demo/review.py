"""The agent: extract one document after another, record each, say where the work stands, compare them at the end."""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskstate import ContextLayer, agent_state_layer, task_state
from taskstate.harness import Execution, Harness
from taskstate.storage import SQLiteStorage

from .artifacts import COMPARISON, Artifacts, digest, to_bytes
from .assess import Verdict, assess, validated
from .compare import comparison, coverage_faults
from .documents import Folder, Source, display_name, read_folder
from .extract import extract
from .findings import CRITERIA_VERSION
from .work import COMPARISON_ITEM, Work, item_id

Say = Callable[[str], None]


def layers() -> list[ContextLayer]:
    """What the review keeps: evidence in the task state, where the work stands in the agent state."""
    return [task_state(merge_data="three_way"), agent_state_layer()]


@dataclass(frozen=True)
class Job:
    """What to review and where to keep it; `crash_after` counts extractions, None never crashes."""

    folder: Path
    out: Path
    state: Path
    crash_after: int | None = None

    @property
    def thread_id(self) -> str:
        """The thread of this folder: always the same one."""
        place = os.fsencode(self.folder.resolve())
        readable = re.sub(r"[^A-Za-z0-9]+", "-", self.folder.resolve().name).strip("-").lower()[:40]
        return f"review-{readable or 'folder'}-{hashlib.sha256(place).hexdigest()[:8]}"

    @property
    def objective(self) -> str:
        """What the review is for, in one sentence."""
        folder = display_name(self.folder.resolve()) or str(self.folder.resolve())
        return (
            f"Compare the offers in the folder {folder}: every readable document has a checked extract, "
            "and the comparison covers every criterion."
        )


@dataclass(frozen=True)
class Outcome:
    """How a review ended: the checked extracts in order, what a model is shown, and what is unfinished."""

    extracts: list[dict[str, Any]]
    blocks: str
    unfinished: list[str]


async def forget(job: Job) -> None:
    """Start over: remove the thread's states and the artifacts of earlier reviews."""
    async with Harness(storage=SQLiteStorage(job.state), layers=layers()) as harness:
        await harness.threads.delete(job.thread_id)
    Artifacts(job.out).clear()


async def review(job: Job, say: Say) -> Outcome:
    """Work on the folder from wherever the evidence says that the work stands."""
    folder = read_folder(job.folder)
    async with (
        Harness(storage=SQLiteStorage(job.state), layers=layers()) as harness,
        harness.execution(thread_id=job.thread_id) as run,
    ):
        reviewer = Reviewer(job, run, say)
        await reviewer.begin(folder)
        extracts = [found for source in folder.sources if (found := await reviewer.settle(source)) is not None]
        done = {found["document"] for found in extracts}
        missing = [source.name for source in folder.sources if source.name not in done]
        unfinished = [f"no checked extract of {name}" for name in missing] or coverage_faults(extracts)
        if unfinished:
            await reviewer.block_comparison(unfinished)
        else:
            await reviewer.compare(extracts, folder.left_out)
        messages = await run.recall()
        return Outcome(extracts, "\n".join(message["content"] for message in messages), unfinished)


class Reviewer:
    """One process's work on the task. It knows nothing but the documents, the artifacts and the two states."""

    def __init__(self, job: Job, run: Execution, say: Say) -> None:
        self._job = job
        self._run = run
        self._task = run.context["task-state"]
        self._work = Work(run.context["agent-state"])
        self._say = say
        self._artifacts = Artifacts(job.out)
        self._verdicts: dict[str, Verdict] = {}
        self._extractions = 0

    async def begin(self, folder: Folder) -> None:
        """Assess every document, say what is recovered, and put right what is declared."""
        data, declared = self._task.data, self._work.record()
        for source in folder.sources:
            item = declared.get_work_item(item_id(source.name))
            stored = self._artifacts.read(self._artifacts.extract_path(source))
            status = None if item is None else item["status"]
            self._verdicts[source.name] = assess(source, data.get(item_id(source.name)), stored, status)
        self._width = min(max(map(len, self._verdicts), default=0), 40)
        if declared.objective is None and not data:
            self._say(f"Process {os.getpid()}: nothing is recorded of this task yet")
        else:
            recovered = sum(verdict.step == "keep" for verdict in self._verdicts.values())
            ended = data.get("__outcome", "none: the process before this one was cut off")
            self._say(
                f"Process {os.getpid()} recovers {recovered} of {len(folder.sources)} extracts; last outcome: {ended}"
            )
        for name in await self._work.begin(self._job.objective, self._verdicts, dict(folder.unreadable)):
            self._line(name, "gone", "no longer in the folder; its extract stays as it was recorded")

    async def settle(self, source: Source) -> dict[str, Any] | None:
        """Bring one document to a checked, recorded extract by the least work that the evidence allows."""
        verdict = self._verdicts[source.name]
        if verdict.step == "keep":
            self._line(source.name, "kept", verdict.reason)
            return verdict.extract
        path = self._artifacts.extract_path(source)
        if verdict.step == "extract":
            await self._extract(source, path)
        return await self._record(source, path, verdict)

    async def _extract(self, source: Source, path: str) -> None:
        # An intention: after a crash it explains why there may be a file, and is never taken for one.
        await self._work.declare(item_id(source.name), "in_progress")
        self._artifacts.write(path, to_bytes(extract(source)))
        self._artifacts.note("extracted", document=source.name, source=source.sha256)
        self._extractions += 1
        if self._extractions == self._job.crash_after:
            self._line(source.name, "extracted", "on disk, not recorded yet: this process now kills itself")
            kill_myself()

    async def _record(self, source: Source, path: str, verdict: Verdict) -> dict[str, Any] | None:
        """Check what is on the disk, then record it; what fails its check is never recorded as done."""
        stored = self._artifacts.read(path)
        value, faults = validated(source, stored) if stored is not None else (None, ["it is not on the disk"])
        if stored is None or value is None:
            why = f"the extract fails its check: {faults[0]}"
            await self._work.declare(item_id(source.name), "blocked", why)
            self._line(source.name, "failed", why)
            return None
        before = self._task.data.get(item_id(source.name)) or {}
        entry = {"source": source.sha256, "artifact": digest(stored), "criteria_version": CRITERIA_VERSION}
        if replaced := before.get("replaces" if before.get("source") == source.sha256 else "source"):
            entry["replaces"] = replaced
        # The evidence first: where the process dies in between, the next one finds more done than was declared.
        await self._task.record_artifact(path=path)
        await self._task.set_task_data(key=item_id(source.name), value=entry)
        await self._work.declare(item_id(source.name), "done")
        await self._run.store({"role": "assistant", "content": f"{source.name}: extract checked and recorded"})
        if verdict.step == "attach":
            self._artifacts.note("attached", document=source.name, source=source.sha256)
        self._line(source.name, "attached" if verdict.step == "attach" else "extracted", verdict.reason)
        return value

    async def compare(self, extracts: Sequence[dict[str, Any]], left_out: Sequence[tuple[str, str]]) -> None:
        """Write the comparison, unless the recorded one is still right."""
        data = self._task.data
        basis = {item["document"]: data[item_id(item["document"])]["artifact"] for item in extracts}
        content = comparison(extracts, left_out).encode("utf-8")
        entry = {"artifact": digest(content), "extracts": basis}
        place = self._job.out / COMPARISON
        if data.get(COMPARISON_ITEM) == entry and self._artifacts.read(COMPARISON) == content:
            await self._work.declare(COMPARISON_ITEM, "done")
            self._say(f"Comparison kept: it rests on these very extracts ({place})")
            return
        await self._work.declare(COMPARISON_ITEM, "in_progress")
        self._artifacts.write(COMPARISON, content)
        await self._task.record_artifact(path=COMPARISON)
        await self._task.set_task_data(key=COMPARISON_ITEM, value=entry)
        await self._work.declare(COMPARISON_ITEM, "done")
        await self._run.store({"role": "assistant", "content": "comparison written"})
        self._say(f"Comparison written: {place}")

    async def block_comparison(self, unfinished: Sequence[str]) -> None:
        """Declare that there can be no comparison yet, and what is in its way."""
        why = f"put off: {unfinished[0]}" + " and more" * (len(unfinished) > 1)
        await self._work.declare(COMPARISON_ITEM, "blocked", why)

    def _line(self, name: str, step: str, reason: str) -> None:
        self._say(f"  {name.ljust(self._width)}  {step.ljust(9)}  {reason}")


def kill_myself() -> None:
    """End this process at once, as a power cut would: nothing is flushed, closed or said."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
