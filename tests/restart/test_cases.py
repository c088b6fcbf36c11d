"""The restart lesson's own cases: what a restart does in each of them."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from taskstate.errors import TransitionError
from taskstate.restart import Observed, RestartRecord, SeenFile, apply, assess, change, plan
from taskstate.restart.parts import Source
from taskstate.restart.transitions import (
    Change,
    Evidence,
    LoseEffect,
    Made,
    Notes,
    SettledEffect,
)

from .support import (
    World,
    effect,
    failed,
    finish,
    finished,
    finished_data,
    follow,
    keys,
    missing,
    passed,
    reference,
    review,
    sha,
    step,
    verdicts,
)

pytestmark = pytest.mark.once


def test_restart_after_p3_was_extracted_but_not_checked() -> None:
    """P3 is validated, the comparison is rebuilt from three, P4 is read next; P1 and P2 aren't touched."""
    record = review()
    world = World.of(record)
    due = plan(assess(record, world.look(record)))
    assert keys(due)[:5] == ["validate:P3", "remake:comparison", "validate:comparison", "make:P4", "validate:P4"]
    assert due.resumes_from == ("P1", "P2")
    assert not {"P1", "P2"} & {transition.subject for transition in due.transitions}
    three, _ = follow(record, world, only=keys(due)[:3])
    draft = three.artifacts[three.completion_rule.units["comparison"].artifact or ""]
    assert draft.made_from.artifacts == {"P1": sha("H1"), "P2": sha("H2"), "P3": sha("H3")}
    done, steps = finish(record, world)
    assert steps == keys(due)
    assert done.status == "done"
    assert [done.artifacts[name].sha256 for name in ("H1", "H2", "H3")] == [sha("H1"), sha("H2"), sha("H3")]
    assert set(done.artifacts[done.completion_rule.units["comparison"].artifact or ""].covers) == {"price", "warranty"}


def test_restart_after_p3_was_extracted_but_its_check_fails() -> None:
    """The reason is kept, and P3 alone is extracted again, from the version that its source has now."""
    record = review()
    record = apply(record, step("validate:P3"), failed(record, "P3"))
    found = assess(record, World.of(record).look(record))
    assert verdicts(found) == {"P1": "keep", "P2": "keep", "P3": "redo", "P4": "pending", "comparison": "redo"}
    assert any("the check says no" in reason for reason in found.item("unit", "P3").because)
    world = World.of(record)
    done, steps = finish(record, world)
    assert "remake:P3" in steps
    assert not {"P1", "P2"} & {key.partition(":")[2] for key in steps}
    old = next(entry for entry in done.superseded if entry.id == "H3")
    assert old.artifact.verification.reason == "the check says no"


def test_p2_moved_to_version_7_and_the_objective_is_about_the_latest_state() -> None:
    """Intact, but stale: version 7 is extracted, and version 6 is kept as history."""
    record = review()
    world = World.of(record)
    world.sources["P2"] = 7
    found = assess(record, world.look(record))
    item = found.item("unit", "P2")
    assert (item.verdict, item.integrity, item.freshness, item.scope) == ("stale", "intact", "moved", "out")
    assert "P2 version 6" in item.prior
    due = keys(plan(found))
    assert due.index("observe:P2") < due.index("remake:P2") < due.index("validate:P2")
    assert "P1" not in {key.partition(":")[2] for key in due}
    done, _ = finish(record, world)
    assert done.artifacts[done.completion_rule.units["P2"].artifact or ""].made_from.sources == {"P2": 7}
    history = assess(done, world.look(done)).item("superseded", "H2")
    assert (history.verdict, history.integrity) == ("history", "intact")
    assert "P2 version 6" in history.prior


def test_p2_moved_to_version_7_and_the_objective_names_version_6() -> None:
    """Version 6 stays, and the result says that it is about version 6."""
    objective = {"version": 2, "text": "Compare", "scope": {"kind": "named", "versions": {"P2": 6}}}
    record = review(objective=objective)
    world = World.of(record)
    world.sources["P2"] = 7
    found = assess(record, world.look(record))
    item = found.item("unit", "P2")
    assert (item.verdict, item.freshness, item.scope) == ("keep", "moved", "in")
    assert "P2 at version 6" in found.scope
    assert plan(found).scope == found.scope
    done, steps = finish(record, world)
    assert not [key for key in steps if key.endswith("make:P2")]
    assert done.artifacts["H2"].made_from.sources == {"P2": 6}
    assert "P2 at version 6" in assess(done, world.look(done)).scope


