"""What the review knows: its restart record, held against the documents and files as they are now."""

from __future__ import annotations

import glob
from functools import partial
from itertools import chain, count
from typing import Any

from taskstate.errors import ConflictError
from taskstate.restart import (
    Artifact,
    Assessment,
    CallableProbe,
    Criteria,
    FileProbe,
    Made,
    NewUnits,
    Objective,
    RecordStore,
    RestartRecord,
    SeenSource,
    SeenState,
    SetStatus,
    Source,
    Transition,
    Verification,
    apply,
    assess,
    change,
    inputs_of,
    observe,
)
from taskstate.restart.transitions import Evidence

from .artifacts import Artifacts, digest
from .checks import verifiers
from .documents import Folder
from .findings import CRITERIA
from .rule import COMPARISON_UNIT, current_sources, required_units

KEPT_VERSIONS = 50
"""Earlier versions of the record that stay after a review."""


class ReviewRecord:
    """The restart record of one review: the only place that says what is made, checked and done.

    Every change is saved before the next one is begun.
    """

    def __init__(self, store: RecordStore, record: RestartRecord, artifacts: Artifacts, folder: Folder) -> None:
        self.record = record
        self._store = store
        self._artifacts = artifacts
        self._verifiers = verifiers(folder, artifacts)
        self._sources = current_sources(folder, store.clock())
        self._units = required_units(folder, artifacts)

    @classmethod
    async def open(
        cls, store: RecordStore, task_id: str, objective: str, artifacts: Artifacts, folder: Folder
    ) -> ReviewRecord:
        """Begin the task's record or take it over, and declare what the documents that are there require."""
        new = RestartRecord(task_id=task_id, objective=Objective(text=objective), criteria=Criteria(items=CRITERIA))
        try:
            record = await store.create(new)
        except ConflictError:
            record = await store.resume(task_id)
        opened = cls(store, record, artifacts, folder)
        await opened._declare()
        return opened

    async def look(self) -> Assessment:
        """Hold the record against the documents and the files as they are now."""
        found = await self._assess()
        if self.record.status == "done" and not found.complete:
            await self._save(change(self.record, SetStatus(status="open")))
            found = await self._assess()
        return found

    def artifact(self, unit_id: str) -> Artifact | None:
        """The recorded artifact of a unit."""
        name = self.record.completion_rule.units[unit_id].artifact
        return None if name is None else self.record.artifacts[name]

    def is_ready(self, unit_id: str) -> bool:
        """Whether all that a unit is made from is verified."""
        units = self.record.completion_rule.units
        return all(units[below].state == "verified" for below in units[unit_id].units)

    async def see(self, step: Transition) -> None:
        """Record a source as it is now."""
        await self.apply(step, SeenState(source=self._sources[step.subject]))

    async def take_in(self, step: Transition, location: str, content: bytes) -> None:
        """Record an artifact that lies at a location: unchecked, made from what its unit is made from now."""
        artifact = Artifact(
            location=location,
            sha256=digest(content),
            size=len(content),
            made_from=inputs_of(self.record, step.subject),
            covers=tuple(self.record.criteria.items) if step.subject == COMPARISON_UNIT else (),
            made_at=self._store.clock(),
        )
        await self.apply(step, Made(artifact_id=f"{step.subject}@{digest(content)[:12]}", artifact=artifact))

    async def check(self, step: Transition) -> Verification:
        """Run the unit's verifier on its artifact and record how that ended."""
        verified = await self._verifiers.verify(self.record, step.subject, self._artifacts.out)
        await self.apply(step, verified)
        return verified.verification

    async def complete(self) -> Assessment:
        """End the task if an assessment finds nothing missing; that assessment."""
        found = await self._assess()
        if found.complete and self.record.status == "open":
            await self.apply(Transition(op="complete", subject=self.record.task_id), found)
        await self._store.prune(self.record.task_id, keep=KEPT_VERSIONS)
        return found

    async def apply(self, step: Transition, evidence: Evidence) -> None:
        """Take a transition and save what it gives."""
        await self._save(apply(self.record, step, evidence))

    def free_place(self, location: str) -> str:
        """Where a new artifact goes: over nothing that is still there as it was recorded."""
        earlier = [entry.artifact for entry in self.record.superseded]
        known = {(each.location, each.sha256) for each in [*self.record.artifacts.values(), *earlier]}
        head, _, tail = location.rpartition(".")
        for place in chain([location], (f"{head}-{number}.{tail}" for number in count(2))):
            content = self._artifacts.read(place)
            if content is None or (place, digest(content)) not in known:
                break
        return place

    async def _declare(self) -> None:
        known = self.record.sources
        sources = {name: source for name, source in self._sources.items() if _is_new(known.get(name))}
        for name, source in known.items():
            if name not in self._sources and source.nature == "current":
                # Nobody can look at a withdrawn document any more: what was seen last is history.
                sources[name] = source.model_copy(update={"nature": "fixed"})
        blank: dict[str, Any] = {"artifact": None, "state": "pending", "begun": None}
        have = {name: unit.model_copy(update=blank) for name, unit in self.record.completion_rule.units.items()}
        if sources or have != self._units:
            required = NewUnits(units=self._units, sources=sources, covering=(COMPARISON_UNIT,))
            await self._save(change(self.record, required))

    async def _assess(self) -> Assessment:
        own = self._artifacts.own_names()
        others = [glob.escape(path.name) for path in self._artifacts.out.iterdir() if path.name not in own]
        seen = {
            name: partial(SeenSource, version=source.version, sha256=source.sha256)
            for name, source in self._sources.items()
        }
        probes = FileProbe(self._artifacts.out, ignore=others), CallableProbe(sources=seen)
        return assess(self.record, await observe(self.record, *probes, clock=self._store.clock))

    async def _save(self, record: RestartRecord) -> None:
        self.record = await self._store.save(record)


def _is_new(known: Source | None) -> bool:
    return known is None or known.nature == "fixed"
