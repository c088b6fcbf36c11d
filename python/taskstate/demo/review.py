"""The agent: extract one document after another, record each in the task state, compare them at the end."""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskstate import task_state
from taskstate.harness import Execution, Harness
from taskstate.storage import SQLiteStorage

from .artifacts import COMPARISON, Artifacts, digest, to_bytes
from .assess import CHECKED, EXTRACTING, GONE, Decision, assess, validated
from .compare import comparison, coverage_faults
from .documents import Source, UnreadableError, display_name, list_folder, read_document
from .extract import extract
from .findings import CRITERIA_VERSION

LAYER = "task-state"
KEY = "extract:"
COMPLETE_WHEN = "every document has a checked extract, and the comparison covers every criterion"

Say = Callable[[str], None]


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


@dataclass(frozen=True)
class Outcome:
    """How a review ended: the checked extracts in order, the `<task_state>` block, and what is unfinished."""

    extracts: list[dict[str, Any]]
    block: str
    unfinished: list[str]


def read_folder(folder: Path) -> tuple[list[Source], list[tuple[str, str]]]:
    """The documents of a folder in order, and what was left out. Raises FolderError."""
    listing = list_folder(folder)
    sources: list[Source] = []
    left_out = list(listing.left_out)
    for path in listing.paths:
        try:
            sources.append(read_document(path))
        except UnreadableError as reason:
            left_out.append((display_name(path), str(reason)))
    return sources, left_out


async def forget(job: Job) -> None:
    """Start over: remove the thread's state and the artifacts of earlier reviews."""
    async with Harness(storage=SQLiteStorage(job.state), layers=[task_state()]) as harness:
        await harness.threads.delete(job.thread_id)
    Artifacts(job.out).clear()


async def review(job: Job, say: Say) -> Outcome:
    """Work on the folder from wherever the recorded state says that the work stands."""
    sources, left_out = read_folder(job.folder)
    storage = SQLiteStorage(job.state)
    async with (
        Harness(storage=storage, layers=[task_state(merge_data="three_way")]) as harness,
        harness.execution(thread_id=job.thread_id) as run,
    ):
        reviewer = Reviewer(job, run, say)
        await reviewer.set_objective(sources)
        extracts = [done for source in sources if (done := await reviewer.settle(source)) is not None]
        missing = [source.name for source in sources if source.name not in {done["document"] for done in extracts}]
        unfinished = [f"no checked extract of {name}" for name in missing] or coverage_faults(extracts)
        if not unfinished:
            await reviewer.compare(extracts, left_out)
        messages = await run.recall()
        return Outcome(extracts, "\n".join(message["content"] for message in messages), unfinished)


