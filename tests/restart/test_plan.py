"""What a plan holds, in which order, and why."""

from __future__ import annotations

from typing import Any

import pytest

from taskstate.restart import RestartRecord, SeenFile, assess, change, plan
from taskstate.restart.transitions import SetStatus

from .support import World, effect, finish, finished, finished_data, follow, keys, plan_of, review, review_data, sha

pytestmark = pytest.mark.once


def test_all_kept_leaves_the_completion_alone() -> None:
    record = finished()
    assert keys(plan_of(record, World.of(record))) == [f"complete:{record.task_id}"]


def test_a_task_that_is_done_has_nothing_left_to_do() -> None:
    record = finished()
    done, _ = finish(record, World.of(record))
    due = plan_of(done, World.of(done))
    assert due.transitions == ()
    assert set(due.resumes_from) == set(done.completion_rule.units)


@pytest.mark.parametrize("status", ["paused", "abandoned"])
def test_nothing_is_due_while_nobody_may_work(status: Any) -> None:
    record = change(review(), SetStatus(status=status))
    due = plan_of(record, World.of(record))
    assert due.transitions == ()
    assert due.resumes_from == ("P1", "P2")


def test_effects_come_first_then_sources_then_checks_then_work() -> None:
    record = review(pending_effects={"e1": effect("pending"), "e2": effect(), "e3": effect("applied")})
    world = World.of(record)
    world.sources["P2"] = 7
    due = keys(plan_of(record, world))
    assert due[:4] == ["reconcile:e1", "reconcile:e2", "observe:P2", "validate:P3"]
    assert due[-1] == f"complete:{record.task_id}"


def test_a_unit_comes_after_those_that_it_is_made_from() -> None:
    data = review_data()
    units = data["completion_rule"]["units"]
    data["completion_rule"]["units"] = {"comparison": {**units.pop("comparison"), "partial": False}, **units}
    record = RestartRecord.from_data(data)
    due = keys(plan_of(record, World.of(record)))
    assert due == [
        "validate:P3",
        "make:P4",
        "validate:P4",
        "remake:comparison",
        "validate:comparison",
        f"complete:{record.task_id}",
    ]


def test_what_is_made_is_checked_next() -> None:
    record = review()
    due = keys(plan_of(record, World.of(record)))
    for place, key in enumerate(due):
        op, _, subject = key.partition(":")
        if op in ("make", "remake", "attach"):
            assert due[place + 1] == f"validate:{subject}"


def test_a_partial_unit_that_was_never_made_is_made_once_and_then_remade() -> None:
    """Every step is one that the record allows when its turn comes."""
    data = review_data()
    data["completion_rule"]["units"]["comparison"] = {"units": ["P1", "P2", "P3", "P4"], "partial": True}
    del data["artifacts"]["draft"]
    record = RestartRecord.from_data(data)
    due = keys(plan_of(record, World.of(record)))
    assert [key for key in due if key.endswith("make:comparison")] == ["make:comparison", "remake:comparison"]
    assert finish(record, World.of(record))[1] == due


def test_a_partial_unit_whose_file_was_found_is_attached_before_it_is_remade() -> None:
    """An orphan isn't passed over because something could be made in its place."""
    data = review_data()
    data["completion_rule"]["units"]["comparison"] = {
        "units": ["P1", "P2", "P3", "P4"],
        "partial": True,
        "location": "out/draft",
    }
    del data["artifacts"]["draft"]
    record = RestartRecord.from_data(data)
    world = World.of(record)
    world.files["out/draft"] = SeenFile(sha256=sha("draft"), size=5)
    due = [key for key in keys(plan_of(record, world)) if key.endswith(":comparison")]
    assert due[0] == "attach:comparison"
    assert "make:comparison" not in due


def test_a_partial_unit_that_took_in_all_that_is_there_waits_for_the_rest() -> None:
    """The comparison of three isn't made again before the fourth extract is there."""
    record = review()
    world = World.of(record)
    record, _ = follow(record, world, only=["validate:P3", "remake:comparison", "validate:comparison"])
    due = keys(plan_of(record, world))
    assert due[:3] == ["make:P4", "validate:P4", "remake:comparison"]


def test_every_transition_says_why_and_when_it_has_ended() -> None:
    record = review(pending_effects={"e1": effect()})
    world = World.of(record)
    world.sources["P2"] = 7
    for transition in plan_of(record, world).transitions:
        assert transition.because
        assert transition.ends_when
    because = {transition.key: transition.because for transition in plan_of(record, world).transitions}
    assert "artifact:H2" in because["remake:P2"]
    assert any("7" in reason for reason in because["remake:P2"])
    assert "artifact:H3" in because["validate:P3"]
    assert any(reason.startswith("effect:e1") for reason in because["reconcile:e1"])


def test_no_transition_writes_to_the_outside() -> None:
    """What is authorized changes no plan."""
    data = review_data()
    allowed = RestartRecord.from_data({**data, "authorized": [{"kind": "order"}]})
    record = RestartRecord.from_data(data)
    assert plan_of(allowed, World.of(allowed)) == plan_of(record, World.of(record))


def test_what_is_unresolved_is_carried_along() -> None:
    record = review(unresolved=[{"id": "u", "text": "Is P4 binding?"}])
    due = plan(assess(record, World.of(record).look(record)))
    assert any("Is P4 binding?" in text for text in due.unresolved)
    assert (due.task_id, due.state_version) == (record.task_id, record.state_version)


def test_a_source_that_is_gone_is_told_as_unresolved() -> None:
    """No step of the plan can end for it: nobody can see it, nor make anything from it."""
    record = review()
    world = World.of(record)
    world.sources["P4"] = "gone"
    due = plan_of(record, world)
    assert "make:P4" not in keys(due)
    assert any("P4" in text for text in due.unresolved)


def test_a_contradicted_effect_is_told_as_unresolved() -> None:
    record = finished(pending_effects={"e": effect("applied")})
    due = plan_of(record, World.of(record, effects={"e": "not_applied"}))
    assert "reconcile:e" not in keys(due)
    assert any("e" in text.split() for text in due.unresolved)


def test_the_same_assessment_gives_the_same_plan() -> None:
    record = RestartRecord.from_data(finished_data())
    world = World.of(record)
    world.sources["P2"] = 7
    found = assess(record, world.look(record))
    assert plan(found).model_dump_json() == plan(found).model_dump_json()
