"""What an assessment says of each thing, and by what."""

from __future__ import annotations

from typing import Any

import pytest

from taskstate.restart import Observed, RestartRecord, SeenEffect, SeenFile, assess

from .support import NOW, World, check, effect, finished, finished_data, missing, reference, review, sha, verdicts

pytestmark = pytest.mark.once


def test_all_that_is_verified_intact_and_current_is_complete() -> None:
    record = finished()
    found = assess(record, World.of(record).look(record))
    assert found.complete
    assert found.missing == ()
    assert set(verdicts(found).values()) == {"keep"}
    assert set(verdicts(found, "source").values()) == {"keep"}
    assert (found.task_id, found.state_version, found.at, found.status) == (record.task_id, 8, NOW, "open")


@pytest.mark.parametrize("what", ["out/H1", "out/draft", "P1"])
def test_what_was_not_looked_at_is_not_trusted(what: str) -> None:
    record = finished()
    found = assess(record, World.of(record, unseen={what}).look(record))
    unit = "comparison" if what == "out/draft" else "P1"
    assert found.item("unit", unit).verdict == "validate"
    assert not found.complete


def test_an_observation_that_saw_nothing_keeps_nothing() -> None:
    found = assess(finished(), Observed(now=NOW))
    assert "keep" not in verdicts(found).values()
    assert not found.complete


def test_a_fixed_source_cannot_go_stale() -> None:
    data = finished_data()
    data["sources"]["P1"]["nature"] = "fixed"
    record = RestartRecord.from_data(data)
    found = assess(record, World.of(record, unseen={"P1"}).look(record))
    assert (found.item("unit", "P1").verdict, found.item("unit", "P1").freshness) == ("keep", "fixed")
    assert found.complete


def test_what_was_made_from_another_version_of_a_fixed_source_is_out_of_scope() -> None:
    data = finished_data()
    data["sources"]["P1"] |= {"nature": "fixed", "version": 2}
    record = RestartRecord.from_data(data)
    found = assess(record, World.of(record).look(record))
    assert (found.item("unit", "P1").verdict, found.item("unit", "P1").scope) == ("stale", "out")
    assert not found.complete


def test_a_named_version_that_the_artifact_is_not_of_is_out_of_scope() -> None:
    objective = {"version": 2, "text": "Compare", "scope": {"kind": "named", "versions": {"P2": 5}}}
    record = finished(objective=objective)
    item = assess(record, World.of(record).look(record)).item("unit", "P2")
    assert (item.verdict, item.scope) == ("stale", "out")
    assert any("5" in reason for reason in item.because)


def test_a_scope_that_names_one_source_leaves_the_others_at_their_latest_state() -> None:
    objective = {"version": 2, "text": "Compare", "scope": {"kind": "named", "versions": {"P2": 6}}}
    record = finished(objective=objective)
    world = World.of(record)
    world.sources |= {"P1": 2, "P2": 7}
    found = assess(record, world.look(record))
    assert (verdicts(found)["P1"], verdicts(found)["P2"]) == ("stale", "keep")


def test_a_failed_check_is_to_be_done_again_with_its_reason() -> None:
    data = finished_data()
    data["artifacts"]["H1"]["verification"] = check("H1", state="failed")
    data["completion_rule"]["units"]["P1"]["state"] = "present"
    record = RestartRecord.from_data(data)
    found = assess(record, World.of(record).look(record))
    assert found.item("unit", "P1").verdict == "redo"
    assert "a field is missing" in " ".join(found.item("unit", "P1").because)
    assert "evidence/H1.json" in " ".join(found.item("unit", "P1").because)


def test_a_check_of_other_bytes_is_no_check() -> None:
    data = finished_data()
    data["artifacts"]["H1"]["verification"]["sha256"] = sha("other")
    data["completion_rule"]["units"]["P1"]["state"] = "present"
    record = RestartRecord.from_data(data)
    assert assess(record, World.of(record).look(record)).item("unit", "P1").verdict == "validate"


def test_a_check_by_earlier_criteria_is_to_be_repeated() -> None:
    criteria = {"version": 4, "items": {"price": "Total price"}}
    record = finished(criteria=criteria, criteria_history=[{"version": 3}])
    found = assess(record, World.of(record).look(record))
    assert set(verdicts(found).values()) == {"recheck"}
    assert not found.complete


