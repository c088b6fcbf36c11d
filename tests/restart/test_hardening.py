"""Ways in which a record could come to be believed, or work to be repeated, without evidence."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pytest

from taskstate.errors import InvalidRecordError, TransitionError
from taskstate.restart import (
    Authorization,
    Authorize,
    BeginEffect,
    LoseEffect,
    NewCriteria,
    NewObjective,
    Notes,
    Observed,
    RestartRecord,
    SeenSource,
    SetStatus,
    SettledEffect,
    Step,
    apply,
    assess,
    change,
    handoff,
    judge_handoff,
    plan,
)
from taskstate.restart.secrets import redact_text

from .support import World, effect_part, finish, finished, keys, passed, plan_of, review, sha, step

pytestmark = pytest.mark.once


@pytest.mark.parametrize("order", [("P1", "P2"), ("P2", "P1")])
def test_a_source_that_was_not_looked_at_leaves_all_open_wherever_it_stands(order: tuple[str, str]) -> None:
    units = {"u": {"artifact": "a", "state": "verified", "sources": order}}
    data = finished().to_data()
    artifact = {**data["artifacts"]["H1"], "made_from": {"sources": {"P1": 1, "P2": 6}, "objective": 2, "criteria": 3}}
    scope = {"kind": "named", "versions": {"P2": 6}}
    record = RestartRecord.from_data(
        {
            "task_id": "t",
            "objective": {"version": 2, "text": "o", "scope": scope},
            "criteria": {"version": 3},
            "sources": {"P1": {"version": 1}, "P2": {"version": 6}},
            "artifacts": {"a": artifact},
            "completion_rule": {"units": units},
        }
    )
    seen = World.of(record).look(record).model_copy(update={"sources": {"P2": SeenSource(version=7)}})
    found = assess(record, seen)
    assert (found.item("unit", "u").verdict, found.complete) == ("validate", False)


def test_a_source_of_the_same_version_with_other_bytes_has_moved() -> None:
    data = finished().to_data()
    data["sources"]["P1"]["sha256"] = sha("old")
    record = RestartRecord.from_data(data)
    seen = World.of(record).look(record)
    moved = {**seen.sources, "P1": SeenSource(version=1, sha256=sha("new"))}
    found = assess(record, seen.model_copy(update={"sources": moved}))
    assert found.item("source", "P1").verdict == found.item("unit", "P1").verdict == "stale"
    assert not found.complete


def test_a_check_for_another_objective_or_older_than_the_one_on_record_is_refused() -> None:
    record = finished()
    check = passed(record, "comparison")
    changed = change(record, NewObjective(text="something else"))
    with pytest.raises(TransitionError, match="another objective"):
        apply(changed, step("recheck:comparison"), check)
    with pytest.raises(TransitionError, match="older"):
        apply(record, step("validate:P1"), passed(record, "P1", at=0))


def test_earlier_checks_stay_with_their_artifact() -> None:
    record = change(finished(), NewCriteria(items={"price": "Net price"}))
    before = record.artifacts["H1"].verification
    after = apply(record, step("recheck:P1"), passed(record, "P1"))
    assert after.artifacts["H1"].earlier_checks == (before,)


def test_fewer_transitions_than_are_allowed_can_be_given_and_no_others_are_taken() -> None:
    record = review(next_allowed=["validate:P3"])
    with pytest.raises(TransitionError, match="not allowed now"):
        apply(record, step("validate:comparison"), passed(record, "comparison"))
    assert apply(record, step("validate:P3"), passed(record, "P3")).next_allowed != ("validate:P3",)


def test_a_plan_ends_where_a_source_is_gone() -> None:
    """Nothing is made again and again, and nothing is planned that can't be done in its turn."""
    record = review()
    world = World.of(record)
    world.sources["P4"] = "gone"
    for _ in range(4):
        due = plan_of(record, world)
        assert not any(key.endswith((":P4", ":supplier-review-22")) for key in keys(due))
        before = record
        for transition in due.transitions:
            record = apply(record, transition, world.evidence(record, transition))
        if record is before:
            break
    assert record is before
    assert any("P4" in told for told in due.unresolved)