@pytest.mark.parametrize("given", [Observed, *get_args(Evidence), *get_args(Change)])
def test_an_old_transcript_that_starts_with_p1_has_no_place_to_enter(given: Any) -> None:
    """Neither an observation nor evidence nor a change has room for it; notes hold it as a note only."""
    assert not {"transcript", "summary", "messages", "conversation"} & set(given.model_fields)


def test_an_old_transcript_that_starts_with_p1_changes_nothing() -> None:
    record = review()
    world = World.of(record)
    due = plan(assess(record, world.look(record)))
    noted = change(record, Notes(hypotheses=({"id": "t", "text": "I will start with P1", "confirmed_by": "x"},)))  # type: ignore[arg-type]
    assert keys(plan(assess(noted, world.look(noted)))) == keys(due)
    with pytest.raises(TransitionError, match="evidence"):
        apply(record, step("validate:P3"), "I will start with P1")  # type: ignore[arg-type]


@pytest.mark.parametrize("state", ["pending", "unknown"])
def test_provider_operation_is_unresolved_while_a_transcript_says_that_it_failed(state: str) -> None:
    """It stays unknown until the provider has answered; that is asked first, and nothing is done before."""
    record = finished(pending_effects={"order-1": effect(state)})
    record = change(record, Notes(failed_attempts=({"id": "a", "text": "the order probably failed"},)))  # type: ignore[arg-type]
    record = change(record, LoseEffect(effect_id="order-1"))
    assert record.pending_effects["order-1"].state == "unknown"
    world = World.of(record)
    found = assess(record, world.look(record))
    assert found.item("effect", "order-1").verdict == "reconcile"
    assert missing(found) == {("effect", "order-1", "not reconciled")}
    due = plan(found)
    assert keys(due)[0] == "reconcile:order-1"
    assert any("order-1" in text for text in due.unresolved)
    with pytest.raises(TransitionError):
        apply(record, step(f"complete:{record.task_id}"), found)
    with pytest.raises(TransitionError):
        apply(record, step("reconcile:order-1"), "the order probably failed")  # type: ignore[arg-type]
    world.effects["order-1"] = "applied"
    done, steps = finish(record, world)
    assert steps == ["reconcile:order-1", f"complete:{record.task_id}"]
    assert done.pending_effects["order-1"].evidence == "answer:order-1"


def test_a_provider_that_does_not_know_leaves_the_operation_unknown() -> None:
    record = finished(pending_effects={"order-1": effect()})
    world = World.of(record, effects={"order-1": "unknown"})
    found = assess(record, world.look(record))
    assert not found.complete
    assert found.item("effect", "order-1").verdict == "reconcile"
    with pytest.raises(ValueError, match="state"):
        SettledEffect(state="unknown", evidence="x")  # type: ignore[arg-type]


def test_expiry_of_an_artifact_that_observes_a_current_state() -> None:
    """It is stale from the moment that it names, though its bytes and sources are what they were."""
    data = finished_data()
    data["artifacts"]["H1"] |= {"nature": "current", "expires_at": 1_000}
    record = RestartRecord.from_data(data)
    world = World.of(record, now=999)
    assert assess(record, world.look(record)).complete
    world.now = 1_000
    found = assess(record, world.look(record))
    item = found.item("unit", "P1")
    assert (item.verdict, item.integrity, item.freshness) == ("stale", "intact", "expired")
    assert verdicts(found)["comparison"] == "redo"
    assert verdicts(found)["P2"] == "keep"
    _, steps = finish(record, world)
    assert [key for key in steps if key.startswith("remake:")] == ["remake:P1", "remake:comparison"]


def test_expiry_of_what_was_seen_of_a_source() -> None:
    """A source that nobody looked at since is to be looked at; what was made from it isn't trusted until then."""
    data = finished_data()
    data["sources"]["P1"] |= {"seen_at": 1, "expires_at": 1_000}
    record = RestartRecord.from_data(data)
    world = World.of(record, unseen={"P1"})
    found = assess(record, world.look(record))
    assert (found.item("source", "P1").verdict, found.item("source", "P1").freshness) == ("validate", "expired")
    assert found.item("unit", "P1").verdict == "validate"
    assert not found.complete
    assert keys(plan(found))[0] == "observe:P1"
    assert finish(record, world)[0].status == "done"


