"""Judge a required unit of a task, after those that it is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .assessment import Freshness, InScope, Integrity, Item, Verdict
from .observed import Observed, SeenSource
from .parts import Artifact, Source, Unit, Version
from .record import RestartRecord, has_passed


@dataclass(frozen=True)
class Judge:
    """Holds a unit of a record against what is observed; `judged` are the units below it."""

    record: RestartRecord
    observed: Observed
    judged: Mapping[str, Item]

    def unit(self, unit_id: str) -> Item:
        """The verdict on a unit."""
        unit = self.record.completion_rule.units[unit_id]
        if unit.artifact is None:
            return self._pending(unit_id, unit)
        artifact = self.record.artifacts[unit.artifact]
        integrity = integrity_of(artifact, self.observed)
        freshness, scope, moved = self._sources(artifact, unit)
        verdict, reasons = self._verdict(unit_id, unit, artifact, integrity, freshness, scope, moved)
        return Item(
            kind="unit",
            id=unit_id,
            verdict=verdict,
            integrity=integrity,
            freshness=freshness,
            scope=scope,
            prior=prior_of(artifact),
            because=(f"artifact:{unit.artifact}", *reasons),
            made_from=unit.units,
            fresh_inputs=self._fresh_inputs(unit, artifact),
            blocked=verdict in ("redo", "stale") and self._is_blocked(unit),
        )

    def _pending(self, unit_id: str, unit: Unit) -> Item:
        because = [f"unit:{unit_id} has no artifact"]
        if unit.begun is not None and unit.begun != self.record.generation:
            because.append(f"begun by generation {unit.begun}, which is gone")
        found = unit.location if unit.location in self.observed.unindexed else None
        if found is not None:
            because.append(f"file:{found} is there without a record")
        gone = [source_id for source_id in unit.sources if self._is_gone(source_id)]
        because += [f"source:{source_id} isn't there now" for source_id in gone]
        return Item(
            kind="unit",
            id=unit_id,
            verdict="pending",
            freshness="gone" if gone else "none",
            because=tuple(because),
            made_from=unit.units,
            fresh_inputs=self._fresh_inputs(unit, None),
            found_at=found,
            blocked=self._is_blocked(unit),
        )

    def _is_blocked(self, unit: Unit) -> bool:
        """Whether a unit can't be made now: something that it is made from is gone, or can't be made either."""
        named = self.record.objective.scope.versions
        gone = any(self._is_gone(source_id) for source_id in unit.sources if source_id not in named)
        return gone or any(self.judged[below].blocked for below in unit.units)

    def _is_gone(self, source_id: str) -> bool:
        return source_id in self.observed.sources and self.observed.sources[source_id] is None

    def _fresh_inputs(self, unit: Unit, artifact: Artifact | None) -> tuple[str, ...]:
        """The units below a partial one that are there and not in its artifact, while others aren't there."""
        there = [below for below in unit.units if self.judged[below].verdict in ("keep", "validate", "recheck")]
        if not unit.partial or len(there) == len(unit.units) or any(map(self._is_gone, unit.sources)):
            return ()
        taken_in = {} if artifact is None else artifact.made_from.artifacts
        return tuple(below for below in there if taken_in.get(below) != self._hash_of(below))

    def _hash_of(self, unit_id: str) -> str | None:
        artifact_id = self.record.completion_rule.units[unit_id].artifact
        return None if artifact_id is None else self.record.artifacts[artifact_id].sha256

    def _verdict(
        self,
        unit_id: str,
        unit: Unit,
        artifact: Artifact,
        integrity: Integrity,
        freshness: Freshness,
        scope: InScope,
        moved: list[str],
    ) -> tuple[Verdict, list[str]]:
        check = artifact.verification
        where = f"file:{artifact.location}"
        if integrity in ("missing", "altered"):
            return "redo", [f"{where} is {integrity}"]
        if scope == "out" or freshness == "expired":
            return "stale", moved
        if upstream := self._upstream(unit, artifact):
            return "redo", upstream
        if earlier := self._earlier_rules(unit_id, artifact):
            return "recheck", earlier
        if check.state == "failed":
            told = f"failed {check.verifier}@{check.verifier_version}: {check.reason}"
            return "redo", [told, f"evidence:{check.evidence}"]
        unchecked = not has_passed(unit, artifact)
        if unchecked or integrity == "not_seen" or freshness == "not_seen":
            reasons = [f"{where} wasn't looked at"] if integrity == "not_seen" else []
            reasons += ["unchecked"] if unchecked else []
            return "validate", reasons + moved
        return "keep", [f"passed {check.verifier}@{check.verifier_version}", f"{where} matches its hash", *moved]

    def _earlier_rules(self, unit_id: str, artifact: Artifact) -> list[str]:
        """Why a check no longer counts though the bytes are the same: other criteria, or another objective.

        The objective matters to what has to cover the criteria: an extract says the same whatever it is wanted for.
        """
        check = artifact.verification
        if check.state == "none":
            return []
        told = f"{check.state} {check.verifier}@{check.verifier_version}"
        if check.criteria != self.record.criteria.version:
            return [told, f"checked under criteria {check.criteria}, now {self.record.criteria.version}"]
        objective = check.objective or artifact.made_from.objective
        if unit_id in self.record.completion_rule.covering and objective != self.record.objective.version:
            return [told, f"checked for objective {objective}, now {self.record.objective.version}"]
        return []

    def _sources(self, artifact: Artifact, unit: Unit) -> tuple[Freshness, InScope, list[str]]:
        """Freshness and scope of what an artifact was made from, and what speaks for either."""
        scope: InScope = "in"
        found: set[Freshness] = {"fixed" if artifact.nature == "fixed" else "current"}
        because: list[str] = []
        for source_id in dict.fromkeys((*unit.sources, *artifact.made_from.sources)):
            made = artifact.made_from.sources.get(source_id)
            if made is None:
                scope = "out"
                because.append(f"source:{source_id} isn't among what it was made from")
                continue
            named = self.record.objective.scope.versions.get(source_id)
            if named is not None and made != named:
                scope = "out"
                because.append(f"source:{source_id} was version {made}, the objective names {named}")
            fresh, now = self._freshness_of(source_id, made)
            if named is None or fresh != "not_seen":
                found.add(fresh)
            if fresh in ("moved", "gone"):
                scope = scope if named is not None else "out"
                same = " with another hash" if now == made else ""
                because.append(f"source:{source_id} was version {made}, now {'gone' if now is None else now}{same}")
            elif fresh == "not_seen":
                because.append(f"source:{source_id} wasn't looked at")
        expires = artifact.expires_at
        if expires is not None and expires <= self.observed.now:
            found.add("expired")
            because.append(f"expired at {expires}")
        return max(found, key=_FRESHNESS.index), scope, because

    def _freshness_of(self, source_id: str, made: Version) -> tuple[Freshness, Version | None]:
        """Whether a source still is what something was made from, and its version now."""
        source = self.record.sources.get(source_id)
        if source is not None and source.nature == "fixed":
            return "fixed" if source.version == made else "moved", source.version
        if source_id not in self.observed.sources:
            return "not_seen", None
        seen = self.observed.sources[source_id]
        if seen is None:
            return "gone", None
        same = seen.version == made and not _differ(source, seen)
        return "current" if same else "moved", seen.version

    def _upstream(self, unit: Unit, artifact: Artifact) -> list[str]:
        """Why what it was made from isn't what the units below it are now."""
        because = []
        for below in unit.units:
            made = artifact.made_from.artifacts.get(below)
            if made is None:
                because.append(f"unit:{below} isn't among what it was made from")
            elif made != self._hash_of(below):
                because.append(f"unit:{below} is another one now")
            elif self.judged[below].verdict in ("redo", "stale"):
                because.append(f"unit:{below} is to be made again")
        return because


_FRESHNESS: tuple[Freshness, ...] = ("none", "fixed", "current", "moved", "gone", "not_seen", "expired")
"""From what holds to what must be told first: one source that wasn't looked at leaves all open."""


def _differ(source: Source | None, seen: SeenSource) -> bool:
    """Whether a source says the same version of other bytes."""
    recorded = None if source is None or source.version != seen.version else source.sha256
    return recorded is not None and seen.sha256 is not None and recorded != seen.sha256


def integrity_of(artifact: Artifact, observed: Observed) -> Integrity:
    """Whether the bytes are there as they were recorded."""
    if artifact.location not in observed.files:
        return "not_seen"
    seen = observed.files[artifact.location]
    if seen is None:
        return "missing"
    return "intact" if (seen.sha256, seen.size) == (artifact.sha256, artifact.size) else "altered"


def prior_of(artifact: Artifact) -> str:
    """What is known of an artifact from before."""
    made = ", ".join(f"{source_id} version {version}" for source_id, version in artifact.made_from.sources.items())
    check = artifact.verification
    known = "unchecked" if check.state == "none" else f"{check.state} {check.verifier}@{check.verifier_version}"
    return f"{known}; made from {made}" if made else known
