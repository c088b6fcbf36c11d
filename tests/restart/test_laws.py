"""What holds of every record in every world."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskstate.errors import TaskStateError, TransitionError
from taskstate.restart import Observed, RestartRecord, SeenFile, apply, assess, change, plan
from taskstate.restart.allowed import allowed, wanted_version
from taskstate.restart.parts import Artifact, Authorization
from taskstate.restart.transitions import (
    Authorize,
    BeginEffect,
    LoseEffect,
    NewCriteria,
    Notes,
    SettledEffect,
    Verified,
)

from .strategies import Case, cases
from .support import World, effect, effect_part, finish, follow, keys, plan_of, review, sha, step

pytestmark = pytest.mark.once
ROUNDS = 12
RIGHTS = st.builds(Authorization, kind=st.sampled_from("ab"), target=st.sampled_from([None, "x", "y"]))
OPERATIONS = ["reconcile", "observe", "attach", "validate", "recheck", "make", "remake", "complete"]


def holds(record: RestartRecord, seen: Observed, unit_id: str) -> bool:
    """Whether a unit is verified, intact, in scope and current, and so is all that it was made from."""
    unit = record.completion_rule.units[unit_id]
    if unit.artifact is None:
        return False
    artifact = record.artifacts[unit.artifact]
    check, file = artifact.verification, seen.files.get(artifact.location)
    checked = (check.state, check.sha256, check.criteria) == ("passed", artifact.sha256, record.criteria.version)
    if not checked or file is None or (file.sha256, file.size) != (artifact.sha256, artifact.size):
        return False
    for_objective = check.objective or artifact.made_from.objective
    if unit_id in record.completion_rule.covering and for_objective != record.objective.version:
        return False
    if artifact.nature == "current" and artifact.expires_at is not None and artifact.expires_at <= seen.now:
        return False
    if not all(current(record, seen, artifact, source_id) for source_id in unit.sources):
        return False
    return all(
        holds(record, seen, below)
        and artifact.made_from.artifacts.get(below)
        == record.artifacts[record.completion_rule.units[below].artifact or ""].sha256
        for below in unit.units
    )


def current(record: RestartRecord, seen: Observed, artifact: Artifact, source_id: str) -> bool:
    """Whether an artifact was made from the version of a source that the objective is about."""
    made = artifact.made_from.sources.get(source_id)
    if source_id in record.objective.scope.versions or record.sources[source_id].nature == "fixed":
        return made == wanted_version(record, source_id)
    now = seen.sources.get(source_id)
    return now is not None and made == now.version


def covered(record: RestartRecord) -> bool:
    rule = record.completion_rule
    covers: set[str] = set()
    for unit_id in rule.covering:
        covers |= set(record.artifacts[rule.units[unit_id].artifact or ""].covers)
    return not rule.covering or set(record.criteria.items) <= covers


@given(cases())
def test_complete_means_that_all_is_verified_intact_current_covered_and_settled_and_nothing_less_does(
    case: Case,
) -> None:
    seen = case.world.look(case.record)
    rule = case.record.completion_rule
    settled = all(each.state in ("applied", "not_applied") for each in case.record.pending_effects.values())
    all_hold = all(holds(case.record, seen, unit_id) for unit_id in rule.units)
    due = bool(rule.units) and all_hold and settled and covered(case.record)
    assert assess(case.record, seen).complete is due


@given(cases())
def test_a_verdict_of_keep_is_given_to_what_holds(case: Case) -> None:
    seen = case.world.look(case.record)
    found = assess(case.record, seen)
    for unit_id, unit in case.record.completion_rule.units.items():
        kept = found.item("unit", unit_id).verdict == "keep"
        if kept and unit.artifact is not None:
            artifact = case.record.artifacts[unit.artifact]
            assert seen.files.get(artifact.location) is not None
            assert all(current(case.record, seen, artifact, source_id) for source_id in unit.sources)
        lacking = unit_id in case.record.completion_rule.covering and not found.complete
        assert kept or lacking or not holds(case.record, seen, unit_id)


@given(cases())
def test_a_plan_repeats_nothing_that_holds(case: Case) -> None:
    """An uncovered criterion alone may send a covering unit back to work."""
    seen = case.world.look(case.record)
    uncovered = "criterion" in {entry.what for entry in assess(case.record, seen).missing}
    work = {entry.subject for entry in plan(assess(case.record, seen)).transitions if entry.op != "observe"}
    for unit_id in case.record.completion_rule.units:
        if holds(case.record, seen, unit_id) and not (uncovered and unit_id in case.record.completion_rule.covering):
            assert unit_id not in work


@given(cases())
def test_following_plans_reaches_done_and_then_nothing_is_due(case: Case) -> None:
    """Every transition is allowed when its turn comes (`follow` asserts it) and taken by `apply`."""
    case = case.fresh()
    if not case.record.completion_rule.units:
        record, _ = follow(case.record, case.world)
        assert record.status == "open"
        assert keys(plan_of(record, case.world)) == []
        return
    done, _ = finish(case.record, case.world, rounds=ROUNDS)
    found = assess(done, case.world.look(done))
    assert done.status == "done"
    assert found.complete
    assert plan(found).transitions == ()
    assert set(done.next_allowed) == {f"reconcile:{effect_id}" for effect_id in done.pending_effects}
    assert RestartRecord.from_json(done.to_json()) == done


@given(cases())
def test_evidence_is_never_lost(case: Case) -> None:
    """What was recorded of an artifact, and every effect's identity, is there when all is done."""
    case = case.fresh()
    before = case.record
    after, _ = follow(before, case.world)
    kept = {entry.artifact.sha256 for entry in after.superseded} | {each.sha256 for each in after.artifacts.values()}
    assert {artifact.sha256 for artifact in before.artifacts.values()} <= kept
    assert len(after.superseded) >= len(before.superseded)
    for name, begun in before.pending_effects.items():
        later = after.pending_effects[name]
        assert (later.idempotency_key, later.request_hash) == (begun.idempotency_key, begun.request_hash)


