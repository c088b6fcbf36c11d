"""Hold a restart record against what is there now: a pure function of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .assessment import Assessment, Freshness, Item, Missing, Verdict
from .judge import Judge, integrity_of, prior_of
from .observed import Observed
from .parts import Artifact, Effect, Source
from .record import RestartRecord

CONTRADICTS = "contradicts what is recorded"


def assess(record: RestartRecord, observed: Observed) -> Assessment:
    """What is to become of each unit, artifact, file and effect, by which record, and whether the task is done.

    The same record and observation give the same assessment. Source: the restart lesson.
    """
    units: dict[str, Item] = {}
    for unit_id in record.order():
        units[unit_id] = Judge(record, observed, units).unit(unit_id)
    units.update(_uncovering(record, units))
    known = _known_locations(record)
    items = (
        *(_source(source_id, source, observed) for source_id, source in record.sources.items()),
        *units.values(),
        *_unused_artifacts(record, observed),
        *(_superseded(entry.id, entry.because, entry.artifact, observed) for entry in record.superseded),
        *(_orphan(location) for location in observed.unindexed if location not in known),
        *(_effect(effect_id, effect, observed) for effect_id, effect in record.pending_effects.items()),
    )
    missing = tuple(_missing(record, units, items))
    return Assessment(
        task_id=record.task_id,
        state_version=record.state_version,
        generation=record.generation,
        record_sha256=record.sha256(),
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
    altered = seen is not None and None not in (seen.sha256, source.sha256) and seen.sha256 != source.sha256
    if now == source.version and not altered:
        return Item(kind="source", id=source_id, verdict="keep", freshness="current", because=(recorded, "and now"))
    if seen is None:
        return Item(kind="source", id=source_id, verdict="stale", freshness="gone", because=(recorded, "gone now"))
    told = f"now it is at version {now}" + (" with another hash" if now == source.version else "")
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
    if not effect.settled:
        verdict = "reconcile"
    elif seen is not None and seen.state not in (effect.state, "unknown"):
        verdict = "reconcile"
        told = (*told, CONTRADICTS)
    because = (
        f"effect:{effect_id} is {effect.state}",
        *((f"evidence:{effect.evidence}",) if effect.evidence else ()),
        *told,
    )
    return Item(kind="effect", id=effect_id, verdict=verdict, because=because)


def _known_locations(record: RestartRecord) -> set[str]:
    known = {artifact.location for artifact in record.artifacts.values()}
    return known | {entry.artifact.location for entry in record.superseded}


def _uncovered(record: RestartRecord, units: Mapping[str, Item]) -> list[str]:
    """The criteria that no artifact that is kept covers, where some have to."""
    covered: set[str] = set()
    for unit_id in record.completion_rule.covering:
        unit = record.completion_rule.units[unit_id]
        if unit.artifact is not None and units[unit_id].verdict == "keep":
            covered.update(record.artifacts[unit.artifact].covers)
    wanted = record.criteria.items if record.completion_rule.covering else ()
    return [criterion for criterion in wanted if criterion not in covered]


def _uncovering(record: RestartRecord, units: Mapping[str, Item]) -> dict[str, Item]:
    """The units that leave criteria uncovered though each would be kept by itself, judged anew."""
    covering = record.completion_rule.covering
    uncovered = _uncovered(record, units)
    if not uncovered or any(units[unit_id].verdict != "keep" for unit_id in covering):
        return {}
    because = tuple(f"criterion:{criterion} isn't covered" for criterion in uncovered)
    return {
        unit_id: units[unit_id].model_copy(update={"verdict": "redo", "because": (*units[unit_id].because, *because)})
        for unit_id in covering
    }


def _missing(record: RestartRecord, units: Mapping[str, Item], items: Iterable[Item]) -> Iterator[Missing]:
    for unit_id, item in units.items():
        if item.verdict != "keep":
            yield Missing(what="unit", id=unit_id, reason=item.verdict)
    for criterion in _uncovered(record, units):
        yield Missing(what="criterion", id=criterion, reason="not covered")
    for item in items:
        if item.kind == "effect" and item.verdict == "reconcile":
            yield Missing(what="effect", id=item.id, reason="not reconciled")
