"""The packet for a new worker: evidence apart from intention, what is left out said, a change found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from taskstate.errors import ConfigurationError, InvalidRecordError
from taskstate.restart import Assessment, RestartRecord, SeenFile, SeenSource, change
from taskstate.restart.handoff import handoff
from taskstate.restart.packet import judge_handoff, read_handoff, write_handoff
from taskstate.restart.parts import Decision, Step
from taskstate.restart.secrets import REDACTED, SecretError
from taskstate.restart.transitions import NewCriteria, NewObjective, Notes, SetStatus

from .packets import artifact, assessed, coding, digest, effect, many, seen, supplier_review

pytestmark = pytest.mark.once
TOKEN = "ghp_" + "a1B2c3D4e5" * 4  # put together here, so that no scanner takes this file for a leak


def packet_of(record: RestartRecord, **more: Any) -> dict[str, Any]:
    return handoff(record, assessed(record), **more)


def groups(packet: dict[str, Any]) -> dict[str, list[str]]:
    """The names in each group of artifacts."""
    return {
        name: [entry if isinstance(entry, str) else entry.get("unit", entry.get("artifact")) for entry in entries]
        for name, entries in packet["evidence"]["artifacts"].items()
    }


def test_three_files_coding_handoff() -> None:
    """A coding assistant edited three files, ran tests that failed, and lost its context."""
    record = coding()
    packet = packet_of(record)

    # The current state of the artifacts.
    redo = packet["evidence"]["artifacts"]["to_redo"]
    assert [entry["location"] for entry in redo] == ["out/parser.json", "out/lexer.json", "out/tests.json"]
    assert {entry["integrity"] for entry in redo} == {"intact"}
    assert [entry["sha256"] for entry in redo] == [digest("parser"), digest("lexer"), digest("tests")]
    assert packet["revision"] == "9fceb02"

    # The observed result of the verification.
    assert packet["evidence"]["results"] == [
        {
            "id": "A1",
            "text": "the tests after the three edits",
            "command": "python -m pytest -q tests/parser",
            "exit_status": 1,
            "result": "logs/run-7.txt",
        }
    ]
    assert {entry["verification"]["state"] for entry in redo} == {"failed"}
    assert {entry["verification"]["reason"] for entry in redo} == {"2 of 40 tests failed"}
    assert all(entry["verification"]["evidence"] for entry in redo)

    # The hypothesis is labelled as one, and stands apart from the evidence.
    (hypothesis,) = packet["hypotheses"]
    assert hypothesis["label"] == "hypothesis, no evidence"
    assert hypothesis["confirmed_by"] == "a token dump of the failing input"
    assert "lexer drops" not in json.dumps(packet["evidence"])

    # One bounded next step, said to be an intention.
    assert packet["next_step"] == {
        "text": "Dump the tokens of the failing input",
        "ends_when": "the dump is in logs/tokens.txt",
        "from": "the last worker: an intention",
    }

    assert packet["complete"] is False
    assert packet["standing"] == "incomplete: missing 3 units; a plan or a next step is no result"
    assert packet["objective"]["text"] == "Accept nested comments"
    assert packet["constraints"] == ["The public names stay"]


def test_a_plan_to_fix_is_no_fix() -> None:
    record = coding(next_step=None)
    before = packet_of(record)
    planned = change(
        record,
        Notes(
            decisions=(Decision(id="D1", text="The lexer is fixed, all tests pass"),),
            next_step=Step(text="Fix the lexer", ends_when="the tests pass"),
            phase="done",
        ),
    )
    after = packet_of(planned)
    assert after["complete"] is before["complete"] is False
    assert after["evidence"] == before["evidence"]
    assert after["missing"] == before["missing"]
    assert after["standing"] == before["standing"]


def test_artifacts_are_grouped_by_what_is_verified() -> None:
    packet = packet_of(supplier_review())
    assert groups(packet) == {
        "verified": ["extract:P1", "extract:P2"],
        "to_check": ["extract:P3"],
        "to_redo": [],
        "not_begun": ["extract:P4", "comparison"],
        "not_required": [],
        "superseded": [],
        "unindexed": [],
    }
    assert packet["coverage"]["verified_units"] == {"verified": 2, "of": 5}
    assert packet["next_step"]["transition"] == packet["due"][0] == "validate:extract:P3"
    assert packet["next_step"]["ends_when"]
    assert "unchecked" in packet["next_step"]["because"]
    assert packet["state_version"] == 8


def test_files_of_no_unit_and_earlier_artifacts_are_shown_as_what_they_are() -> None:
    extra = {"artifacts": {"loose": artifact("loose", {})}}
    superseded = [{"id": "H0", "artifact": artifact("H0", {"P1": 0}), "because": "P1 moved on"}] * 2
    record = RestartRecord.from_data(
        {"task_id": "t", "objective": {"version": 2, "text": "x"}, "superseded": superseded, **extra}
    )
    observed = {"unindexed": {"out/found.json": SeenFile(sha256=digest("f"), size=3)}}
    packet = handoff(record, assessed(record, **observed))
    assert groups(packet)["not_required"] == ["loose"]
    assert groups(packet)["superseded"] == ["H0", "H0"]
    assert groups(packet)["unindexed"] == ["out/found.json"]
    assert packet["evidence"]["artifacts"]["not_required"][0]["integrity"] == "intact"
    assert packet["evidence"]["artifacts"]["superseded"][0]["because"] == ["P1 moved on"]
    assert packet["complete"] is False
    assert packet["standing"].startswith("incomplete: missing any required unit")


def test_each_artifact_and_source_says_whether_it_can_expire() -> None:
    record = supplier_review(
        artifacts={
            "H1": artifact("H1", {"P1": 1}, nature="current", expires_at=500),
            "H2": artifact("H2", {"P2": 6}),
            "H3": artifact("H3", {"P3": 1}, "none"),
        }
    )
    packet = packet_of(record)
    first, second = packet["evidence"]["artifacts"]["verified"]
    assert (first["nature"], first["expires_at"]) == ("current", 500)
    assert second["nature"] == "fixed"
    assert "expires_at" not in second
    later = handoff(record, assessed(record, now=500))
    (stale,) = later["evidence"]["artifacts"]["to_redo"]
    assert (stale["unit"], stale["integrity"], stale["freshness"]) == ("extract:P1", "intact", "expired")


@pytest.mark.parametrize("state", ["pending", "unknown"])
def test_an_unsettled_effect_stays_in_the_packet_and_comes_before_any_plan(state: str) -> None:
    record = coding(pending_effects={"E1": effect(state), "E2": effect("applied")})
    packet = handoff(record, assessed(record), most=0)
    (entry,) = packet["evidence"]["effects"]["unsettled"]
    assert (entry["id"], entry["state"], entry["idempotency_key"]) == ("E1", state, "k-1")
    assert packet["next_step"]["transition"] == "reconcile:E1"
    assert packet["complete"] is False
    assert "1 effect" in packet["standing"]
    assert packet_of(record)["evidence"]["effects"]["settled"][0]["evidence"] == "receipts/1"


def test_a_short_packet_says_how_many_of_how_many_it_holds_and_loses_nothing() -> None:
    """Forty units, five of them listed; one is worked on, and the next packet is written: three times."""
    for verified in (10, 11, 12):
        packet = packet_of(many(40, verified), most=5)
        assert packet["coverage"]["units"] == {"shown": 5, "of": 40}
        assert packet["coverage"]["verified_units"] == {"verified": verified, "of": 40}
        assert packet["coverage"]["due"] == {"shown": 5, "of": 2 * (40 - verified) + 1}
        assert groups(packet)["not_begun"] == [f"u{n}" for n in range(verified, verified + 5)]
        assert packet["state_version"] == 3
    whole = packet_of(many(40, 10))
    assert len(groups(whole)["not_begun"]) + len(groups(whole)["verified"]) == 40
    assert whole["coverage"]["units"] == {"shown": 40, "of": 40}


def test_a_short_packet_keeps_the_newest_notes() -> None:
    notes = [{"id": f"D{n}", "text": "x"} for n in range(9)]
    packet = packet_of(coding(decisions=notes), most=2)
    assert [entry["id"] for entry in packet["decisions"]] == ["D7", "D8"]
    assert packet["coverage"]["decisions"] == {"shown": 2, "of": 9}


@pytest.mark.parametrize("most", [-1, True, 1.5, "3"])
def test_a_limit_that_is_no_number_of_entries_is_refused(most: Any) -> None:
    with pytest.raises(ConfigurationError):
        packet_of(coding(), most=most)


def test_the_scope_of_the_objective_is_shown() -> None:
    assert packet_of(supplier_review())["objective"]["scope"] == "objective 2, the latest state of its sources"
    named = {"version": 2, "text": "x", "scope": {"kind": "named", "versions": {"P2": 6}}}
    packet = packet_of(supplier_review(objective=named))
    assert "P2 at version 6" in packet["objective"]["scope"]


def test_a_complete_task_is_said_to_be_complete_whatever_the_last_worker_meant_to_do() -> None:
    step = {"text": "Start with P1", "ends_when": "P1 is read"}
    record = many(3, 3).model_copy(update={"next_step": Step(**step)})
    packet = packet_of(record)
    assert packet["complete"] is True
    assert packet["next_step"]["transition"] == "complete:many"
    assert packet["standing"] == "the completion rule is met now, and the task is not recorded as done: it is open"
    done = packet_of(RestartRecord.from_data({**record.to_data(), "status": "done"}))
    assert done["standing"].startswith("complete: ")
    assert done["next_step"] is None


def test_a_task_that_was_done_is_incomplete_when_an_artifact_is_gone() -> None:
    record = RestartRecord.from_data({**many(3, 3).to_data(), "status": "done"})
    packet = handoff(record, assessed(record, files={"out/a0.json": None}))
    assert packet["complete"] is False
    assert packet["standing"].startswith("incomplete, although the task is recorded as done: missing 3 units")


def test_a_paused_task_has_no_next_step() -> None:
    record = change(coding(), SetStatus(status="paused"))
    assert packet_of(record)["next_step"] is None
    assert packet_of(record)["status"] == "paused"


def test_the_same_record_and_assessment_give_the_same_bytes() -> None:
    texts = {write_handoff(packet_of(RestartRecord.from_json(coding().to_json()))) for _ in range(3)}
    assert len(texts) == 1
    (text,) = texts
    assert write_handoff(read_handoff(text)) == text


def test_any_flipped_byte_of_a_packet_is_found() -> None:
    record = coding()
    text = write_handoff(packet_of(record))
    assert judge_handoff(text, record).integrity == "intact"
    for place in range(0, len(text), 3):
        for bit in (1, 4):
            flipped = text[:place] + bytes([text[place] ^ bit]) + text[place + 1 :]
            found = judge_handoff(flipped, record)
            assert (found.integrity, found.freshness) == ("altered", "not_told"), flipped[place - 20 : place + 20]
            with pytest.raises(InvalidRecordError):
                read_handoff(flipped)


def test_a_packet_is_current_until_the_record_or_what_is_seen_moves_on() -> None:
    record = supplier_review()
    packet = packet_of(record)
    assert judge_handoff(packet, record, assessed(record)).freshness == "current"

    moved = assessed(record, sources={**seen(record).sources, "P2": SeenSource(version=7)})
    stale = judge_handoff(packet, record, moved)
    assert (stale.integrity, stale.freshness) == ("intact", "superseded")
    assert any("P2" in told and "now it is at version 7" in told for told in stale.because)
    assert "unit extract:P2 was keep, now stale" in stale.because
    again = assessed(record, sources={**seen(record).sources, "P2": SeenSource(version=8)})
    assert judge_handoff(handoff(record, moved), record, again).freshness == "superseded"

    changed = change(record, NewCriteria(items={"price": "Total price"}))
    assert judge_handoff(packet, changed).because == ("criteria version was 3, now 4",)
    other = change(record, NewObjective(text="Compare three"))
    assert judge_handoff(packet, other).because == ("objective version was 2, now 3",)

    saved = changed.model_copy(update={"state_version": 9})
    newer = packet_of(saved)
    assert judge_handoff(packet, saved).because[0] == "state_version was 8, now 9"
    assert judge_handoff(newer, saved).freshness == "current"
    assert judge_handoff(newer, record).freshness == "ahead"
    resumed = record.model_copy(update={"generation": 2})
    assert judge_handoff(packet, resumed).because == ("generation was 1, now 2",)
    assert newer["criteria"]["earlier_versions"] == [3]


def test_what_is_no_packet_or_another_tasks_is_refused() -> None:
    record = coding()
    for text in (b"", b"[]", b"{}", b'{"kind": "restart-handoff", "schemaVersion": 1}', b"\xff", "null"):
        assert judge_handoff(text, record).integrity == "altered"
    with pytest.raises(InvalidRecordError, match="another task"):
        judge_handoff(packet_of(supplier_review()), record)
    with pytest.raises(InvalidRecordError):
        write_handoff({"a": object()})


def test_an_assessment_of_another_record_is_refused() -> None:
    record = coding()
    found = assessed(record)
    for update in ({"task_id": "other"}, {"state_version": 5}, {"generation": 2}):
        with pytest.raises(InvalidRecordError, match="another one"):
            handoff(record, Assessment(**{**dict(found), **update}))


def test_secrets_are_redacted_or_refused_before_a_packet_is_made() -> None:
    attempt = {"id": "A1", "text": "x", "command": f"deploy --token {TOKEN} --to test", "result": "log"}
    record = coding(failed_attempts=[attempt], unresolved=[{"id": "I", "text": f"is {TOKEN} still good?"}])
    packet = packet_of(record)
    assert TOKEN not in write_handoff(packet).decode()
    assert packet["evidence"]["results"][0]["command"] == f"deploy --token {REDACTED} --to test"
    assert judge_handoff(packet, record).integrity == "intact"
    with pytest.raises(SecretError) as caught:
        packet_of(record, secrets="refuse")
    assert TOKEN not in str(caught.value)
    assert caught.value.paths == ("evidence.results[0].command", "unresolved[0].text")


def test_hashes_keys_and_ids_of_a_clean_record_are_never_taken_for_secrets() -> None:
    record = coding(pending_effects={"E1": effect("unknown", idempotency_key="fix-parser/mail/1")})
    assert packet_of(record, secrets="refuse") == packet_of(record)