@given(cases())
def test_the_same_record_and_observation_give_the_same_bytes(case: Case) -> None:
    again = RestartRecord.from_json(case.record.to_json())
    assert again == case.record
    assert again.to_json() == case.record.to_json()
    seen = case.world.look(case.record)
    found = assess(case.record, seen)
    assert assess(again, Observed.model_validate_json(seen.model_dump_json())).model_dump_json() == (
        found.model_dump_json()
    )
    assert plan(found).model_dump_json() == plan(assess(again, seen)).model_dump_json()


@given(cases(), st.sampled_from(OPERATIONS), st.data())
def test_apply_takes_what_is_allowed_by_honest_evidence_or_refuses_and_never_changes_what_it_was_given(
    case: Case, operation: Any, data: st.DataObject
) -> None:
    case = case.fresh()
    record = case.record
    subjects = [*record.completion_rule.units, *record.sources, *record.pending_effects, "task", "nobody"]
    transition = step(f"{operation}:{data.draw(st.sampled_from(subjects))}")
    before = record.to_json()
    evidence: Any = SettledEffect(state="applied", evidence="x")
    if transition.key in allowed(record) and not (operation == "attach" and not case.world.orphans):
        try:
            evidence = case.world.evidence(record, transition)
        except KeyError:
            evidence = "a summary"
    try:
        after = apply(record, transition, evidence)
    except TaskStateError:
        after = record
    else:
        assert transition.key in allowed(record)
        assert after.next_allowed == allowed(after) or after is record
    assert record.to_json() == before
    assert (after.task_id, after.state_version, after.generation) == (
        record.task_id,
        record.state_version,
        record.generation,
    )


@given(cases())
def test_nothing_but_an_answer_moves_an_effect_out_of_unknown(case: Case) -> None:
    """Work, checks, notes and losing it again leave it as it is."""
    case = case.fresh()
    record = case.record
    unsettled = {name for name, each in record.pending_effects.items() if each.state in ("pending", "unknown")}
    for name in unsettled:
        record = change(record, LoseEffect(effect_id=name))
    record = change(record, Notes(phase="the order failed"))
    due = [key for key in keys(plan_of(record, case.world)) if not key.startswith(("reconcile:", "complete:"))]
    record, _ = follow(record, case.world, only=due)
    assert {name for name, each in record.pending_effects.items() if each.state == "unknown"} == unsettled
    if unsettled:
        found = assess(record, case.world.look(record))
        assert not found.complete
        with pytest.raises(TransitionError):
            apply(record, step("complete:task"), found)