def test_one_request_is_not_begun_again_while_nobody_knows_what_became_of_it() -> None:
    record = change(review(), Authorize(authorized=(Authorization(kind="order"),)))
    record = change(record, BeginEffect(effect_id="a", effect=effect_part()))
    record = change(record, LoseEffect(effect_id="a"))
    for again in (effect_part(idempotency_key="k2"), effect_part(target="another", request_hash=sha("another"))):
        with pytest.raises(TransitionError):
            change(record, BeginEffect(effect_id="b", effect=again))


@pytest.mark.parametrize("declared", [None, "a poem", step("make:P4")])
def test_what_is_no_change_is_refused(declared: Any) -> None:
    with pytest.raises(TransitionError, match="no change"):
        change(review(), declared)


def test_a_done_task_can_be_opened_again() -> None:
    done, _ = finish(finished(), World.of(finished()))
    assert done.status == "done"
    assert change(done, SetStatus(status="open")).status == "open"
    with pytest.raises(TransitionError):
        change(done, SetStatus(status="paused"))


def test_what_was_assessed_before_a_change_makes_no_packet() -> None:
    record = finished()
    found = assess(record, World.of(record).look(record))
    with pytest.raises(InvalidRecordError, match="has changed since"):
        handoff(change(record, NewObjective(text="something else")), found)


def test_secrets_in_ids_stay_out_of_errors() -> None:
    token = "ghp_" + "a" * 36
    with pytest.raises(InvalidRecordError) as caught:
        RestartRecord.from_data({"task_id": "t", "objective": {"text": "o"}, "artifacts": {token: {"location": 3}}})
    with pytest.raises(TransitionError) as refused:
        apply(review(), step(f"make:{token}"), passed(review(), "P3"))
    assert token not in f"{caught.value} {refused.value}"


def test_the_dicts_of_a_record_stay_as_they_are() -> None:
    record = review()
    later = apply(record, step("validate:P3"), passed(record, "P3"))
    for mapping in (record.sources, later.completion_rule.units, later.artifacts):
        with pytest.raises(TypeError, match="doesn't change"):
            mapping.clear()
        mapping.__init__({})  # type: ignore[misc]
        assert mapping
    assert pickle.loads(pickle.dumps(later)) == later


def test_many_units_are_handled_in_time() -> None:
    units = {f"u{number}": {"units": [f"u{number - 1}"] if number % 50 else []} for number in range(3000)}
    record = RestartRecord.from_data({"task_id": "t", "objective": {"text": "o"}, "completion_rule": {"units": units}})
    start = time.perf_counter()
    plan(assess(record, Observed(now=1)))
    change(record, NewObjective(text="another"))
    assert time.perf_counter() - start < 5


def test_text_that_nearly_is_a_secret_is_read_in_linear_time() -> None:
    start = time.perf_counter()
    redact_text("token=a1" * 6000 + "(")
    redact_text("secret=1/" * 6000 + "(")
    assert time.perf_counter() - start < 3


def test_a_packet_from_before_a_change_that_was_not_saved_is_superseded() -> None:
    record = change(review(), Authorize(authorized=(Authorization(kind="order"),)))
    record = change(record, BeginEffect(effect_id="a", effect=effect_part()))
    packet = handoff(record, assess(record, World.of(record).look(record)))
    assert judge_handoff(packet, record).freshness == "current"
    answered = apply(record, step("reconcile:a"), SettledEffect(state="applied", evidence="receipt:1"))
    assert judge_handoff(packet, answered).freshness == "superseded"


def test_what_the_last_worker_meant_to_do_is_forgotten_once_work_is_recorded() -> None:
    record = change(review(), Notes(next_step=Step(text="start with P1", ends_when="P1 is extracted")))
    assert apply(record, step("validate:P3"), passed(record, "P3")).next_step is None


def test_a_given_list_of_transitions_outlives_what_is_no_transition() -> None:
    record = review(next_allowed=["validate:P3"])
    for declared in (Notes(phase="read"), Authorize(authorized=())):
        record = change(record, declared)
    assert record.next_allowed == ("validate:P3",)
    assert change(record, NewObjective(text="another")).next_allowed != ("validate:P3",)
