"""The packet that hands a task over to a worker who has seen nothing of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import ConfigurationError, InvalidRecordError
from .assessment import Assessment, Item
from .packet import KIND, seal
from .parts import Artifact, Effect
from .plan import plan
from .record import RestartRecord
from .secrets import Mode, guard
from .transitions import Transition

_BY_NEED = {"validate": 0, "recheck": 0, "redo": 1, "stale": 1, "pending": 2, "keep": 3}
_GROUPS = {"keep": "verified", "validate": "to_check", "recheck": "to_check", "redo": "to_redo", "stale": "to_redo"}


def handoff(
    record: RestartRecord, assessment: Assessment, *, most: int | None = None, secrets: Mode = "redact"
) -> dict[str, Any]:
    """What a new worker needs, as plain JSON data; the same for the same record and assessment.

    `evidence` holds what is recorded and was seen: artifacts by what is verified, results, effects, sources.
    `hypotheses` and `next_step` are none. Each list holds at most `most` entries, the most urgent units and the newest
    notes; `coverage` says how many of how many. Effects that aren't settled, constraints, criteria and authorizations
    are never left out. `sha256` is the packet's own: `judge_handoff` finds a change, and what superseded the packet.

    What looks like a secret is redacted, or refused with SecretError. Raises InvalidRecordError for an assessment of
    another record. Source: the restart lesson, "Exercise and solution".
    """
    if most is not None and (type(most) is not int or most < 0):
        raise ConfigurationError("most is a number of entries, or None")
    _check_same(record, assessment)
    return seal(guard(_Packet(record, assessment, most).data(), secrets))


def _check_same(record: RestartRecord, assessment: Assessment) -> None:
    for name in ("task_id", "state_version", "generation"):
        if getattr(record, name) != getattr(assessment, name):
            raise InvalidRecordError([(f"assessment.{name}", "is another one than the record's")])
    if assessment.record_sha256 != record.sha256():
        raise InvalidRecordError([("assessment.record_sha256", "the record has changed since it was assessed")])


class _Packet:
    """Selects what goes into a packet, and counts what doesn't."""

    def __init__(self, record: RestartRecord, assessment: Assessment, most: int | None) -> None:
        self._record = record
        self._assessment = assessment
        self._most = most
        self._coverage: dict[str, dict[str, int]] = {}
        self._items = {
            kind: [item for item in assessment.items if item.kind == kind]
            for kind in ("source", "unit", "artifact", "superseded", "file", "effect")
        }

    def data(self) -> dict[str, Any]:
        """The packet without its hash."""
        record, assessment = self._record, self._assessment
        evidence = {
            "artifacts": self._artifacts(),
            "results": [_plain(attempt) for attempt in self._newest("results", record.failed_attempts)],
            "effects": self._effects(),
            "sources": [self._source(item) for item in self._first("sources", self._items["source"])],
        }
        transitions = plan(assessment).transitions
        due = [transition.key for transition in transitions]
        data = {
            "schemaVersion": 1,
            "kind": KIND,
            "task_id": record.task_id,
            "state_version": record.state_version,
            "record_sha256": record.sha256(),
            "generation": record.generation,
            "assessed_at": assessment.at,
            "status": record.status,
            "phase": record.phase,
            "complete": assessment.complete,
            "standing": standing(assessment),
            "missing": [_plain(missing) for missing in self._first("missing", assessment.missing)],
            "objective": {
                "version": record.objective.version,
                "text": record.objective.text,
                "scope": assessment.scope,
                "earlier_versions": [earlier.version for earlier in record.objective_history],
            },
            "criteria": {
                "version": record.criteria.version,
                "items": [{"id": criterion, "text": text} for criterion, text in record.criteria.items.items()],
                "earlier_versions": [earlier.version for earlier in record.criteria_history],
            },
            "constraints": list(record.constraints),
            "authorized": [_plain(allowed) for allowed in record.authorized],
            "revision": record.revision,
            "evidence": evidence,
            "decisions": [_plain(entry) for entry in self._newest("decisions", record.decisions)],
            "unresolved": [_plain(entry) for entry in self._newest("unresolved", record.unresolved)],
            "hypotheses": [
                {"label": "hypothesis, no evidence", **_plain(entry)}
                for entry in self._newest("hypotheses", record.hypotheses)
            ],
            "next_step": _next_step(record, assessment, transitions),
            "due": self._first("due", due),
        }
        return {**data, "coverage": {"verified_units": self._verified(), **self._coverage}}

    def _first(self, name: str, entries: Sequence[Any]) -> list[Any]:
        kept = list(entries[: self._most])
        self._coverage[name] = {"shown": len(kept), "of": len(entries)}
        return kept

    def _newest(self, name: str, entries: Sequence[Any]) -> list[Any]:
        return self._first(name, entries[::-1])[::-1]

    def _verified(self) -> dict[str, int]:
        units = self._items["unit"]
        return {"verified": sum(item.verdict == "keep" for item in units), "of": len(units)}

    def _artifacts(self) -> dict[str, Any]:
        groups: dict[str, Any] = {"verified": [], "to_check": [], "to_redo": [], "not_begun": []}
        units = sorted(self._items["unit"], key=lambda item: _BY_NEED[item.verdict])
        for item in self._first("units", units):
            groups[_GROUPS.get(item.verdict, "not_begun")].append(self._unit(item))
        groups["not_required"] = [
            {**_seen(item), **_reference(item.id, self._record.artifacts[item.id])}
            for item in self._first("not_required", self._items["artifact"])
        ]
        earlier = [(item, entry.artifact) for item, entry in self._superseded()]
        groups["superseded"] = [
            {**_seen(item), **_reference(item.id, artifact)} for item, artifact in self._newest("superseded", earlier)
        ]
        groups["unindexed"] = [item.id for item in self._first("unindexed", self._items["file"])]
        return groups

    def _superseded(self) -> Iterator[tuple[Item, Any]]:
        # One artifact can have been superseded more than once under its id; both lists are in one order.
        return zip(self._items["superseded"], self._record.superseded, strict=True)

    def _unit(self, item: Item) -> dict[str, Any]:
        unit = self._record.completion_rule.units[item.id]
        data = {"unit": item.id, **_seen(item)}
        if item.found_at is not None:
            data["found_at"] = item.found_at
        if unit.artifact is not None:
            data |= _reference(unit.artifact, self._record.artifacts[unit.artifact])
        return data

    def _effects(self) -> dict[str, Any]:
        effects = self._record.pending_effects
        open_ends = [item for item in self._items["effect"] if item.verdict == "reconcile"]
        settled = [item for item in self._items["effect"] if item.verdict != "reconcile"]
        return {
            "unsettled": [_effect(item, effects[item.id]) for item in open_ends],
            "settled": [_effect(item, effects[item.id]) for item in self._newest("settled_effects", settled)],
        }

    def _source(self, item: Item) -> dict[str, Any]:
        source = self._record.sources[item.id]
        data = {"id": item.id, **_plain(source), "nature": source.nature, "freshness": item.freshness}
        return {**data, "because": list(item.because)}