@given(
    cases(),
    st.lists(
        st.builds(Authorization, kind=st.sampled_from("ab"), target=st.sampled_from([None, "x", "y"])), max_size=3
    ),
    st.sampled_from("ab"),
    st.sampled_from("xy"),
)
def test_a_write_begins_if_it_is_authorized_and_not_otherwise(
    case: Case, given_rights: list[Authorization], kind: str, target: str
) -> None:
    record = change(case.record, Authorize(authorized=tuple(given_rights)))
    right = any(each.kind == kind and each.target in (None, target) for each in given_rights)
    begin = BeginEffect(effect_id="new", effect=effect_part(kind=kind, target=target))
    if right:
        assert change(record, begin).pending_effects["new"].state == "pending"
        return
    with pytest.raises(TransitionError, match="authorized"):
        change(record, begin)


@given(cases(status="paused"))
def test_nothing_but_reconciliation_is_due_or_allowed_while_a_task_is_paused(case: Case) -> None:
    answers = {f"reconcile:{effect_id}" for effect_id in case.record.pending_effects}
    assert set(keys(plan_of(case.record, case.world))) <= answers
    assert set(allowed(case.record)) == answers


@given(cases())
def test_what_one_check_says_is_on_record_with_its_evidence(case: Case) -> None:
    case = case.fresh()
    for key in allowed(case.record):
        if key.startswith("validate:"):
            told = case.world.evidence(case.record, step(key))
            assert isinstance(told, Verified)
            after = apply(case.record, step(key), told)
            unit = after.completion_rule.units[key.partition(":")[2]]
            taken_in = told.verification.model_copy(update={"objective": after.objective.version})
            assert after.artifacts[unit.artifact or ""].verification == taken_in
            assert (unit.state == "verified") == (told.verification.state == "passed")


def altered(case: Case, unit_id: str) -> Case:
    artifact = case.record.artifacts[case.record.completion_rule.units[unit_id].artifact or ""]
    case.world.files[artifact.location] = SeenFile(sha256=sha("altered since"), size=artifact.size)
    return case


def lost(case: Case, unit_id: str) -> Case:
    artifact = case.record.artifacts[case.record.completion_rule.units[unit_id].artifact or ""]
    del case.world.files[artifact.location]
    return case


def moved(case: Case, unit_id: str) -> Case:
    """A source that the unit reads has another version now, if the objective is about its latest state."""
    for source_id in case.record.completion_rule.units[unit_id].sources:
        if case.record.sources[source_id].nature == "current":
            case.world.sources[source_id] = 99
            if source_id not in case.record.objective.scope.versions:
                return case
    return altered(case, unit_id)


def judged_otherwise(case: Case, _: str) -> Case:
    return Case(change(case.record, NewCriteria(items={"delivery": "Weeks"})), case.world)


def expired(case: Case, unit_id: str) -> Case:
    data = case.record.to_data()
    artifact_id = data["completion_rule"]["units"][unit_id]["artifact"]
    data["artifacts"][artifact_id] |= {"nature": "current", "expires_at": case.world.now}
    return Case(RestartRecord.from_data({**data, "status": "open"}), case.world)


def written(case: Case, _: str) -> Case:
    data = {**case.record.to_data(), "status": "open"}
    effects = {**data.get("pending_effects", {}), "late": effect("unknown")}
    return Case(RestartRecord.from_data({**data, "pending_effects": effects}), case.world)


BREAKS = [altered, lost, moved, judged_otherwise, expired, written]


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.__name__)
@given(case=cases(), data=st.data())
def test_a_finished_task_in_which_one_thing_changes_is_complete_no_more(
    broken: Callable[[Case, str], Case], case: Case, data: st.DataObject
) -> None:
    case = case.fresh()
    assume(case.record.completion_rule.units)
    done, _ = finish(case.record, case.world, rounds=ROUNDS)
    assert assess(done, case.world.look(done)).complete
    unit_id = data.draw(st.sampled_from(sorted(done.completion_rule.units)))
    after = broken(Case(done, case.world), unit_id)
    assert not assess(after.record, after.world.look(after.record)).complete


PROGRAM = """
import sys
from taskstate.restart import Observed, RestartRecord, assess, plan
record, seen = (line.encode() for line in sys.stdin.read().splitlines())
found = assess(RestartRecord.from_json(record), Observed.model_validate_json(seen))
print(found.model_dump_json(), plan(found).model_dump_json(), RestartRecord.from_json(record).to_json())
"""


def test_another_process_says_the_same_whatever_its_hash_seed() -> None:
    record = review()
    world = World.of(record)
    world.sources["P2"] = 7
    lines = record.to_json().decode() + "\n" + world.look(record).model_dump_json()
    said = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        told = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=lines,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env=environment,
            cwd=Path(__file__).parent,
        )
        said.add(told.stdout)
    assert len(said) == 1
