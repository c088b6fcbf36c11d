"""The only ways to change a restart record: a transition with its evidence, and a change that somebody declares."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from ..errors import ContradictionError, TransitionError
from .allowed import allowed, wanted_version
from .assessment import Assessment
from .frozen import frozen
from .parts import Artifact, Effect, Superseded, Unit
from .record import RestartRecord, invalid
from .secrets import redact_text
from .transitions import Evidence, Made, SeenState, SettledEffect, Transition, Verified

_Evidence = TypeVar("_Evidence")


def apply(record: RestartRecord, transition: Transition, evidence: Evidence) -> RestartRecord:
    """The record after a transition, by its evidence; the given one stays as it is.

    Raises TransitionError for a transition that the record doesn't allow now, for evidence of another kind, for an
    artifact that wasn't made from what the objective is about or says that it was checked already, for a check of
    other bytes, and for a completion that no assessment of this very record found; ContradictionError where a
    settled effect is said to have ended otherwise.
    """
    try:
        return _applied(record, transition, evidence)
    except TransitionError as error:
        raise shown(error) from None


def shown(error: TransitionError) -> TransitionError:
    """The same error without what looks like a secret in the ids that it names."""
    return type(error)(redact_text(error.transition), redact_text(error.reason))


def _applied(record: RestartRecord, transition: Transition, evidence: Evidence) -> RestartRecord:
    if transition.key not in (record.next_allowed or ()):
        raise TransitionError(transition.key, "not allowed now")
    match transition.op:
        case "reconcile":
            return _reconcile(record, transition, _expect(transition, evidence, SettledEffect))
        case "observe":
            return _observe(record, transition, _expect(transition, evidence, SeenState))
        case "make" | "remake" | "attach":
            return _make(record, transition, _expect(transition, evidence, Made))
        case "validate" | "recheck":
            return _validate(record, transition, _expect(transition, evidence, Verified))
        case "complete":
            return _complete(record, transition, _expect(transition, evidence, Assessment))


def updated(record: RestartRecord, *, widened: bool = False, **fields: Any) -> RestartRecord:
    """A checked record with other fields. Raises InvalidRecordError.

    It allows what follows from it where it is `widened`, else no more of that than a list that was given allows.
    """
    given = {name: getattr(record, name) for name in type(record).model_fields}
    try:
        changed = RestartRecord(**{**given, "next_allowed": None, **fields})
    except ValidationError as error:
        raise invalid(error) from None
    if widened or record.next_allowed == allowed(record):
        return changed
    kept = tuple(key for key in changed.next_allowed or () if key in (record.next_allowed or ()))
    return changed.model_copy(update={"next_allowed": kept})


def with_unit(record: RestartRecord, unit_id: str, **fields: Any) -> dict[str, Any]:
    """The completion rule with other fields of one unit, as a field of a record."""
    units = record.completion_rule.units
    changed = frozen({**units, unit_id: units[unit_id].model_copy(update=fields)})
    return {"completion_rule": record.completion_rule.model_copy(update={"units": changed})}


def _expect(transition: Transition, evidence: Any, kind: type[_Evidence]) -> _Evidence:
    if type(evidence) is not kind:
        raise TransitionError(transition.key, f"its evidence is a {kind.__name__}, not {type(evidence).__name__}")
    return evidence


def _reconcile(record: RestartRecord, transition: Transition, settled: SettledEffect) -> RestartRecord:
    effect = record.pending_effects[transition.subject]
    if effect.settled:
        if effect.state != settled.state:
            raise ContradictionError(transition.key, f"recorded as {effect.state}, now said to be {settled.state}")
        return record
    told = Effect(**{**dict(effect), "state": settled.state, "evidence": settled.evidence})
    return updated(record, widened=True, pending_effects={**record.pending_effects, transition.subject: told})


def _observe(record: RestartRecord, transition: Transition, seen: SeenState) -> RestartRecord:
    if seen.source.nature != "current":
        raise TransitionError(transition.key, "an observed source is a current one")
    return updated(record, widened=True, sources={**record.sources, transition.subject: seen.source})


def _make(record: RestartRecord, transition: Transition, made: Made) -> RestartRecord:
    unit = record.completion_rule.units[transition.subject]
    artifact = made.artifact
    if artifact.verification.state != "none" or artifact.earlier_checks:
        raise TransitionError(transition.key, "a new artifact is unchecked until a validate transition has run")
    _check_inputs(record, transition, unit, artifact)
    if made.artifact_id in record.artifacts and made.artifact_id != unit.artifact:
        units = record.completion_rule.units
        owner = next((f"unit {name}" for name, other in units.items() if other.artifact == made.artifact_id), "no unit")
        raise TransitionError(transition.key, f"artifact {made.artifact_id} is there already, and belongs to {owner}")
    superseded = record.superseded
    artifacts = dict(record.artifacts)
    if unit.artifact is not None:
        because = "; ".join(transition.because) or "made anew"
        superseded = (*superseded, Superseded(id=unit.artifact, artifact=artifacts.pop(unit.artifact), because=because))
    artifacts[made.artifact_id] = artifact
    rule = with_unit(record, transition.subject, artifact=made.artifact_id, state="present", begun=None)
    # What the last worker meant to do next was said before this was there.
    return updated(record, widened=True, artifacts=artifacts, superseded=superseded, next_step=None, **rule)


def _check_inputs(record: RestartRecord, transition: Transition, unit: Unit, artifact: Artifact) -> None:
    """Whether an artifact was made from what the objective is about now."""
    made = artifact.made_from
    versions = (record.objective.version, record.criteria.version)
    if (made.objective, made.criteria) != versions:
        raise TransitionError(transition.key, "it was made for another version of the objective or the criteria")
    if elsewhere := made.sources.keys() - record.sources.keys():
        raise TransitionError(transition.key, f"it was made from {', '.join(sorted(elsewhere))}, which are no sources")
    for source_id in (*unit.sources, *made.sources):
        wanted = wanted_version(record, source_id)
        if made.sources.get(source_id) != wanted:
            raise TransitionError(transition.key, f"it wasn't made from source {source_id} at version {wanted}")
    for below in unit.units:
        lower = record.completion_rule.units[below]
        taken = made.artifacts.get(below)
        if taken is None and unit.partial:
            continue
        there = None if lower.artifact is None else record.artifacts[lower.artifact]
        if there is None or lower.state != "verified" or there.sha256 != taken:
            raise TransitionError(transition.key, f"it wasn't made from the verified artifact of unit {below}")
        for source_id, version in there.made_from.sources.items():
            if version != wanted_version(record, source_id):
                raise TransitionError(transition.key, f"unit {below} is of another version of source {source_id}")
    if unknown := made.artifacts.keys() - set(unit.units):
        raise TransitionError(
            transition.key, f"it was made from {', '.join(sorted(unknown))}, which the unit doesn't name"
        )


def _validate(record: RestartRecord, transition: Transition, verified: Verified) -> RestartRecord:
    unit = record.completion_rule.units[transition.subject]
    check = verified.verification
    assert unit.artifact is not None
    artifact = record.artifacts[unit.artifact]
    if check.state == "none":
        raise TransitionError(transition.key, "no check was made")
    if check.sha256 != artifact.sha256:
        raise TransitionError(transition.key, "the check was made on other bytes")
    if (check.criteria, check.objective) != (record.criteria.version, record.objective.version):
        raise TransitionError(transition.key, "the check was made by other criteria or for another objective")
    before = artifact.verification
    if before.at is not None and check.at is not None and check.at < before.at:
        raise TransitionError(transition.key, "the check is older than the one on record")
    if unit.verifier is not None and check.verifier != unit.verifier:
        raise TransitionError(transition.key, f"the unit has to be checked by {unit.verifier}")
    earlier = artifact.earlier_checks if before.state == "none" else (*artifact.earlier_checks, before)
    checked = artifact.model_copy(update={"verification": check, "earlier_checks": earlier})
    artifacts = {**record.artifacts, unit.artifact: checked}
    state = "verified" if check.state == "passed" else "present"
    rule = with_unit(record, transition.subject, state=state)
    return updated(record, widened=True, artifacts=artifacts, next_step=None, **rule)


def _complete(record: RestartRecord, transition: Transition, found: Assessment) -> RestartRecord:
    if found.record_sha256 != record.sha256():
        raise TransitionError(transition.key, "the assessment is one of another record, or of this one before a change")
    kept = {item.id for item in found.items if item.kind == "unit" and item.verdict == "keep"}
    if not found.complete or found.missing or kept != set(record.completion_rule.units):
        missing = ", ".join(f"{entry.what} {entry.id}: {entry.reason}" for entry in found.missing)
        raise TransitionError(transition.key, f"missing: {missing or 'the verdict on every unit'}")
    return updated(record, widened=True, status="done")
