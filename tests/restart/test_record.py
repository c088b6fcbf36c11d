"""The restart record as data: JSON both ways, what is refused and where, and that nothing changes it."""

from __future__ import annotations

import datetime as dt
import json
import math
import pickle
import uuid
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from taskstate.errors import InvalidRecordError
from taskstate.restart import RestartRecord
from taskstate.restart.parts import Artifact, Effect, Objective, Verification

from .support import (
    World,
    check,
    effect,
    finished_data,
    keys,
    plan_of,
    reference,
    review,
    review_data,
    sha,
    verdicts_of,
)

pytestmark = pytest.mark.once
SECRET = "hunter2"
LEAST: dict[str, Any] = {"task_id": "t", "objective": {"text": "Do it"}}


def test_the_compact_teaching_record_can_be_written_and_round_trips() -> None:
    """Task, versions, four sources, a checked flag for each extract, no effects, one next step and the rule."""
    record = review(next_allowed=["validate:P3"])
    data = record.to_data()
    assert data == {**review_data(), "next_allowed": ["validate:P3"]}
    assert RestartRecord.from_data(data) == record
    assert RestartRecord.from_json(record.to_json()) == record
    assert (record.task_id, record.objective.version, record.criteria.version) == ("supplier-review-22", 2, 3)
    assert (record.state_version, record.phase, record.pending_effects) == (8, "extracting", {})
    assert record.next_allowed == ("validate:P3",)
    states = {name: unit.state for name, unit in record.completion_rule.units.items()}
    assert states == {"P1": "verified", "P2": "verified", "P3": "present", "P4": "pending", "comparison": "present"}
    assert keys(plan_of(record, World.of(record)))[0] == "validate:P3"


def test_what_is_at_its_default_is_left_out_and_the_version_of_the_schema_is_not() -> None:
    record = RestartRecord.from_data(LEAST)
    assert record.to_data() == {"schemaVersion": 1, **LEAST}
    assert record.authorized == ()


def test_every_field_goes_through_json_and_back() -> None:
    begun = {name: value for name, value in effect("pending").items() if name != "state"}  # its default
    full = {
        **finished_data(),
        "generation": 4,
        "status": "paused",
        "next_allowed": ["reconcile:b"],
        "revision": "4f1c",
        "objective_history": [{"text": "Compare three", "since": 1}],
        "criteria_history": [{"items": {"price": "Price"}}, {"version": 2}],
        "constraints": ["read only"],
        "authorized": [{"kind": "mail"}, {"kind": "order", "target": "firm"}],
        "superseded": [{"id": "H2", "artifact": reference("H2", sources={"P2": "v5"}), "because": "P2 moved"}],
        "pending_effects": {"a": begun, "b": effect(), "c": effect("applied"), "d": effect("not_applied")},
        "decisions": [{"id": "d", "text": "Prices without tax"}],
        "unresolved": [{"id": "u", "text": "Is P4 binding?"}],
        "hypotheses": [{"id": "h", "text": "P4 is older", "confirmed_by": "its date"}],
        "failed_attempts": [{"id": "f", "text": "tests", "command": "pytest", "exit_status": -9, "result": "out/log"}],
        "next_step": {"text": "read P4", "ends_when": "its extract is recorded"},
    }
    full["sources"]["P1"] |= {
        "location": "in/P1",
        "sha256": sha("P1"),
        "nature": "fixed",
        "seen_at": 1,
        "expires_at": 2,
    }
    full["artifacts"]["H1"] |= {"nature": "current", "made_at": 1, "expires_at": 2, "covers": ["price"]}
    full["completion_rule"]["units"]["P1"] |= {"verifier": "schema", "location": "out/H1", "begun": 3}
    record = RestartRecord.from_data(full)
    assert record.to_data() == full
    assert json.loads(record.to_json()) == full
    assert pickle.loads(pickle.dumps(record)) == record


def test_the_same_record_gives_the_same_bytes() -> None:
    assert review().to_json() == review().to_json() == RestartRecord.from_json(review().to_json()).to_json()


def changed(path: str, value: Any) -> dict[str, Any]:
    """The review as data, with another value at a path."""
    data: dict[str, Any] = review_data()
    *parents, last = path.split("/")
    place = data
    for name in parents:
        place = place.setdefault(name, {})
    place[last] = value
    return data


