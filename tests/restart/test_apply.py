"""Transitions: what each takes as evidence, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from taskstate.errors import ContradictionError, TransitionError
from taskstate.restart import RestartRecord, SeenFile, apply, assess, change
from taskstate.restart.allowed import allowed
from taskstate.restart.parts import Artifact, MadeFrom, Source, Verification
from taskstate.restart.transitions import (
    Made,
    NewCriteria,
    NewObjective,
    SeenState,
    SetStatus,
    SettledEffect,
    Verified,
)

from .support import (
    World,
    effect,
    failed,
    finish,
    finished,
    finished_data,
    passed,
    reference,
    review,
    review_data,
    sha,
    step,
)

pytestmark = pytest.mark.once


def made(artifact_id: str = "H4", **fields: Any) -> Made:
    """P4's extract as an honest worker tells it, with other fields."""
    told = {
        "location": "out/H4",
        "sha256": sha("H4"),
        "size": 2,
        "made_from": MadeFrom(sources={"P4": 1}, objective=2, criteria=3),
    }
    return Made(artifact_id=artifact_id, artifact=Artifact(**{**told, **fields}))


def test_what_was_made_is_unchecked() -> None:
    record = apply(review(), step("make:P4"), made())
    assert record.completion_rule.units["P4"].state == "present"
    assert record.artifacts["H4"].verification.state == "none"
    assert "validate:P4" in record.next_allowed


def test_what_says_that_it_was_checked_already_is_refused() -> None:
    check = passed(finished(), "P4").verification
    with pytest.raises(TransitionError, match="unchecked"):
        apply(review(), step("make:P4"), made(verification=check))


@pytest.mark.parametrize("operation", ["make", "attach"])
@pytest.mark.parametrize(
    "made_from",
    [
        {"sources": {"P4": 2}},
        {"sources": {}},
        {"sources": {"P4": 1}, "objective": 1},
        {"sources": {"P4": 1}, "criteria": 2},
        {"sources": {"P4": 1}, "artifacts": {"P1": sha("H1")}},
        {"sources": {"P4": 1}, "artifacts": {"nobody": sha("H1")}},
        {"sources": {"P4": 1, "P2": 5}},
        {"sources": {"P4": 1, "nobody": 1}},
    ],
)
def test_what_was_made_from_something_else_is_refused(operation: str, made_from: dict[str, Any]) -> None:
    """Another version, objective or criteria, or something that the record doesn't know or knows otherwise."""
    given = MadeFrom(**{"objective": 2, "criteria": 3, **made_from})
    with pytest.raises(TransitionError):
        apply(review(), step(f"{operation}:P4"), made(made_from=given))


@pytest.mark.parametrize("below", [{}, {"P1": sha("H1")}, {"P1": sha("other")}, {"P3": sha("H3")}])
def test_what_is_made_of_units_needs_their_verified_artifacts(below: dict[str, str]) -> None:
    data = review_data()
    data["completion_rule"]["units"]["comparison"]["partial"] = False
    record = RestartRecord.from_data(data)
    given = made("draft2", made_from=MadeFrom(artifacts=below, objective=2, criteria=3))
    with pytest.raises(TransitionError, match="verified"):
        apply(record, step("remake:comparison"), given)


def test_a_partial_one_takes_no_unchecked_artifact_in() -> None:
    given = made("draft2", made_from=MadeFrom(artifacts={"P3": sha("H3")}, objective=2, criteria=3))
    with pytest.raises(TransitionError, match="P3"):
        apply(review(), step("remake:comparison"), given)


def test_a_partial_one_takes_no_stale_artifact_in() -> None:
    """P2 is known to be at version 7; its extract is of version 6."""
    record = apply(review(), step("observe:P2"), SeenState(source=Source(version=7)))
    below = {"P1": sha("H1"), "P2": sha("H2")}
    given = made("draft2", made_from=MadeFrom(artifacts=below, objective=2, criteria=3))
    with pytest.raises(TransitionError, match="P2"):
        apply(record, step("remake:comparison"), given)


