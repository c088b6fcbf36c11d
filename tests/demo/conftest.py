from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from taskstate.demo.job import Job
from taskstate.demo.review import layers
from taskstate.harness import Execution, Harness
from taskstate.record import AgentState, restore_agent_state
from taskstate.restart import RecordStore, RestartRecord
from taskstate.restart.parts import Artifact
from taskstate.storage import SQLiteStorage

_STEPS = "extracted|attached|validated|rechecked|compared|gone|failed"
PROPOSALS = Path(__file__).resolve().parents[2] / "examples" / "supplier_review" / "proposals"


@dataclass
class Done:
    """A run of the demo as a user starts it: its exit code, and what it said."""

    code: int
    out: str
    err: str

    @property
    def steps(self) -> dict[str, list[str]]:
        """What each process did: its id -> `document step`, in order."""
        steps: dict[str, list[str]] = {}
        process = ""
        for line in self.out.splitlines():
            if found := re.match(r"Process (\d+)(?:: nothing| takes)", line):
                process = found[1]
                steps[process] = []
            elif found := re.match(rf"  (?:extract:)?(\S+(?: \S+)*) +({_STEPS})  ", line):
                steps[process].append(f"{found[1]} {found[2]}")
        return steps

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each unit in the last assessment that was printed."""
        table = self.out.rpartition("Assessment of state version")[2].partition("\nPlan: ")[0]
        return dict(
            re.findall(
                r"^  (?!source |superseded |file )(?:extract:)?(\S.*?)  +([a-z]+)  +(?:intact|altered|missing|-) ",
                table,
                re.MULTILINE,
            )
        )

    @property
    def plan(self) -> list[str]:
        """The last plan that was printed: `what document`, in order, without the end."""
        lines = self.out.rpartition("\nPlan: ")[2]
        return [f"{op} {name}" for op, name in re.findall(r"^  \d+ +(\w+) +(?:extract:)?(\S.*)$", lines, re.MULTILINE)][
            :-1
        ]


Begun = dict[tuple[object, ...], tuple[Done, Path | None]]
"""First runs by what they began with: what they said, and a copy of the results, if there are any."""


class Desk:
    """A folder of documents and a place for the results, in a path with a space."""

    def __init__(self, root: Path, begun: Begun) -> None:
        self.folder = root / "the documents"
        self.out = root / "the results"
        self.folder.mkdir(parents=True)
        self._begun = begun

    def run(self, *options: str, folder: Path | None = None) -> Done:
        """Run the demo. A first run that began just like an earlier one isn't done again: its results are laid out."""
        key = None if folder else self._beginning(options)
        if key is None:
            return self._run(options, folder)
        if key not in self._begun:
            done = self._run(options, folder)
            kept = self.folder.parent.with_name(f"begun {len(self._begun)}") if self.out.exists() else None
            if kept:
                shutil.copytree(self.out, kept, symlinks=True)
            self._begun[key] = done, kept
            return done
        done, kept = self._begun[key]
        if kept:
            shutil.copytree(kept, self.out, symlinks=True, dirs_exist_ok=True)
        return done

    def _beginning(self, options: tuple[str, ...]) -> tuple[object, ...] | None:
        """All that a first run can depend on; None where there are results, or more than plain files to read."""
        documents = sorted(self.folder.iterdir())
        if any(path.is_symlink() or not path.is_file() for path in documents):
            return None
        if self.out.exists() and any(self.out.iterdir()):
            return None
        return (self.folder, self.out, self.out.exists(), options, *((path, path.read_bytes()) for path in documents))

    def _run(self, options: tuple[str, ...], folder: Path | None) -> Done:
        command = [sys.executable, "-m", "taskstate.demo", str(folder or self.folder), "--out", str(self.out), *options]
        env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False, env=env)
        return Done(done.returncode, done.stdout, done.stderr)

    def journal(self, event: str = "extracted") -> list[str]:
        """What was really extracted (or checked without being made), by any process, in order."""
        lines = (self.out / "journal.jsonl").read_text(encoding="utf-8").splitlines()
        entries = [entry for entry in map(json.loads, lines) if entry["event"] == event]
        return [entry.get("document") or entry["unit"].removeprefix("extract:") for entry in entries]

    def comparison(self) -> str:
        """The comparison that counts."""
        return (self.out / self.artifact("comparison").location).read_text(encoding="utf-8")

    def record(self) -> RestartRecord:
        """The restart record as it was saved last."""

        async def read() -> RestartRecord:
            async with SQLiteStorage(self.job.state) as storage:
                return await RecordStore(storage).load(self.job.thread_id)

        return asyncio.run(read())

    def artifact(self, unit: str) -> Artifact:
        record = self.record()
        return record.artifacts[record.completion_rule.units[unit].artifact or ""]

    def states(self) -> dict[str, str]:
        """What the restart record says of each unit."""
        units = self.record().completion_rule.units
        return {name.removeprefix("extract:"): unit.state for name, unit in units.items()}

    def extracts(self) -> dict[str, dict[str, Any]]:
        found = [json.loads(path.read_bytes()) for path in sorted((self.out / "extracts").glob("*.extract.json"))]
        return {extract["document"]: extract for extract in found}

    def extract_file(self, name: str) -> Path:
        (path,) = (self.out / "extracts").glob(f"{name}.*.extract.json")
        return path

    @property
    def job(self) -> Job:
        return Job(self.folder, self.out, self.out / "state.db")

    def stored(self) -> dict[str, Any]:
        """What the layers hold, read as another program would."""

        async def read() -> dict[str, Any]:
            async with Harness(storage=SQLiteStorage(self.job.state), layers=layers()) as harness:
                return dict(await harness.threads.read(self.job.thread_id))

        return asyncio.run(read())

    def data(self) -> dict[str, Any]:
        """What the task state has about the run."""
        return dict(self.stored()["task-state"]["data"])

    def work(self) -> AgentState:
        """Where the work stands, as it was declared last."""
        return restore_agent_state(self.stored()["agent-state"])

    def statuses(self) -> dict[str, str]:
        return {item["id"].removeprefix("extract:"): item["status"] for item in self.work().list_work_items()}

    def decisions(self) -> dict[str, str]:
        return {each["id"].removeprefix("extract:"): each["content"] for each in self.work().list_decisions()}

    def meddle(self, change: Callable[[Execution], Awaitable[None]]) -> None:
        """Change what is stored behind the back of the review."""

        async def run() -> None:
            async with (
                Harness(storage=SQLiteStorage(self.job.state), layers=layers()) as harness,
                harness.execution(thread_id=self.job.thread_id) as execution,
            ):
                await change(execution)

        asyncio.run(run())


@pytest.fixture(scope="session")
def desks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Begun]:
    """The place of the desk, always the same one, since the id of a task depends on it; and what began there."""
    return tmp_path_factory.mktemp("desks") / "a desk", {}


@pytest.fixture
def desk(desks: tuple[Path, Begun]) -> Desk:
    root, begun = desks
    if root.exists():
        shutil.rmtree(root)
    return Desk(root, begun)


@pytest.fixture
def proposals(desk: Desk) -> Desk:
    """A desk on which the four proposals lie."""
    for path in PROPOSALS.iterdir():
        shutil.copy(path, desk.folder)
    return desk