FAULTS = {
    "task_id": "",
    "status": SECRET,
    "state_version": -1,
    "generation": 0,
    "schemaVersion": 2,
    "objective/version": 0,
    "objective/text": "  ",
    "objective/scope": {"kind": "named"},
    "sources/P1/version": True,
    "sources/P1/nature": SECRET,
    "sources/P1/expires_at": 1.5,
    "artifacts/H1/sha256": SECRET,
    "artifacts/H2/sha256": sha("H2") + "\n",
    "artifacts/H1/size": -1,
    "artifacts/H1/verification/state": SECRET,
    "artifacts/H1/verification/evidence": None,
    "artifacts/H3/verification": check("H3", state="failed") | {"reason": None},
    "artifacts/H3/made_from/artifacts/P1": SECRET,
    "pending_effects/e": effect("applied") | {"evidence": None},
    "pending_effects/f": effect("unknown") | {"evidence": SECRET},
    "pending_effects/g": effect(SECRET),
    "completion_rule/units/P1/artifact": SECRET,
    "completion_rule/units/P4/state": "verified",
    "completion_rule/units/P3/state": "verified",
    "completion_rule/units/P1/sources": [SECRET],
    "completion_rule/units/P1/units": ["comparison"],
    "completion_rule/covering": [SECRET],
    "criteria_history": [{"version": 3}],
    "objective_history": [{"version": 1, "text": "a"}, {"version": 1, "text": "b"}],
    "decisions": [{"id": "d", "text": SECRET}, {"id": "d", "text": SECRET}],
    "constraints": [SECRET, 1],
}


@pytest.mark.parametrize("path", FAULTS)
def test_a_fault_is_refused_with_its_place_and_nothing_of_the_data(path: str) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        RestartRecord.from_data(changed(path, FAULTS[path]))
    text = str(caught.value)
    place = path.split("/")
    assert place[0] in text or place[-1] in text
    assert SECRET not in text
    assert SECRET not in repr(caught.value)
    assert caught.value.__cause__ is None


def test_every_fault_is_told() -> None:
    data = changed("status", SECRET)
    data["sources"]["P1"]["nature"] = SECRET
    data["artifacts"]["H1"]["size"] = "1"
    with pytest.raises(InvalidRecordError) as caught:
        RestartRecord.from_data(data)
    assert {place for place, _ in caught.value.faults} == {"status", "sources.P1.nature", "artifacts.H1.size"}


def test_units_that_are_made_from_each_other_are_refused() -> None:
    data = review_data()
    data["completion_rule"]["units"]["P4"]["units"] = ["comparison"]
    with pytest.raises(InvalidRecordError, match=r"completion_rule\.units"):
        RestartRecord.from_data(data)


@pytest.mark.parametrize("fields", [{}, {"pending_effects": {"e": effect()}}])
def test_a_record_that_says_done_without_being_it_is_refused(fields: dict[str, Any]) -> None:
    data = finished_data() if fields else review_data()
    with pytest.raises(InvalidRecordError, match="done"):
        RestartRecord.from_data({**data, **fields, "status": "done"})


def test_a_task_without_required_units_cannot_be_done() -> None:
    """No rule is met where there is none."""
    with pytest.raises(InvalidRecordError, match="done"):
        RestartRecord.from_data({**LEAST, "status": "done"})


def test_a_unit_that_is_verified_needs_a_check_of_the_very_bytes_that_are_recorded() -> None:
    data = review_data()
    data["artifacts"]["H1"]["verification"]["sha256"] = sha("other")
    with pytest.raises(InvalidRecordError, match="P1"):
        RestartRecord.from_data(data)


def test_a_unit_that_is_present_has_not_passed_its_check() -> None:
    data = review_data()
    data["completion_rule"]["units"]["P1"]["state"] = "present"
    with pytest.raises(InvalidRecordError, match="P1"):
        RestartRecord.from_data(data)


def test_a_unit_that_was_checked_by_another_verifier_is_not_verified() -> None:
    data = review_data()
    data["completion_rule"]["units"]["P1"]["verifier"] = "another"
    record_or_none: RestartRecord | None
    try:
        record_or_none = RestartRecord.from_data(data)
    except InvalidRecordError:
        record_or_none = None
    assert record_or_none is None or verdicts_of(record_or_none)["P1"] != "keep"