def test_what_takes_the_place_of_another_keeps_it_as_history() -> None:
    given = made("H2b", made_from=MadeFrom(sources={"P2": 6}, objective=2, criteria=3))
    record = apply(review(), step("remake:P2", "the file was altered"), given)
    assert [(old.id, old.because) for old in record.superseded] == [("H2", "the file was altered")]
    assert record.superseded[0].artifact == review().artifacts["H2"]
    assert "H2" not in record.artifacts
    assert record.completion_rule.units["P2"].state == "present"


def test_an_artifact_of_another_unit_is_not_replaced() -> None:
    with pytest.raises(TransitionError, match="P1"):
        apply(review(), step("make:P4"), made("H1"))


def test_an_artifact_of_no_unit_is_not_lost_under_a_new_one() -> None:
    """Evidence of an earlier version stays: the new one needs an id of its own, or the old one becomes history."""
    data = review_data()
    data["artifacts"]["H4"] = reference("old")
    record = RestartRecord.from_data(data)
    try:
        after = apply(record, step("make:P4"), made("H4"))
    except TransitionError:
        return
    assert sha("old") in {old.artifact.sha256 for old in after.superseded}


def test_a_check_makes_a_unit_verified_or_leaves_it_present_with_the_reason() -> None:
    record = apply(review(), step("validate:P3"), passed(review(), "P3"))
    assert record.completion_rule.units["P3"].state == "verified"
    assert record.artifacts["H3"].verification.evidence == "evidence/P3.json"
    record = apply(review(), step("validate:P3"), failed(review(), "P3"))
    assert record.completion_rule.units["P3"].state == "present"
    assert record.artifacts["H3"].verification.reason == "the check says no"


def test_a_check_that_fails_later_takes_the_trust_away() -> None:
    record = apply(review(), step("validate:P1"), failed(review(), "P1"))
    assert record.completion_rule.units["P1"].state == "present"


@pytest.mark.parametrize("fields", [{"sha256": sha("other")}, {"criteria": 2}, {"criteria": 4}])
def test_a_check_of_other_bytes_or_by_other_criteria_is_refused(fields: dict[str, Any]) -> None:
    record = review()
    with pytest.raises(TransitionError, match="other"):
        apply(record, step("validate:P3"), passed(record, "P3", **fields))


def test_no_check_is_no_evidence() -> None:
    with pytest.raises(TransitionError, match="no check"):
        apply(review(), step("validate:P3"), Verified(verification=Verification()))


def test_a_unit_that_names_its_verifier_takes_no_other() -> None:
    data = review_data()
    data["completion_rule"]["units"]["P3"]["verifier"] = "schema"
    record = RestartRecord.from_data(data)
    with pytest.raises(TransitionError, match="schema"):
        apply(record, step("validate:P3"), passed(record, "P3", verifier="hash"))
    assert apply(record, step("validate:P3"), passed(record, "P3")).completion_rule.units["P3"].state == "verified"


@pytest.mark.parametrize("state", ["pending", "unknown"])
@pytest.mark.parametrize("answer", ["applied", "not_applied"])
def test_an_effect_is_settled_by_an_answer(state: str, answer: Any) -> None:
    record = review(pending_effects={"e": effect(state)})
    record = apply(record, step("reconcile:e"), SettledEffect(state=answer, evidence="answer"))
    assert (record.pending_effects["e"].state, record.pending_effects["e"].evidence) == (answer, "answer")


def test_a_settled_effect_cannot_be_settled_otherwise() -> None:
    record = review(pending_effects={"e": effect("applied")})
    with pytest.raises(ContradictionError):
        apply(record, step("reconcile:e"), SettledEffect(state="not_applied", evidence="answer"))
    again = apply(record, step("reconcile:e"), SettledEffect(state="applied", evidence="another"))
    assert again.pending_effects["e"].evidence == "receipt"


def test_a_source_is_seen_as_it_is_now_and_a_fixed_one_is_not_looked_at() -> None:
    record = apply(review(), step("observe:P2"), SeenState(source=Source(version=7, seen_at=9)))
    assert record.sources["P2"].version == 7
    fixed = Source(version=1, nature="fixed")
    with pytest.raises(TransitionError):
        apply(review(), step("observe:P2"), SeenState(source=fixed))
    data = review_data()
    data["sources"]["P2"]["nature"] = "fixed"
    with pytest.raises(TransitionError, match="not allowed"):
        apply(RestartRecord.from_data(data), step("observe:P2"), SeenState(source=Source(version=7)))


