"""Hold a restart record against what is there now: a pure function of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .assessment import Assessment, Freshness, InScope, Integrity, Item, Missing, Verdict
from .observed import Observed
from .parts import Artifact, Effect, Source, Unit, Version
from .record import RestartRecord


def assess(record: RestartRecord, observed: Observed) -> Assessment:
    """What is to become of each unit, artifact, file and effect, by which record, and whether the task is done.

    The same record and observation give the same assessment. Source: the restart lesson.
    """
    units: dict[str, Item] = {}
    for unit_id in record.order():
        units[unit_id] = _Judge(record, observed, units).unit(unit_id)
    items = (
        *(_source(source_id, source, observed) for source_id, source in record.sources.items()),
        *units.values(),
        *_unused_artifacts(record, observed),
        *(_superseded(entry.id, entry.because, entry.artifact, observed) for entry in record.superseded),
        *(_orphan(location) for location in observed.unindexed),
        *(_effect(effect_id, effect, observed) for effect_id, effect in record.pending_effects.items()),
    )
    missing = tuple(_missing(record, items))
    return Assessment(
        task_id=record.task_id,
        state_version=record.state_version,
        generation=record.generation,
        at=observed.now,
        status=record.status,
        scope=describe_scope(record),
        items=items,
        complete=not missing and bool(units),
        missing=missing,
        unresolved=tuple(f"{issue.id}: {issue.text}" for issue in record.unresolved),
    )


def describe_scope(record: RestartRecord) -> str:
    """Which versions of its sources the objective is about, in words."""
    objective = record.objective
    if objective.scope.kind == "latest":
        return f"objective {objective.version}, the latest state of its sources"
    versions = ", ".join(f"{source_id} at version {version}" for source_id, version in objective.scope.versions.items())
    return f"objective {objective.version}, the earlier state of its sources: {versions}"


@dataclass(frozen=True)
class _Judge:
    """Judges one unit, after those that it is made from."""

    record: RestartRecord
    observed: Observed
    judged: dict[str, Item]

    def unit(self, unit_id: str) -> Item:
        unit = self.record.completion_rule.units[unit_id]
        if unit.artifact is None:
            return self._pending(unit_id, unit)
        artifact = self.record.artifacts[unit.artifact]
        integrity = integrity_of(artifact, self.observed)
        freshness, scope, moved = self._sources(artifact, unit)
        verdict, reasons = self._verdict(unit, artifact, integrity, freshness, scope, moved)
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
        )

    def _pending(self, unit_id: str, unit: Unit) -> Item:
        because = [f"unit:{unit_id} has no artifact"]
        if unit.begun is not None and unit.begun != self.record.generation:
            because.append(f"begun by generation {unit.begun}, which is gone")
        found = unit.location if unit.location in self.observed.unindexed else None
        if found is not None:
            because.append(f"file:{found} is there without a record")
        return Item(
            kind="unit",
            id=unit_id,
            verdict="pending",
            because=tuple(because),
            made_from=unit.units,
            fresh_inputs=self._fresh_inputs(unit, None),
            found_at=found,
        )

    def _fresh_inputs(self, unit: Unit, artifact: Artifact | None) -> tuple[str, ...]:
        """The units below a partial one that are there and not in its artifact, while others aren't there."""
        there = [below for below in unit.units if self.judged[below].verdict in ("keep", "validate", "recheck")]
        if not unit.partial or len(there) == len(unit.units):
            return ()
        taken_in = {} if artifact is None else artifact.made_from.artifacts
        return tuple(below for below in there if taken_in.get(below) != self._hash_of(below))

    def _hash_of(self, unit_id: str) -> str | None:
        artifact_id = self.record.completion_rule.units[unit_id].artifact
        return None if artifact_id is None else self.record.artifacts[artifact_id].sha256

    def _verdict(
        self,
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
        if check.state == "failed":
            return "redo", [
                f"failed {check.verifier}@{check.verifier_version}: {check.reason}",
                f"evidence:{check.evidence}",
            ]
        if scope == "out" or freshness == "expired":
            return "stale", moved
        if upstream := self._upstream(unit, artifact):
            return "redo", upstream
        unchecked = check.state == "none" or check.sha256 != artifact.sha256
        if unchecked or integrity == "not_seen" or freshness == "not_seen":
            reasons = [f"{where} wasn't looked at"] if integrity == "not_seen" else []
            reasons += ["unchecked"] if unchecked else []
            return "validate", reasons + moved
        checked = f"passed {check.verifier}@{check.verifier_version}"
        if check.criteria != self.record.criteria.version:
            made = f"checked under criteria {check.criteria}, now {self.record.criteria.version}"
            return "recheck", [checked, made]
        return "keep", [checked, f"{where} matches its hash", *moved]

    def _sources(self, artifact: Artifact, unit: Unit) -> tuple[Freshness, InScope, list[str]]:
        """Freshness and scope of what an artifact was made from, and what speaks for either."""
        scope: InScope = "in"
        freshness: Freshness = "fixed" if artifact.nature == "fixed" else "current"
        because: list[str] = []
        for source_id in dict.fromkeys((*unit.sources, *artifact.made_from.sources)):
            made = artifact.made_from.sources.get(source_id)
            state, now = _state_of(source_id, self.record.sources.get(source_id), self.observed)
            wanted = self.record.objective.scope.versions.get(source_id)
            by_name = wanted is not None
            if made is None:
                scope = "out"
                because.append(f"source:{source_id} isn't among what it was made from")
                continue
            if by_name and made != wanted:
                scope = "out"
                because.append(
                    f"source:{source_id} was version {made}, objective {self.record.objective.version} names {wanted}"
                )
            if state == "fixed":
                continue
            if state == "not_seen":
                freshness = freshness if by_name else "not_seen"
                because.append(f"source:{source_id} wasn't looked at")
            elif now != made:
                freshness = "moved"
                because.append(f"source:{source_id} was version {made}, now {now}")
                scope = scope if by_name else "out"
            elif freshness == "fixed":
                freshness = "current"
        if (
            artifact.nature == "current"
            and artifact.expires_at is not None
            and artifact.expires_at <= self.observed.now
        ):
            freshness = "expired"
            because.append(f"expired at {artifact.expires_at}")
        return freshness, scope, because

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


def _state_of(source_id: str, source: Source | None, observed: Observed) -> tuple[str, Version | None]:
    """Whether a source is `fixed`, `seen` (with its version now) or `not_seen`."""
    if source is not None and source.nature == "fixed":
        return "fixed", source.version
    seen = observed.sources.get(source_id)
    if seen is not None:
        return "seen", seen.version
    if source_id in observed.sources:
        return "seen", None
    return "not_seen", None


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


def _source(source_id: str, source: Source, observed: Observed) -> Item:
    recorded = f"source:{source_id} is recorded at version {source.version}"
    if source.nature == "fixed":
        return Item(kind="source", id=source_id, verdict="keep", freshness="fixed", because=(recorded,))
    if source_id not in observed.sources:
        expired = source.expires_at is not None and source.expires_at <= observed.now
        told = f"what was seen expired at {source.expires_at}" if expired else "it wasn't looked at"
        freshness: Freshness = "expired" if expired else "not_seen"
        return Item(kind="source", id=source_id, verdict="validate", freshness=freshness, because=(recorded, told))
    seen = observed.sources[source_id]
    now = None if seen is None else seen.version
    if now == source.version:
        return Item(kind="source", id=source_id, verdict="keep", freshness="current", because=(recorded, "and now"))
    told = "it isn't there now" if seen is None else f"now it is at version {now}"
    return Item(kind="source", id=source_id, verdict="stale", freshness="moved", because=(recorded, told))


def _unused_artifacts(record: RestartRecord, observed: Observed) -> Iterator[Item]:
    used = {unit.artifact for unit in record.completion_rule.units.values()}
    for artifact_id, artifact in record.artifacts.items():
        if artifact_id not in used:
            yield Item(
                kind="artifact",
                id=artifact_id,
                verdict="history",
                integrity=integrity_of(artifact, observed),
                prior=prior_of(artifact),
                because=(f"artifact:{artifact_id} belongs to no required unit",),
            )


def _superseded(artifact_id: str, reason: str, artifact: Artifact, observed: Observed) -> Item:
    return Item(
        kind="superseded",
        id=artifact_id,
        verdict="history",
        integrity=integrity_of(artifact, observed),
        freshness="moved",
        scope="out",
        prior=prior_of(artifact),
        because=(reason,),
    )


def _orphan(location: str) -> Item:
    return Item(
        kind="file",
        id=location,
        verdict="orphan",
        integrity="none",
        because=(f"file:{location} is named by no record",),
    )


def _effect(effect_id: str, effect: Effect, observed: Observed) -> Item:
    seen = observed.effects.get(effect_id)
    told = (
        () if seen is None else (f"observed: {seen.state}" + (f", evidence:{seen.evidence}" if seen.evidence else ""),)
    )
    verdict: Verdict = "settled"
    if effect.state in ("pending", "unknown"):
        verdict = "reconcile"
    elif seen is not None and seen.state not in (effect.state, "unknown"):
        verdict = "reconcile"
        told = (*told, "contradicts what is recorded")
    because = (
        f"effect:{effect_id} is {effect.state}",
        *((f"evidence:{effect.evidence}",) if effect.evidence else ()),
        *told,
    )
    return Item(kind="effect", id=effect_id, verdict=verdict, because=because)


def _missing(record: RestartRecord, items: tuple[Item, ...]) -> Iterator[Missing]:
    by_unit = {item.id: item for item in items if item.kind == "unit"}
    for unit_id, item in by_unit.items():
        if item.verdict != "keep":
            yield Missing(what="unit", id=unit_id, reason=item.verdict)
    covered: set[str] = set()
    for unit_id in record.completion_rule.covering:
        unit = record.completion_rule.units[unit_id]
        if unit.artifact is not None and by_unit[unit_id].verdict == "keep":
            covered.update(record.artifacts[unit.artifact].covers)
    if record.completion_rule.covering:
        for criterion in record.criteria.items:
            if criterion not in covered:
                yield Missing(what="criterion", id=criterion, reason="not covered")
    for item in items:
        if item.kind == "effect" and item.verdict == "reconcile":
            yield Missing(what="effect", id=item.id, reason="not reconciled")
