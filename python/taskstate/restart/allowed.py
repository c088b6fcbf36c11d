"""What a restart record allows, whatever is observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import MadeFrom, Version

if TYPE_CHECKING:
    from .record import RestartRecord


def allowed(record: RestartRecord) -> tuple[str, ...]:
    """The transitions that `apply` takes now, as `operation:subject`. A plan says which of them are due."""
    # What became of an external write may be told at any time, also after the task was paused or given up.
    keys = [f"reconcile:{effect_id}" for effect_id in record.pending_effects]
    if record.status != "open":
        return tuple(keys)
    units = record.completion_rule.units
    keys += [f"observe:{source_id}" for source_id, source in record.sources.items() if source.nature == "current"]
    for unit_id, unit in units.items():
        if unit.state == "pending":
            keys += [f"make:{unit_id}", f"attach:{unit_id}"]
        else:
            keys += [f"validate:{unit_id}", f"recheck:{unit_id}", f"remake:{unit_id}"]
    unsettled = any(not effect.settled for effect in record.pending_effects.values())
    if units and not unsettled and all(unit.state == "verified" for unit in units.values()):
        keys.append(f"complete:{record.task_id}")
    return tuple(keys)


def inputs_of(record: RestartRecord, unit_id: str) -> MadeFrom:
    """What a unit has to be made from now: sources at the versions wanted, verified artifacts of the units below it.

    The `made_from` of the artifact that a `make` or `remake` gives. Raises KeyError for a unit that isn't there.
    """
    unit = record.completion_rule.units[unit_id]
    below = {name: record.completion_rule.units[name] for name in unit.units}
    return MadeFrom(
        sources={source_id: wanted_version(record, source_id) for source_id in unit.sources},
        artifacts={
            name: record.artifacts[lower.artifact].sha256
            for name, lower in below.items()
            if lower.artifact is not None and lower.state == "verified"
        },
        objective=record.objective.version,
        criteria=record.criteria.version,
    )


def wanted_version(record: RestartRecord, source_id: str) -> Version:
    """The version of a source that the objective is about: the one that it names, or the one last seen."""
    return record.objective.scope.versions.get(source_id, record.sources[source_id].version)