def standing(assessment: Assessment) -> str:
    """Whether the task is complete, in words that no plan can be taken for."""
    if assessment.complete:
        if assessment.status == "done":
            return "complete: the completion rule is met now, and the task is recorded as done"
        return f"the completion rule is met now, and the task is not recorded as done: it is {assessment.status}"
    counts = [
        _counted(sum(missing.what == what for missing in assessment.missing), what, plural)
        for what, plural in (("unit", "units"), ("criterion", "criteria"), ("effect", "effects"))
    ]
    lacks = ", ".join(count for count in counts if count) or "any required unit"
    recorded = ", although the task is recorded as done" if assessment.status == "done" else ""
    return f"incomplete{recorded}: missing {lacks}; a plan or a next step is no result"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def _next_step(record: RestartRecord, assessment: Assessment, due: Sequence[Transition]) -> dict[str, Any] | None:
    """The one step to take next: a reconciliation, else what the last worker left, else the first that is planned."""
    if not due:
        return None
    first = due[0]
    if record.next_step is not None and first.op != "reconcile" and not assessment.complete:
        step = record.next_step
        return {"text": step.text, "ends_when": step.ends_when, "from": "the last worker: an intention"}
    data = {"text": f"{first.op} {first.subject}", "ends_when": first.ends_when, "from": "the plan"}
    return {**data, "transition": first.key, "because": list(first.because)}


def _plain(part: Any) -> dict[str, Any]:
    """A part as JSON data, without what is at its default."""
    data: dict[str, Any] = part.model_dump(mode="json", exclude_defaults=True)
    return data


def _seen(item: Item) -> dict[str, Any]:
    columns = {name: getattr(item, name) for name in ("verdict", "integrity", "freshness", "scope")}
    return {**columns, "because": list(item.because)}


def _reference(artifact_id: str, artifact: Artifact) -> dict[str, Any]:
    expires = {} if artifact.expires_at is None else {"expires_at": artifact.expires_at}
    return {
        "artifact": artifact_id,
        "location": artifact.location,
        "sha256": artifact.sha256,
        "size": artifact.size,
        "nature": artifact.nature,
        **expires,
        "made_from": _listed(artifact.made_from.sources.items()),
        "verification": {"state": artifact.verification.state, **_plain(artifact.verification)},
    }


def _listed(versions: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": source_id, "version": version} for source_id, version in versions]


def _effect(item: Item, effect: Effect) -> dict[str, Any]:
    return {"id": item.id, "state": effect.state, **_plain(effect), "because": list(item.because)}