def test_what_is_made_from_something_stale_is_to_be_made_again_and_its_siblings_are_not() -> None:
    record = finished()
    world = World.of(record)
    world.sources["P3"] = 2
    found = assess(record, world.look(record))
    assert verdicts(found) == {**dict.fromkeys(("P1", "P2", "P4"), "keep"), "P3": "stale", "comparison": "redo"}
    assert any("P3" in reason for reason in found.item("unit", "comparison").because)


def test_what_was_made_from_an_earlier_artifact_of_a_unit_is_to_be_made_again() -> None:
    data = finished_data()
    data["artifacts"]["draft"]["made_from"]["artifacts"]["P1"] = sha("old")
    record = RestartRecord.from_data(data)
    assert assess(record, World.of(record).look(record)).item("unit", "comparison").verdict == "redo"


def test_work_begun_by_a_worker_that_is_gone_counts_as_nobodys() -> None:
    data: dict[str, Any] = {**review().to_data(), "generation": 2}
    data["completion_rule"]["units"]["P4"]["begun"] = 1
    record = RestartRecord.from_data(data)
    item = assess(record, World.of(record).look(record)).item("unit", "P4")
    assert item.verdict == "pending"
    assert any("generation 1" in reason for reason in item.because)


def test_an_artifact_of_no_required_unit_and_a_superseded_one_are_history() -> None:
    data = finished_data()
    data["artifacts"]["notes"] = reference("notes")
    data["superseded"] = [{"id": "H0", "artifact": reference("H0"), "because": "P1 moved"}]
    record = RestartRecord.from_data(data)
    found = assess(record, World.of(record).look(record))
    assert found.item("artifact", "notes").verdict == "history"
    item = found.item("superseded", "H0")
    assert (item.verdict, item.integrity, item.because) == ("history", "missing", ("P1 moved",))
    assert found.complete


@pytest.mark.parametrize("state", ["pending", "unknown"])
@pytest.mark.parametrize("seen", [None, "applied", "not_applied", "unknown"])
def test_an_effect_is_unsettled_until_its_answer_is_recorded(state: str, seen: str | None) -> None:
    """An answer that a probe saw isn't on record yet."""
    record = finished(pending_effects={"e": effect(state)})
    world = World.of(record, effects={} if seen is None else {"e": seen})
    found = assess(record, world.look(record))
    assert found.item("effect", "e").verdict == "reconcile"
    assert missing(found) == {("effect", "e", "not reconciled")}


@pytest.mark.parametrize("state", ["applied", "not_applied"])
def test_a_settled_effect_stays_settled_until_somebody_contradicts(state: str) -> None:
    record = finished(pending_effects={"e": effect(state)})
    for seen in (None, state, "unknown"):
        world = World.of(record, effects={} if seen is None else {"e": seen})
        found = assess(record, world.look(record))
        assert (found.item("effect", "e").verdict, found.complete) == ("settled", True)
    other = "applied" if state == "not_applied" else "not_applied"
    found = assess(record, World.of(record, effects={"e": other}).look(record))
    assert found.item("effect", "e").verdict == "reconcile"
    assert not found.complete


def test_a_task_without_required_units_is_never_complete() -> None:
    record = finished(completion_rule={})
    assert not assess(record, World.of(record).look(record)).complete


def test_a_covering_unit_counts_only_while_it_is_kept() -> None:
    record = finished()
    world = World.of(record)
    del world.files["out/draft"]
    found = assess(record, world.look(record))
    assert {("criterion", "price", "not covered"), ("criterion", "warranty", "not covered")} <= missing(found)


def test_a_file_without_a_record_is_an_orphan_and_no_completion_waits_for_it() -> None:
    record = finished()
    world = World.of(record)
    world.files["out/odd"] = SeenFile(sha256=sha("odd"), size=3)
    found = assess(record, world.look(record))
    assert (found.item("file", "out/odd").verdict, found.complete) == ("orphan", True)


def test_the_reasons_name_records_and_observations() -> None:
    record = review()
    world = World.of(record, effects={})
    world.sources["P2"] = 7
    found = assess(record, world.look(record))
    assert "artifact:H2" in found.item("unit", "P2").because
    assert any(reason.startswith("source:P2") and "7" in reason for reason in found.item("unit", "P2").because)
    assert all(item.because for item in found.items)


def test_an_item_that_is_not_there_is_a_key_error() -> None:
    found = assess(review(), Observed(now=NOW, effects={"nobody": SeenEffect(state="applied")}))
    with pytest.raises(KeyError):
        found.item("effect", "nobody")
