"""What an application or its user declares: other objectives, criteria and units, authorizations, effects, notes."""

from __future__ import annotations

from typing import Any

from ..errors import TransitionError
from .apply import shown, updated, with_unit
from .frozen import frozen
from .parts import Criteria, Effect, Objective, Superseded, Unit
from .record import RestartRecord, has_passed
from .transitions import (
    Authorize,
    BeginEffect,
    BeginUnit,
    Change,
    LoseEffect,
    NewCriteria,
    NewObjective,
    NewUnits,
    Notes,
    SetStatus,
)


def change(record: RestartRecord, declared: Change) -> RestartRecord:
    """The record after what somebody declared; the given one stays as it is.

    A new objective or new criteria are a new version: the old one and all evidence stay. A task that was done is open
    again when what it is held against changes. Raises TransitionError, and InvalidRecordError where the result would
    be no record.
    """
    try:
        return _changed(record, declared)
    except TransitionError as error:
        raise shown(error) from None


def _changed(record: RestartRecord, declared: Change) -> RestartRecord:
    if isinstance(declared, SetStatus):
        return _set_status(record, declared)
    if record.status == "abandoned" and not isinstance(declared, LoseEffect):
        raise TransitionError(type(declared).__name__, "the task is abandoned")
    match declared:
        case NewObjective():
            return _new_objective(record, declared)
        case NewCriteria():
            return _new_criteria(record, declared)
        case NewUnits():
            return _new_units(record, declared)
        case Notes():
            return _notes(record, declared)
        case Authorize():
            return updated(record, authorized=declared.authorized)
        case BeginEffect():
            return _begin_effect(record, declared)
        case LoseEffect():
            return _lose_effect(record, declared)
        case BeginUnit():
            return _begin_unit(record, declared)
        case _:
            raise TransitionError(type(declared).__name__, "is no change that can be declared")


def _reopened(record: RestartRecord) -> dict[str, Any]:
    return {"status": "open"} if record.status == "done" else {}


def _new_objective(record: RestartRecord, declared: NewObjective) -> RestartRecord:
    version = record.objective.version + 1
    objective = Objective(version=version, text=declared.text, scope=declared.scope, since=declared.at)
    history = (*record.objective_history, record.objective)
    fields = {"objective": objective, "objective_history": history, "next_step": None, **_reopened(record)}
    return updated(record, widened=True, **fields)


def _new_criteria(record: RestartRecord, declared: NewCriteria) -> RestartRecord:
    criteria = Criteria(version=record.criteria.version + 1, items=declared.items, since=declared.at)
    history = (*record.criteria_history, record.criteria)
    fields = {"criteria": criteria, "criteria_history": history, "next_step": None, **_reopened(record)}
    return updated(record, widened=True, **fields)


def _new_units(record: RestartRecord, declared: NewUnits) -> RestartRecord:
    before = record.completion_rule.units
    units = {unit_id: _kept(record, unit_id, unit) for unit_id, unit in declared.units.items()}
    artifacts = dict(record.artifacts)
    superseded = record.superseded
    for unit_id, unit in before.items():
        if unit_id not in units and unit.artifact is not None:
            gone = Superseded(id=unit.artifact, artifact=artifacts.pop(unit.artifact), because="no longer required")
            superseded = (*superseded, gone)
    covering = declared.covering
    if covering is None:
        covering = tuple(unit_id for unit_id in record.completion_rule.covering if unit_id in units)
    rule = record.completion_rule.model_copy(update={"units": frozen(units), "covering": covering})
    sources = {**record.sources, **declared.sources}
    return updated(
        record,
        widened=True,
        next_step=None,
        sources=sources,
        artifacts=artifacts,
        superseded=superseded,
        completion_rule=rule,
        **_reopened(record),
    )


def _kept(record: RestartRecord, unit_id: str, unit: Unit) -> Unit:
    """A required unit with what it has; by another verifier than its check's it isn't verified any more."""
    if unit.artifact is not None:
        raise TransitionError("NewUnits", "a unit gets its artifact by a transition")
    before = record.completion_rule.units.get(unit_id)
    if before is None or before.artifact is None:
        return unit.model_copy(update={"begun": None if before is None else before.begun})
    state = "verified" if has_passed(unit, record.artifacts[before.artifact]) else "present"
    return unit.model_copy(update={"artifact": before.artifact, "state": state, "begun": before.begun})


def _notes(record: RestartRecord, declared: Notes) -> RestartRecord:
    unresolved = (*(issue for issue in record.unresolved if issue.id not in declared.resolved), *declared.unresolved)
    return updated(
        record,
        decisions=(*record.decisions, *declared.decisions),
        unresolved=unresolved,
        hypotheses=(*record.hypotheses, *declared.hypotheses),
        failed_attempts=(*record.failed_attempts, *declared.failed_attempts),
        next_step=declared.next_step or record.next_step,
        phase=record.phase if declared.phase is None else declared.phase,
    )


def _begin_effect(record: RestartRecord, declared: BeginEffect) -> RestartRecord:
    effect = declared.effect
    key = f"BeginEffect:{declared.effect_id}"
    if record.status != "open":
        raise TransitionError(key, f"the task is {record.status}")
    if not any(each.kind == effect.kind and each.target in (None, effect.target) for each in record.authorized):
        raise TransitionError(key, f"writes of kind {effect.kind} aren't authorized; see `authorized` and Authorize")
    if effect.state != "pending":
        raise TransitionError(key, "an effect begins as pending")
    if declared.effect_id in record.pending_effects:
        state = record.pending_effects[declared.effect_id].state
        raise TransitionError(key, f"the effect is recorded already, as {state}; a new attempt has an id of its own")
    for other_id, other in record.pending_effects.items():
        if other.idempotency_key == effect.idempotency_key and other.state != "not_applied":
            raise TransitionError(key, f"effect {other_id} has this idempotency key, and is {other.state}")
        asked = (other.kind, other.target, other.request_hash) == (effect.kind, effect.target, effect.request_hash)
        if asked and not other.settled:
            raise TransitionError(key, f"effect {other_id} asked for the same, and isn't reconciled")
    return updated(record, widened=True, pending_effects={**record.pending_effects, declared.effect_id: effect})


def _lose_effect(record: RestartRecord, declared: LoseEffect) -> RestartRecord:
    key = f"LoseEffect:{declared.effect_id}"
    effect = record.pending_effects.get(declared.effect_id)
    if effect is None:
        raise TransitionError(key, "no such effect")
    if effect.settled:
        raise TransitionError(key, "the effect is settled by evidence")
    lost = Effect(**{**dict(effect), "state": "unknown"})
    return updated(record, widened=True, pending_effects={**record.pending_effects, declared.effect_id: lost})


def _begin_unit(record: RestartRecord, declared: BeginUnit) -> RestartRecord:
    if record.status != "open":
        raise TransitionError(f"BeginUnit:{declared.unit_id}", f"the task is {record.status}")
    if declared.unit_id not in record.completion_rule.units:
        raise TransitionError(f"BeginUnit:{declared.unit_id}", "no such unit")
    return updated(record, **with_unit(record, declared.unit_id, begun=record.generation))


def _set_status(record: RestartRecord, declared: SetStatus) -> RestartRecord:
    if record.status == "abandoned" or (record.status == "done" and declared.status != "open"):
        raise TransitionError(f"SetStatus:{declared.status}", f"the task is {record.status}")
    return updated(record, status=declared.status)