def test_two_units_do_not_share_an_artifact() -> None:
    data = review_data()
    data["completion_rule"]["units"]["P4"] |= {"artifact": "H3", "state": "present"}
    with pytest.raises(InvalidRecordError):
        RestartRecord.from_data(data)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("path", ["sources/P1/expires_at", "artifacts/H1/expires_at", "objective/since"])
def test_nan_and_infinity_are_refused_in_data(path: str, value: float) -> None:
    """As null they would say that nothing expires."""
    with pytest.raises(InvalidRecordError):
        RestartRecord.from_data(changed(path, value))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "1.0", "1e0", "true", '"1"'])
def test_what_is_no_whole_number_is_refused_in_json(value: str) -> None:
    text = json.dumps(changed("sources/P1/expires_at", 777_777_777)).replace("777777777", value)
    with pytest.raises(InvalidRecordError, match="expires_at"):
        RestartRecord.from_json(text)


@pytest.mark.parametrize("value", ["true", "1.0"])
def test_the_version_of_the_schema_is_a_whole_number(value: str) -> None:
    with pytest.raises(InvalidRecordError, match="schemaVersion"):
        RestartRecord.from_json(f'{{"schemaVersion": {value}, "task_id": "t", "objective": {{"text": "o"}}}}')


class Name(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value", [uuid.UUID(int=0), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), Name("t"), b"t", object(), "\ud800", 2**64]
)
def test_what_is_no_json_value_is_refused_in_data(value: Any) -> None:
    with pytest.raises(InvalidRecordError):
        RestartRecord.from_data({**LEAST, "phase": value})


@pytest.mark.parametrize("text", ["", "{", "[]", "null", f"{SECRET}", b"\xff", '{"task_id": "\\ud800"}', "[" * 9_999])
def test_what_is_no_json_object_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidRecordError) as caught:
        RestartRecord.from_json(text)
    assert SECRET not in str(caught.value)


def test_a_field_that_nobody_knows_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidRecordError, match=r"sources\.P1\.colour"):
        RestartRecord.from_data(changed("sources/P1/colour", SECRET))


MUTATIONS: dict[str, Callable[[RestartRecord], Any]] = {
    "a field": lambda record: setattr(record, "status", "done"),
    "a field of a part": lambda record: setattr(record.objective, "version", 9),
    "a field that isn't there": lambda record: setattr(record, "colour", "red"),
    "the sources": lambda record: record.sources.pop("P1"),
    "the artifacts": lambda record: record.artifacts.clear(),
    "the effects": lambda record: record.pending_effects.update(e=Effect(**effect())),
    "the units": lambda record: record.completion_rule.units.pop("P4"),
    "what an artifact was made from": lambda record: record.artifacts["H2"].made_from.sources.update(P2=7),
    "the criteria": lambda record: record.criteria.items.clear(),
}


@pytest.mark.parametrize("what", MUTATIONS)
def test_nothing_in_a_record_can_be_changed(what: str) -> None:
    """Neither by an assignment nor through a mapping that it holds."""
    record = review()
    before = record.to_json()
    with pytest.raises((ValidationError, AttributeError, TypeError)):
        MUTATIONS[what](record)
    assert record.to_json() == before


def test_a_record_keeps_nothing_of_the_data_that_it_was_made_of() -> None:
    data = review_data()
    record = RestartRecord.from_data(data)
    before = record.to_json()
    data["sources"].clear()
    data["artifacts"]["H1"]["made_from"]["sources"]["P1"] = 9
    copy = record.to_data()
    copy["completion_rule"]["units"].clear()
    assert record.to_json() == before


def test_the_parts_are_checked_when_they_are_built_in_python_too() -> None:
    with pytest.raises(ValidationError):
        Objective(version="2", text="x")  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Verification(state="passed")
    with pytest.raises(ValidationError):
        Artifact(location="x", sha256="abc", size=1)


def test_the_order_of_the_units_puts_each_after_those_that_it_is_made_from() -> None:
    data = review_data()
    units = data["completion_rule"]["units"]
    data["completion_rule"]["units"] = {"comparison": units.pop("comparison"), **units}
    assert RestartRecord.from_data(data).order()[-1] == "comparison"
    assert orjson.loads(RestartRecord.from_data(data).to_json()) == data


@pytest.mark.parametrize("key", ["book:hotel", "validate:P4", "complete:supplier-review-22"])
def test_what_the_record_does_not_allow_can_not_be_given_as_allowed(key: str) -> None:
    with pytest.raises(InvalidRecordError, match="next_allowed"):
        review(next_allowed=[key])
