"""What is declared: other objectives, criteria and units, authorizations, effects and notes."""

from __future__ import annotations

from typing import Any

import pytest

from taskstate.errors import InvalidRecordError, TransitionError
from taskstate.restart import RestartRecord, change
from taskstate.restart.allowed import allowed
from taskstate.restart.parts import (
    Authorization,
    Decision,
    Effect,
    FailedAttempt,
    Hypothesis,
    Issue,
    Scope,
    Source,
    Step,
    Unit,
)
from taskstate.restart.transitions import (
    Authorize,
    BeginEffect,
    BeginUnit,
    LoseEffect,
    NewCriteria,
    NewObjective,
    NewUnits,
    Notes,
    SetStatus,
)

from .support import World, effect, effect_part, finish, finished, review, review_data, verdicts_of

pytestmark = pytest.mark.once


def done() -> RestartRecord:
    record = finished()
    return finish(record, World.of(record))[0]


def units_of(record: RestartRecord) -> dict[str, Unit]:
    """The required units as somebody declares them: without what the work gave."""
    return {
        name: unit.model_copy(update={"artifact": None, "state": "pending"})
        for name, unit in record.completion_rule.units.items()
    }


def test_a_new_objective_is_the_next_version_and_the_old_one_stays_on_record() -> None:
    record = change(review(), NewObjective(text="Compare the earlier ones", scope=Scope(), at=7))
    assert (record.objective.version, record.objective.since) == (3, 7)
    assert record.objective_history == (review().objective,)
    again = change(record, NewObjective(text="Compare four proposals"))
    assert [old.version for old in again.objective_history] == [2, 3]
    assert (again.artifacts, again.superseded) == (review().artifacts, ())


def test_an_objective_that_names_an_unknown_source_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="scope"):
        change(review(), NewObjective(text="x", scope=Scope(kind="named", versions={"nobody": 1})))


def test_a_new_scope_decides_what_is_still_in_it() -> None:
    """Version 6 is what the user wants, though version 7 is out."""
    record = review()
    world = World.of(record)
    world.sources["P2"] = 7
    assert verdicts_of(record, world)["P2"] == "stale"
    named = change(record, NewObjective(text="As of May", scope=Scope(kind="named", versions={"P2": 6})))
    assert verdicts_of(named, world)["P2"] == "keep"


def test_new_criteria_are_the_next_version_and_what_was_checked_is_to_be_checked_again() -> None:
    record = change(finished(), NewCriteria(items={"price": "Total price"}))
    assert record.criteria.version == 4
    assert record.criteria_history == (finished().criteria,)
    assert set(verdicts_of(record).values()) == {"recheck"}


@pytest.mark.parametrize(
    "declared",
    [NewObjective(text="x"), NewCriteria(items={}), NewUnits(units={"P5": Unit(sources=("P1",))}, covering=())],
)
def test_a_done_task_that_is_held_against_something_else_is_open_again(declared: Any) -> None:
    record = change(done(), declared)
    assert record.status == "open"
    assert record.next_allowed == allowed(record)


def test_units_that_were_there_keep_what_they_have() -> None:
    record = review()
    units = {**units_of(record), "P5": Unit(sources=("P5",))}
    record = change(record, NewUnits(units=units, sources={"P5": Source(version=1)}))
    assert record.completion_rule.units["P1"].artifact == "H1"
    assert record.completion_rule.covering == ("comparison",)
    kept = {"P1": "keep", "P2": "keep", "P3": "validate"}
    assert verdicts_of(record) == {**kept, "P4": "pending", "P5": "pending", "comparison": "redo"}


def test_a_unit_that_is_no_longer_required_leaves_its_artifact_as_history() -> None:
    units = {name: unit for name, unit in units_of(review()).items() if name not in ("P2", "comparison")}
    record = change(review(), NewUnits(units=units))
    assert {old.id: old.because for old in record.superseded} == dict.fromkeys(("H2", "draft"), "no longer required")
    assert record.superseded[0].artifact == review().artifacts["H2"]
    assert record.completion_rule.covering == ()


def test_a_unit_that_reads_another_source_now_is_stale() -> None:
    units = {**units_of(review()), "P1": Unit(sources=("P1", "P2"))}
    assert verdicts_of(change(review(), NewUnits(units=units)))["P1"] == "stale"


def test_a_unit_that_asks_for_another_verifier_now_is_not_kept() -> None:
    units = {**units_of(review()), "P1": Unit(sources=("P1",), verifier="another")}
    assert verdicts_of(change(review(), NewUnits(units=units)))["P1"] != "keep"


def test_a_declared_unit_brings_no_artifact() -> None:
    units = {**units_of(review()), "P4": Unit(sources=("P4",), artifact="H1", state="verified")}
    with pytest.raises(TransitionError, match="artifact"):
        change(review(), NewUnits(units=units))


def test_a_declared_unit_brings_no_trust() -> None:
    for unit in (Unit(state="verified"), Unit(state="present")):
        with pytest.raises((TransitionError, InvalidRecordError)):
            change(review(), NewUnits(units={**units_of(review()), "P5": unit}))


def test_nothing_is_authorized_by_default() -> None:
    with pytest.raises(TransitionError, match="authorized"):
        change(review(), BeginEffect(effect_id="e", effect=effect_part()))


AUTHORIZED = [
    (Authorization(kind="order"), True),
    (Authorization(kind="order", target="firm"), True),
    (Authorization(kind="order", target="other"), False),
    (Authorization(kind="mail"), False),
    (Authorization(kind="ORDER"), False),
    (Authorization(kind="mail", target="firm"), False),
]


