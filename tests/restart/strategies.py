"""Random tasks: a record, and the world in which it is taken up again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from taskstate.restart import RestartRecord, SeenFile
from taskstate.restart.parts import MadeFrom

from .support import NOW, World, check, sha

VERIFIERS = st.sampled_from([None, "schema", "hash"])
FAULTS = st.sets(
    st.sampled_from(
        [
            "pending",
            "made from other",
            "expiry",
            "check",
            "older criteria",
            "coverage",
            "effects",
            "files",
            "sources",
            "blind",
            "orphans",
        ]
    ),
    max_size=4,
)
CRITERIA = {"price": "Total price", "warranty": "Months of warranty"}


@dataclass(frozen=True)
class Case:
    record: RestartRecord
    world: World

    def fresh(self) -> Case:
        """The same case with a world of its own, so that following a plan leaves this one as it is."""
        world = self.world
        copies = (dict(world.files), dict(world.sources), dict(world.effects))
        return Case(
            self.record, World(*copies, set(world.bad), dict(world.orphans), set(world.unseen), world.now, world.made)
        )


@st.composite
def cases(draw: st.DrawFn, *, status: str = "open") -> Case:
    """A task of up to four units over up to three sources, whatever happened to it since."""
    sources = {
        f"s{number}": {"version": draw(st.integers(1, 3)), "nature": draw(st.sampled_from(["current", "fixed"]))}
        for number in range(draw(st.integers(0, 3)))
    }
    named = draw(st.sets(st.sampled_from(sorted(sources)), max_size=2)) if sources and draw(st.booleans()) else set()
    scope = {"kind": "named", "versions": {name: draw(st.integers(1, 3)) for name in sorted(named)}} if named else {}
    criteria = {"version": draw(st.integers(1, 3)), "items": dict(list(CRITERIA.items())[: draw(st.integers(0, 2))])}
    data: dict[str, Any] = {
        "task_id": "task",
        "state_version": draw(st.integers(0, 2)),
        "generation": 2,
        "status": status,
        "objective": {"version": 2, "text": "Compare", **({"scope": scope} if scope else {})},
        "criteria": criteria,
        "sources": sources,
        "artifacts": {},
        "completion_rule": {"units": {}},
    }
    wanted = {name: scope.get("versions", {}).get(name, source["version"]) for name, source in sources.items()}
    faults = draw(FAULTS)
    for number in range(draw(st.integers(0, 4))):
        _add_unit(draw, data, f"u{number}", wanted, faults)
    units = data["completion_rule"]["units"]
    data["completion_rule"]["covering"] = draw(st.lists(st.sampled_from(sorted(units)), unique=True)) if units else []
    data["pending_effects"] = {name: _effect(draw, faults) for name in ("e0", "e1")[: draw(st.integers(0, 2))]}
    _add_history(draw, data)
    record = RestartRecord.from_data(data)
    return Case(record, _world(draw, record, faults))


def _add_unit(draw: st.DrawFn, data: dict[str, Any], name: str, wanted: dict[str, int], faults: set[str]) -> None:
    units = data["completion_rule"]["units"]
    below = sorted(draw(st.sets(st.sampled_from(sorted(units)), max_size=3))) if units else []
    sources = sorted(draw(st.sets(st.sampled_from(sorted(wanted)), max_size=2))) if wanted else []
    unit = units[name] = {"units": below, "sources": sources, "partial": bool(below) and draw(st.booleans())}
    if (verifier := draw(VERIFIERS)) is not None:
        unit["verifier"] = verifier
    if draw(st.booleans()):
        unit["location"] = f"out/{name}"
    if draw(st.integers(0, 3)) == 0:
        unit["begun"] = draw(st.integers(1, 2))
    if "pending" in faults and draw(st.booleans()):
        return
    other = "made from other" in faults

    def is_other() -> bool:
        return other and draw(st.integers(0, 4)) == 0

    made = {source: draw(st.integers(1, 3)) if is_other() else wanted[source] for source in sources}
    inputs = {
        lower: sha("old") if is_other() else data["artifacts"][units[lower]["artifact"]]["sha256"]
        for lower in below
        if "artifact" in units[lower] and not is_other()
    }
    now = data["criteria"]["version"]
    artifact: dict[str, Any] = {
        "location": f"out/{name}",
        "sha256": sha(name),
        "size": 2,
        "made_from": {"sources": made, "artifacts": inputs, "objective": draw(st.integers(1, 2)), "criteria": now},
        "covers": sorted(draw(st.sets(st.sampled_from(sorted(CRITERIA))))) if "coverage" in faults else [*CRITERIA],
    }
    if "expiry" in faults and draw(st.booleans()):
        artifact |= {"nature": "current", "expires_at": draw(st.sampled_from([NOW - 1, NOW, NOW + 1]))}
    bad = "check" in faults
    state = draw(st.sampled_from(["passed", "passed", "failed", "none"])) if bad else "passed"
    if state != "none":
        criteria = draw(st.integers(1, now)) if "older criteria" in faults else now
        by = check(name, state=state, criteria=criteria, verifier=verifier or "schema")
        artifact["verification"] = {**by, "sha256": sha("other bytes")} if bad and draw(st.booleans()) else by
    passed = artifact.get("verification", {})
    whole = passed.get("state") == "passed" and passed.get("sha256") == sha(name)
    data["artifacts"][f"a-{name}"] = artifact
    unit |= {"artifact": f"a-{name}", "state": "verified" if whole else "present"}


def _effect(draw: st.DrawFn, faults: set[str]) -> dict[str, Any]:
    states = ["pending", "unknown", "applied", "not_applied"]
    state = draw(st.sampled_from(states if "effects" in faults else states[2:]))
    told = {"kind": "order", "target": "firm", "idempotency_key": "k", "request_hash": sha("r"), "state": state}
    return {**told, "evidence": "receipt"} if state in ("applied", "not_applied") else told


def _add_history(draw: st.DrawFn, data: dict[str, Any]) -> None:
    if draw(st.booleans()):
        data["artifacts"]["spare"] = {"location": "out/spare", "sha256": sha("spare"), "size": 5}
    if draw(st.booleans()):
        old = {"location": "out/older", "sha256": sha("older"), "size": 5}
        data["superseded"] = [{"id": "older", "artifact": old, "because": "it was altered"}]


def _world(draw: st.DrawFn, record: RestartRecord, faults: set[str]) -> World:
    """What happened since: files altered or lost, sources moved on, effects answered, orphans left, probes blind."""
    world = World.of(record)
    for location in list(world.files):
        match draw(st.integers(0, 6)) if "files" in faults else 9:
            case 0:
                world.files[location] = SeenFile(sha256=sha("altered"), size=2)
            case 1:
                del world.files[location]
            case 2:
                world.bad.add(location)
    for name, source in record.sources.items():
        if source.nature == "current" and "sources" in faults and draw(st.booleans()):
            world.sources[name] = draw(st.integers(1, 4))
    if "blind" in faults:
        world.unseen = draw(st.sets(st.sampled_from([*record.sources, *world.files, "nothing"])))
    for name, each in record.pending_effects.items():
        settled = each.state in ("applied", "not_applied")
        world.effects[name] = each.state if settled else draw(st.sampled_from(["applied", "not_applied"]))
    for name, unit in record.completion_rule.units.items():
        if unit.artifact is None and unit.location is not None and not unit.units and "orphans" in faults:
            world.files[unit.location] = SeenFile(sha256=sha(f"orphan {name}"), size=6)
            now = {source: world.sources[source] for source in unit.sources}
            named = record.objective.scope.versions
            made_of = {source: named.get(source, version) for source, version in now.items()}
            world.orphans[unit.location] = MadeFrom(
                sources=made_of, objective=record.objective.version, criteria=record.criteria.version
            )
    if draw(st.booleans()):
        world.files["out/odd"] = SeenFile(sha256=sha("odd"), size=3)
    return world