@pytest.mark.parametrize("now", [SeenFile(sha256=sha("other"), size=2), SeenFile(sha256=sha("H2"), size=3), None])
def test_an_artifact_whose_hash_differs(now: SeenFile | None) -> None:
    """It is made again, and what was made from it; nothing else is."""
    record = finished()
    world = World.of(record)
    if now is None:
        del world.files["out/H2"]
    else:
        world.files["out/H2"] = now
    found = assess(record, world.look(record))
    assert found.item("unit", "P2").integrity == ("missing" if now is None else "altered")
    assert verdicts(found) == {**dict.fromkeys(("P1", "P3", "P4"), "keep"), "P2": "redo", "comparison": "redo"}
    _, steps = finish(record, world)
    again = ["remake:P2", "validate:P2", "remake:comparison", "validate:comparison"]
    assert steps == [*again, f"complete:{record.task_id}"]


def test_completion_is_refused_with_four_extracts_but_an_uncovered_criterion() -> None:
    data = finished_data()
    data["artifacts"]["draft"]["covers"] = ["price"]
    record = RestartRecord.from_data(data)
    found = assess(record, World.of(record).look(record))
    assert not found.complete
    assert ("criterion", "warranty", "not covered") in missing(found)
    with pytest.raises(TransitionError, match="warranty"):
        apply(record, step(f"complete:{record.task_id}"), found)


def test_an_uncovered_criterion_leads_to_a_step_that_covers_it() -> None:
    """A plan that holds nothing but a completion that is refused leads nowhere."""
    data = finished_data()
    data["artifacts"]["draft"]["covers"] = ["price"]
    record = RestartRecord.from_data(data)
    done, steps = finish(record, World.of(record))
    assert "remake:comparison" in steps
    assert done.status == "done"


def test_a_matching_hash_says_nothing_about_freshness() -> None:
    """Integrity stays `intact` whatever the source says; freshness follows the source."""
    record = finished()
    world = World.of(record)
    seen = {}
    for version in (6, 7, "gone"):
        world.sources["P2"] = version
        item = assess(record, world.look(record)).item("unit", "P2")
        seen[version] = (item.integrity, item.freshness, item.verdict)
    assert seen == {
        6: ("intact", "current", "keep"),
        7: ("intact", "moved", "stale"),
        "gone": ("intact", "gone", "stale"),
    }


def test_three_edited_files_and_a_failed_test_run_are_on_record_apart_from_the_guess() -> None:
    """The coding handoff: files as they are, the observed failure, the labelled hypothesis, one bounded step."""
    units = {name: {"artifact": name, "state": "present"} for name in ("a.py", "b.py", "c.py")}
    notes = {
        "revision": "4f1c",
        "failed_attempts": [
            {"id": "run", "text": "tests", "command": "pytest -q", "exit_status": 1, "result": "out/log"}
        ],
        "hypotheses": [{"id": "h", "text": "the cache is shared", "confirmed_by": "a run without it"}],
        "next_step": {"text": "run test_cache alone", "ends_when": "it has passed or failed once"},
    }
    record = RestartRecord.from_data(
        {
            "task_id": "fix",
            "objective": {"version": 2, "text": "Make the tests pass"},
            "criteria": {"version": 3},
            "artifacts": {name: reference(name, checked="none") for name in units},
            "completion_rule": {"units": {**units, "tests": {"units": list(units)}}},
            **notes,
        }
    )
    found = assess(record, World.of(record).look(record))
    assert not found.complete
    assert verdicts(found) == {**dict.fromkeys(units, "validate"), "tests": "pending"}
    without = RestartRecord.from_data({**record.to_data(), "hypotheses": []})
    assert assess(without, World.of(without).look(without)).items == found.items
    assert RestartRecord.from_json(record.to_json()) == record


def test_a_source_that_moves_between_plan_and_work_is_not_passed_off_as_current() -> None:
    """What was made from version 6 can't be recorded when the source was seen at version 7."""
    record = review()
    world = World.of(record)
    old = world.evidence(record, step("remake:P2"))
    assert isinstance(old, Made)
    world.sources["P2"] = 7
    record = apply(record, step("observe:P2"), world.evidence(record, step("observe:P2")))
    with pytest.raises(TransitionError, match="P2"):
        apply(record, step("remake:P2"), old)
    checked = apply(record, step("validate:P2"), passed(record, "P2"))
    assert assess(checked, world.look(checked)).item("unit", "P2").verdict == "stale"
    assert checked.sources["P2"] == Source(version=7, seen_at=world.now)