NOT_ALLOWED = [
    "make:P1",
    "attach:P3",
    "remake:P4",
    "validate:P4",
    "recheck:P4",
    "validate:nobody",
    "observe:nobody",
    "reconcile:nobody",
    "complete:supplier-review-22",
    "complete:another",
]


@pytest.mark.parametrize("key", NOT_ALLOWED)
def test_what_the_record_does_not_allow_is_refused(key: str) -> None:
    record = review()
    assert key not in allowed(record)
    with pytest.raises(TransitionError, match="not allowed"):
        apply(record, step(key), made())


@pytest.mark.parametrize("status", ["paused", "abandoned"])
def test_nothing_is_allowed_while_nobody_may_work(status: Any) -> None:
    record = change(review(), SetStatus(status=status))
    assert allowed(record) == record.next_allowed == ()
    with pytest.raises(TransitionError, match="not allowed"):
        apply(record, step("validate:P3"), passed(record, "P3"))


EVIDENCE = {
    "validate:P3": "Verified",
    "make:P4": "Made",
    "observe:P2": "SeenState",
    "reconcile:e": "SettledEffect",
}


@pytest.mark.parametrize("key", EVIDENCE)
@pytest.mark.parametrize("given", ["a summary", None, {"state": "passed"}, 1])
def test_what_is_no_evidence_of_the_kind_is_refused(key: str, given: Any) -> None:
    record = review(pending_effects={"e": effect()})
    with pytest.raises(TransitionError, match=EVIDENCE[key]):
        apply(record, step(key), given)


def test_completion_needs_an_assessment_that_finds_nothing_missing() -> None:
    record = finished()
    key = f"complete:{record.task_id}"
    world = World.of(record)
    done = apply(record, step(key), assess(record, world.look(record)))
    assert (done.status, done.next_allowed) == ("done", ())
    world.files["out/H1"] = SeenFile(sha256=sha("other"), size=2)
    with pytest.raises(TransitionError, match="P1"):
        apply(record, step(key), assess(record, world.look(record)))


@pytest.mark.parametrize("fields", [{"state_version": 9}, {"generation": 2}])
def test_completion_by_an_assessment_of_another_state_is_refused(fields: dict[str, Any]) -> None:
    earlier = finished()
    found = assess(earlier, World.of(earlier).look(earlier))
    with pytest.raises(TransitionError, match="another record"):
        apply(finished(**fields), step(f"complete:{earlier.task_id}"), found)


def test_completion_by_an_assessment_from_before_a_change_is_refused() -> None:
    """A change that wasn't saved yet makes another record too."""
    record = finished()
    found = assess(record, World.of(record).look(record))
    for declared in (NewCriteria(items={"delivery": "Weeks"}), NewObjective(text="Compare five")):
        with pytest.raises(TransitionError):
            apply(change(record, declared), step(f"complete:{record.task_id}"), found)
    moved = apply(record, step("observe:P2"), SeenState(source=Source(version=7)))
    with pytest.raises(TransitionError):
        apply(moved, step(f"complete:{record.task_id}"), found)


def test_what_is_refused_changes_nothing_and_what_is_taken_makes_a_new_record() -> None:
    record = review()
    before = record.to_json()
    with pytest.raises(TransitionError):
        apply(record, step("validate:P3"), passed(record, "P3", criteria=1))
    assert apply(record, step("validate:P3"), passed(record, "P3")) is not record
    assert record.to_json() == before


def test_a_record_says_what_it_allows_after_each_transition() -> None:
    record = apply(review(), step("validate:P3"), passed(review(), "P3"))
    assert record.next_allowed == allowed(record)
    whole = RestartRecord.from_data(finished_data())
    assert f"complete:{whole.task_id}" in allowed(whole)
    assert finish(whole, World.of(whole))[0].next_allowed == ()
