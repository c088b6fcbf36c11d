"""What the tests of the restart record share: a supplier review that was interrupted, and a world that answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from taskstate.restart import (
    Assessment,
    Observed,
    RestartRecord,
    SeenEffect,
    SeenFile,
    SeenSource,
    apply,
    assess,
    plan,
)
from taskstate.restart.allowed import allowed, wanted_version
from taskstate.restart.parts import Artifact, Effect, MadeFrom, Source, Verification, Version
from taskstate.restart.transitions import Evidence, Made, Plan, SeenState, SettledEffect, Transition, Verified

NOW = 1_000
PROPOSALS = ("P1", "P2", "P3", "P4")
VERSIONS = {"P1": 1, "P2": 6, "P3": 1, "P4": 1}


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def check(name: str, *, state: str = "passed", criteria: int = 3, verifier: str = "schema") -> dict[str, Any]:
    """The verification of the artifact `name`, as data."""
    told = {"state": state, "verifier": verifier, "verifier_version": "1", "at": 5, "sha256": sha(name)}
    reason = {"reason": "a field is missing"} if state == "failed" else {}
    return {**told, "criteria": criteria, "evidence": f"evidence/{name}.json", **reason}


def reference(name: str, checked: str = "passed", criteria: int = 3, **made_from: Any) -> dict[str, Any]:
    """The artifact `name`, as data; `made_from` has `sources` and `artifacts`."""
    data = {
        "location": f"out/{name}",
        "sha256": sha(name),
        "size": len(name),
        "made_from": {"objective": 2, "criteria": 3, **made_from},
    }
    return data if checked == "none" else {**data, "verification": check(name, state=checked, criteria=criteria)}


def review_data() -> dict[str, Any]:
    """Four proposals to compare: two extracts are checked, the third isn't, the fourth isn't begun."""
    units: dict[str, Any] = {
        "P1": {"sources": ["P1"], "artifact": "H1", "state": "verified"},
        "P2": {"sources": ["P2"], "artifact": "H2", "state": "verified"},
        "P3": {"sources": ["P3"], "artifact": "H3", "state": "present"},
        "P4": {"sources": ["P4"]},
        "comparison": {"units": list(PROPOSALS), "artifact": "draft", "state": "present", "partial": True},
    }
    return {
        "schemaVersion": 1,
        "task_id": "supplier-review-22",
        "state_version": 8,
        "phase": "extracting",
        "objective": {"version": 2, "text": "Compare four proposals"},
        "criteria": {"version": 3, "items": {"price": "Total price", "warranty": "Months of warranty"}},
        "sources": {name: {"version": version} for name, version in VERSIONS.items()},
        "artifacts": {
            "H1": reference("H1", sources={"P1": 1}),
            "H2": reference("H2", sources={"P2": 6}),
            "H3": reference("H3", checked="none", sources={"P3": 1}),
            "draft": reference("draft", checked="none", artifacts={"P1": sha("H1"), "P2": sha("H2")}),
        },
        "completion_rule": {"units": units, "covering": ["comparison"]},
    }


def review(**fields: Any) -> RestartRecord:
    """The interrupted review with other fields, as data."""
    return RestartRecord.from_data({**review_data(), **fields})


def finished_data() -> dict[str, Any]:
    """The review when all is there and checked, not yet declared done."""
    data = review_data()
    units = data["completion_rule"]["units"]
    for proposal in PROPOSALS:
        name = f"H{proposal[1]}"
        units[proposal] |= {"artifact": name, "state": "verified"}
        data["artifacts"][name] = reference(name, sources={proposal: VERSIONS[proposal]})
    made = reference("draft", artifacts={proposal: sha(f"H{proposal[1]}") for proposal in PROPOSALS})
    data["artifacts"]["draft"] = {**made, "covers": ["price", "warranty"]}
    units["comparison"]["state"] = "verified"
    return data


def finished(**fields: Any) -> RestartRecord:
    return RestartRecord.from_data({**finished_data(), **fields})


def effect(state: str = "unknown", **fields: Any) -> dict[str, Any]:
    told = {"kind": "order", "target": "firm", "idempotency_key": "k1", "request_hash": sha("request"), "state": state}
    return {**told, **({"evidence": "receipt"} if state in ("applied", "not_applied") else {}), **fields}


def step(key: str, *because: str) -> Transition:
    """The transition with this key."""
    op, _, subject = key.partition(":")
    return Transition.model_validate({"op": op, "subject": subject, "because": because})


def keys(made: Plan) -> list[str]:
    return [transition.key for transition in made.transitions]


def verdicts(found: Assessment, kind: str = "unit") -> dict[str, str]:
    return {item.id: item.verdict for item in found.items if item.kind == kind}


def missing(found: Assessment) -> set[tuple[str, str, str]]:
    return {(entry.what, entry.id, entry.reason) for entry in found.missing}


def of_today(record: RestartRecord, artifact_id: str) -> bool:
    """Whether an artifact is of the versions that the objective is about."""
    made = record.artifacts[artifact_id].made_from.sources
    return all(version == wanted_version(record, name) for name, version in made.items())


@dataclass
class World:
    """What is outside of a record, and an honest worker's evidence for each transition.

    `bad` are locations whose content no check passes; `orphans` say what a file without a record was made from;
    `unseen` are the locations and sources that the probe doesn't look at.
    """

    files: dict[str, SeenFile] = field(default_factory=dict)
    sources: dict[str, Version] = field(default_factory=dict)
    effects: dict[str, str] = field(default_factory=dict)
    bad: set[str] = field(default_factory=set)
    orphans: dict[str, MadeFrom] = field(default_factory=dict)
    unseen: set[str] = field(default_factory=set)
    now: int = NOW
    made: int = 0

    @classmethod
    def of(cls, record: RestartRecord, **fields: Any) -> World:
        """The world in which nothing has happened since the record was written."""
        files = {each.location: SeenFile(sha256=each.sha256, size=each.size) for each in record.artifacts.values()}
        return cls(files, {name: source.version for name, source in record.sources.items()}, **fields)

    def look(self, record: RestartRecord) -> Observed:
        named = {each.location for each in (*record.artifacts.values(), *(old.artifact for old in record.superseded))}
        return Observed(
            now=self.now,
            files={location: self.files.get(location) for location in sorted(named - self.unseen)},
            sources={
                name: None if version == "gone" else SeenSource(version=version)
                for name, version in self.sources.items()
                if name not in self.unseen
            },
            effects={name: SeenEffect(state=state, evidence=f"answer:{name}") for name, state in self.effects.items()},  # type: ignore[arg-type]
            unindexed={location: seen for location, seen in self.files.items() if location not in named},
        )

    def evidence(self, record: RestartRecord, transition: Transition) -> Evidence:
        match transition.op:
            case "reconcile":
                state = self.effects[transition.subject]
                return SettledEffect(state=state, evidence=f"answer:{transition.subject}")  # type: ignore[arg-type]
            case "observe":
                self.unseen.discard(transition.subject)
                return SeenState(source=Source(version=self.sources[transition.subject], seen_at=self.now))
            case "make" | "remake":
                return self._make(record, transition.subject)
            case "attach":
                return self._attach(record, transition.subject)
            case "validate" | "recheck":
                return self._verify(record, transition.subject)
            case "complete":
                return assess(record, self.look(record))

    def _make(self, record: RestartRecord, unit_id: str) -> Made:
        unit = record.completion_rule.units[unit_id]
        self.made += 1
        location = unit.location or f"made/{unit_id}.{self.made}"
        self.files[location] = SeenFile(sha256=sha(f"{unit_id}.{self.made}"), size=self.made)
        self.bad.discard(location)
        self.unseen.discard(location)
        sources = {name: wanted_version(record, name) for name in unit.sources}
        inputs = {}
        for below in unit.units:
            lower = record.completion_rule.units[below]
            if lower.artifact is not None and lower.state == "verified" and of_today(record, lower.artifact):
                inputs[below] = record.artifacts[lower.artifact].sha256
        return self._reference(record, unit_id, location, self._from(record, sources, inputs))

    def _attach(self, record: RestartRecord, unit_id: str) -> Made:
        location = record.completion_rule.units[unit_id].location
        assert location is not None
        self.made += 1
        return self._reference(record, unit_id, location, self.orphans[location])

    def _from(self, record: RestartRecord, sources: dict[str, Version], inputs: dict[str, str]) -> MadeFrom:
        versions = {"objective": record.objective.version, "criteria": record.criteria.version}
        return MadeFrom(sources=sources, artifacts=inputs, **versions)

    def _reference(self, record: RestartRecord, unit_id: str, location: str, made_from: MadeFrom) -> Made:
        seen = self.files[location]
        covers = tuple(record.criteria.items) if unit_id in record.completion_rule.covering else ()
        artifact = Artifact(
            location=location, sha256=seen.sha256, size=seen.size, made_from=made_from, covers=covers, made_at=self.now
        )
        return Made(artifact_id=f"{unit_id}#{self.made}", artifact=artifact)

    def _verify(self, record: RestartRecord, unit_id: str) -> Verified:
        """An honest check: of the bytes, and of a covering unit whether it speaks of every criterion."""
        unit = record.completion_rule.units[unit_id]
        assert unit.artifact is not None
        artifact = record.artifacts[unit.artifact]
        self.unseen.discard(artifact.location)
        seen = self.files.get(artifact.location)
        whole = unit_id not in record.completion_rule.covering or set(record.criteria.items) <= set(artifact.covers)
        there = seen is not None and seen.sha256 == artifact.sha256 and artifact.location not in self.bad
        return passed(record, unit_id) if there and whole else failed(record, unit_id)


def passed(record: RestartRecord, unit_id: str, **fields: Any) -> Verified:
    """That the artifact of a unit passed its check, by the criteria of now."""
    unit = record.completion_rule.units[unit_id]
    assert unit.artifact is not None
    told: dict[str, Any] = {
        "state": "passed",
        "verifier": unit.verifier or "schema",
        "verifier_version": "1",
        "at": NOW,
        "sha256": record.artifacts[unit.artifact].sha256,
        "criteria": record.criteria.version,
        "objective": record.objective.version,
        "evidence": f"evidence/{unit_id}.json",
    }
    return Verified(verification=Verification(**{**told, **fields}))


def failed(record: RestartRecord, unit_id: str) -> Verified:
    return passed(record, unit_id, state="failed", reason="the check says no")


def follow(
    record: RestartRecord, world: World, *, only: Iterable[str] | None = None
) -> tuple[RestartRecord, list[str]]:
    """Apply a plan's transitions in order (all, or those named), until one check fails; the record and what was done.

    Each must be allowed when its turn comes.
    """
    done: list[str] = []
    for transition in plan(assess(record, world.look(record))).transitions:
        if only is not None and transition.key not in only:
            continue
        assert transition.key in allowed(record), (transition.key, done, allowed(record))
        evidence = world.evidence(record, transition)
        if isinstance(evidence, Assessment) and not evidence.complete:
            break  # something turned up meanwhile: the next plan says what is to be done
        record = apply(record, transition, evidence)
        done.append(transition.key)
        if isinstance(evidence, Verified) and evidence.verification.state == "failed":
            break
    return record, done


def finish(record: RestartRecord, world: World, *, rounds: int = 8) -> tuple[RestartRecord, list[str]]:
    """Follow plans until the task is done."""
    done: list[str] = []
    for _ in range(rounds):
        record, more = follow(record, world)
        done += more
        if record.status != "open":
            return record, done
    raise AssertionError(f"not done after {rounds} plans: {done}")


def effect_part(**fields: Any) -> Effect:
    """An effect as it begins."""
    return Effect(**effect("pending", **fields))


def plan_of(record: RestartRecord, world: World) -> Plan:
    return plan(assess(record, world.look(record)))


def verdicts_of(record: RestartRecord, world: World | None = None) -> dict[str, str]:
    return verdicts(assess(record, (world or World.of(record)).look(record)))