class Reviewer:
    """One process's work on the task. It knows nothing but the documents, the artifacts and the task state."""

    def __init__(self, job: Job, run: Execution, say: Say) -> None:
        self._job = job
        self._run = run
        self._task = run.context[LAYER]
        self._say = say
        self._artifacts = Artifacts(job.out)
        self._extractions = 0

    async def set_objective(self, sources: list[Source]) -> None:
        """Say what is recovered, and record the objective: a new version if documents or criteria changed."""
        data = self._task.data
        names = [source.name for source in sources]
        width = max(map(len, names), default=0)
        self._width = min(width, 40)
        before = data.get("objective")
        wanted = {"documents": names, "criteria_version": CRITERIA_VERSION, "complete_when": COMPLETE_WHEN}
        recorded = [name for name in names if (data.get(KEY + name) or {}).get("status") == CHECKED]
        if before is None:
            self._say(f"Process {os.getpid()}: nothing is recorded of this task yet")
        else:
            ended = data.get("__outcome", "none: the process before this one was cut off")
            self._say(f"Process {os.getpid()} recovers {len(recorded)} of {len(names)} extracts; last outcome: {ended}")
        if before is None or {key: before.get(key) for key in wanted} != wanted:
            version = 1 if before is None else before["version"] + 1
            if before is not None:
                self._say(f"  the objective has changed: this is version {version}")
            await self._task.set_task_data(key="objective", value={"version": version, **wanted})
        for key, entry in data.items():
            name = key.removeprefix(KEY)
            if key.startswith(KEY) and name not in names and entry.get("status") != GONE:
                self._line(name, "gone", "no longer in the folder; its extract stays as it was recorded")
                await self._task.set_task_data(key=key, value={**entry, "status": GONE})

    async def settle(self, source: Source) -> dict[str, Any] | None:
        """Bring one document to a checked, recorded extract by the least work that the evidence allows."""
        entry = self._task.data.get(KEY + source.name)
        path = self._artifacts.extract_path(source)
        decision = assess(source, entry, self._artifacts.read(path))
        if decision.step == "keep":
            self._line(source.name, "kept", decision.reason)
            return decision.extract
        if decision.step == "extract":
            await self._extract(source, path, entry)
        return await self._record(source, path, decision)

    async def _extract(self, source: Source, path: str, entry: Any) -> None:
        # An intention: after a crash it explains why there may be a file, and is never taken for one.
        intent: dict[str, Any] = {"status": EXTRACTING, "source": source.sha256}
        if isinstance(entry, dict) and entry.get("source") != source.sha256:
            intent["replaces"] = entry.get("source")
        await self._task.set_task_data(key=KEY + source.name, value=intent)
        self._artifacts.write(path, to_bytes(extract(source)))
        self._artifacts.note("extracted", document=source.name, source=source.sha256)
        self._extractions += 1
        if self._extractions == self._job.crash_after:
            self._line(source.name, "extracted", "on disk, not recorded yet: this process now kills itself")
            kill_myself()

    async def _record(self, source: Source, path: str, decision: Decision) -> dict[str, Any] | None:
        """Check what is on the disk, then record it; what fails its check is never recorded as done."""
        stored = self._artifacts.read(path)
        value, faults = validated(source, stored) if stored is not None else (None, ["it is not on the disk"])
        if stored is None or value is None:
            self._line(source.name, "failed", f"the extract fails its check: {faults[0]}")
            return None
        before = self._task.data.get(KEY + source.name) or {}
        entry = {
            "status": CHECKED,
            "source": source.sha256,
            "artifact": digest(stored),
            "criteria_version": CRITERIA_VERSION,
        }
        if "replaces" in before:
            entry["replaces"] = before["replaces"]
        await self._task.record_artifact(path=path)
        await self._task.set_task_data(key=KEY + source.name, value=entry)
        await self._run.store({"role": "assistant", "content": f"{source.name}: extract checked and recorded"})
        if decision.step == "attach":
            self._artifacts.note("attached", document=source.name, source=source.sha256)
        self._line(source.name, "attached" if decision.step == "attach" else "extracted", decision.reason)
        return value

    async def compare(self, extracts: list[dict[str, Any]], left_out: list[tuple[str, str]]) -> None:
        """Write the comparison, unless the recorded one is still right."""
        data = self._task.data
        basis = {item["document"]: data[KEY + item["document"]]["artifact"] for item in extracts}
        content = comparison(extracts, left_out).encode("utf-8")
        entry = {"artifact": digest(content), "extracts": basis}
        place = self._job.out / COMPARISON
        if data.get("comparison") == entry and self._artifacts.read(COMPARISON) == content:
            self._say(f"Comparison kept: it rests on these very extracts ({place})")
            return
        self._artifacts.write(COMPARISON, content)
        await self._task.record_artifact(path=COMPARISON)
        await self._task.set_task_data(key="comparison", value=entry)
        await self._run.store({"role": "assistant", "content": "comparison written"})
        self._say(f"Comparison written: {place}")

    def _line(self, name: str, step: str, reason: str) -> None:
        self._say(f"  {name.ljust(self._width)}  {step.ljust(9)}  {reason}")


def kill_myself() -> None:
    """End this process at once, as a power cut would: nothing is flushed, closed or said."""
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