@pytest.mark.parametrize(("given", "goes"), AUTHORIZED)
def test_a_write_has_to_be_authorized_by_kind_and_target(given: Authorization, goes: bool) -> None:
    record = change(review(), Authorize(authorized=(given,)))
    begin = BeginEffect(effect_id="e", effect=effect_part())
    if goes:
        assert change(record, begin).pending_effects["e"].state == "pending"
        return
    with pytest.raises(TransitionError, match="authorized"):
        change(record, begin)


def test_an_authorization_takes_the_place_of_the_earlier_ones() -> None:
    record = change(review(), Authorize(authorized=(Authorization(kind="order"),)))
    record = change(record, Authorize(authorized=()))
    with pytest.raises(TransitionError, match="authorized"):
        change(record, BeginEffect(effect_id="e", effect=effect_part()))


@pytest.mark.parametrize("state", ["unknown", "applied", "not_applied"])
def test_an_effect_begins_as_pending(state: str) -> None:
    record = review(authorized=[{"kind": "order"}])
    with pytest.raises(TransitionError, match="pending"):
        change(record, BeginEffect(effect_id="e", effect=Effect(**effect(state))))


def test_an_effect_begins_once() -> None:
    begin = BeginEffect(effect_id="e", effect=effect_part())
    record = change(review(authorized=[{"kind": "order"}]), begin)
    with pytest.raises(TransitionError, match="already"):
        change(record, begin)


def test_an_effect_begins_only_while_somebody_may_work() -> None:
    record = change(review(authorized=[{"kind": "order"}]), SetStatus(status="paused"))
    with pytest.raises(TransitionError, match="paused"):
        change(record, BeginEffect(effect_id="e", effect=effect_part()))


@pytest.mark.parametrize("state", ["pending", "unknown"])
def test_an_effect_that_was_lost_is_unknown(state: str) -> None:
    record = change(review(pending_effects={"e": effect(state)}), LoseEffect(effect_id="e"))
    assert record.pending_effects["e"].state == "unknown"


@pytest.mark.parametrize("state", ["applied", "not_applied"])
def test_a_settled_effect_cannot_be_lost(state: str) -> None:
    with pytest.raises(TransitionError, match="settled"):
        change(review(pending_effects={"e": effect(state)}), LoseEffect(effect_id="e"))


def test_an_effect_that_nobody_began_cannot_be_lost() -> None:
    with pytest.raises(TransitionError, match="no such effect"):
        change(review(), LoseEffect(effect_id="e"))


def test_notes_are_added_and_issues_resolved_and_nothing_else_changes() -> None:
    record = review(unresolved=[{"id": "u1", "text": "Is P4 binding?"}])
    step = Step(text="read P4", ends_when="its extract is recorded")
    noted = change(
        record,
        Notes(
            decisions=(Decision(id="d", text="Prices without tax"),),
            unresolved=(Issue(id="u2", text="Which currency?"),),
            resolved=("u1",),
            hypotheses=(Hypothesis(id="h", text="P4 is older", confirmed_by="its date"),),
            failed_attempts=(FailedAttempt(id="f", text="read P4", command="fetch", exit_status=1),),
            next_step=step,
            phase="reading",
        ),
    )
    assert [issue.id for issue in noted.unresolved] == ["u2"]
    assert (noted.next_step, noted.phase) == (step, "reading")
    told = {"decisions", "unresolved", "hypotheses", "failed_attempts", "next_step", "phase", "next_allowed"}
    before, after = record.to_data(), noted.to_data()
    assert {name: before.get(name) for name in {*before} - told} == {name: after[name] for name in {*after} - told}


def test_a_note_with_an_id_that_is_there_is_refused() -> None:
    record = change(review(), Notes(decisions=(Decision(id="d", text="x"),)))
    with pytest.raises(InvalidRecordError, match="decisions"):
        change(record, Notes(decisions=(Decision(id="d", text="y"),)))


def test_a_worker_begins_a_unit_under_its_generation() -> None:
    data = {**review_data(), "generation": 5}
    record = change(RestartRecord.from_data(data), BeginUnit(unit_id="P4"))
    assert record.completion_rule.units["P4"].begun == 5
    with pytest.raises(TransitionError, match="no such unit"):
        change(record, BeginUnit(unit_id="nobody"))
    with pytest.raises(TransitionError, match="paused"):
        change(change(record, SetStatus(status="paused")), BeginUnit(unit_id="P4"))


def test_a_task_is_paused_and_opened_and_abandoned_for_good() -> None:
    paused = change(review(), SetStatus(status="paused"))
    assert change(paused, SetStatus(status="open")).status == "open"
    gone = change(paused, SetStatus(status="abandoned"))
    for declared in (SetStatus(status="open"), NewObjective(text="x"), Notes(phase="x")):
        with pytest.raises(TransitionError, match="abandoned"):
            change(gone, declared)
    with pytest.raises(TransitionError, match="done"):
        change(done(), SetStatus(status="paused"))
    with pytest.raises(ValueError, match="status"):
        SetStatus(status="done")  # type: ignore[arg-type]


def test_a_change_leaves_the_given_record_as_it_is() -> None:
    record = review()
    before = record.to_json()
    for declared in (NewObjective(text="x"), NewCriteria(items={}), NewUnits(units={}), BeginUnit(unit_id="P4")):
        assert change(record, declared) != record
    assert record.to_json() == before
