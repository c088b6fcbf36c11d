"""What a user changes between two runs: the criteria, and a document."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from taskstate.demo import artifacts, checks, extract, rule
from taskstate.demo.artifacts import digest
from taskstate.demo.review import review

P1, P2, P3, P4 = NAMES = ["P1-firnbeck.md", "P2-tundrel.txt", "P3-ijsvelt.md", "P4-kelvane.txt"]


def verdicts(*values: str) -> dict[str, str]:
    return dict(zip([*NAMES, "comparison"], values, strict=True))


def test_other_criteria_ask_for_a_check_of_what_is_there_and_for_another_comparison(proposals: Any) -> None:
    proposals.run()
    before = proposals.artifact("comparison")
    done = proposals.run("--change-criteria")
    assert done.code == 0, done.err
    assert "Criteria version 2: Number of the offer is added." in done.out
    assert done.verdicts == verdicts(*["recheck"] * 5)
    assert list(done.steps.values()) == [
        [*(f"{name} rechecked" for name in NAMES), "comparison failed", "comparison compared"]
    ]
    assert proposals.journal() == NAMES
    assert "KFI-0625-19" in proposals.comparison()
    record = proposals.record()
    assert (record.status, record.criteria.version) == ("done", 2)
    assert [earlier.version for earlier in record.criteria_history] == [1]
    (old,) = [entry.artifact for entry in record.superseded]
    assert old.verification.reason == "it doesn't cover: Number of the offer"
    assert digest((proposals.out / old.location).read_bytes()) == old.sha256 == before.sha256


def test_criteria_that_change_while_a_process_is_dead_count_for_the_next_one(proposals: Any) -> None:
    proposals.out.mkdir()
    proposals.run("--worker=3")
    done = proposals.run("--change-criteria")
    assert done.verdicts == verdicts("recheck", "recheck", "validate", "pending", "pending")
    assert list(done.steps.values()) == [
        [f"{P1} rechecked", f"{P2} rechecked", f"{P3} validated", f"{P4} extracted", "comparison compared"]
    ]
    assert proposals.record().status == "done"
    assert proposals.journal() == NAMES


def test_when_every_criterion_is_there_nothing_changes(proposals: Any) -> None:
    proposals.run("--no-crash", "--change-criteria")
    done = proposals.run("--change-criteria")
    assert "Criteria version 2 has every criterion that there are rules for." in done.out
    assert list(done.steps.values()) == [[]]


def test_an_updated_document_is_stale_and_only_its_extract_and_the_comparison_are_made_again(proposals: Any) -> None:
    proposals.run()
    mine = (proposals.folder / P2).read_bytes()
    old, compared = proposals.artifact(f"extract:{P2}"), proposals.artifact("comparison")
    done = proposals.run("--update-source", "P2")
    assert done.code == 0, done.err
    assert done.verdicts == verdicts("keep", "stale", "keep", "keep", "redo")
    now = proposals.record().sources[P2].version
    assert f"source:{P2} was version {old.made_from.sources[P2]}, now {now}" in done.out
    assert list(done.steps.values()) == [[f"{P2} extracted", "comparison compared"]]
    assert proposals.journal() == [*NAMES, P2]
    assert "60 months" in proposals.comparison()
    assert [entry.artifact for entry in proposals.record().superseded] == [old, compared]
    assert all((proposals.out / each.location).exists() for each in (old, compared))
    assert (proposals.folder / P2).read_bytes() == mine


def test_a_document_may_be_updated_again_and_stays_updated(proposals: Any) -> None:
    proposals.run("--no-crash", "--update-source", P1)
    proposals.run("--update-source", P1)
    assert "72 months" in proposals.comparison()
    done = proposals.run()
    assert list(done.steps.values()) == [[]]
    assert proposals.journal() == [*NAMES, P1, P1]


def test_the_next_version_by_the_user_counts_instead_of_the_updated_one(proposals: Any) -> None:
    proposals.run("--no-crash", "--update-source", P1)
    path = proposals.folder / P1
    path.write_text(path.read_text() + "\n")
    proposals.run("--no-crash")
    assert "60 months" not in proposals.comparison()
    assert proposals.journal() == [*NAMES, P1, P1]


def test_where_nothing_is_recorded_yet_the_review_comes_first_and_is_killed_as_always(proposals: Any) -> None:
    done = proposals.run("--change-criteria", "--update-source", P4)
    assert done.code == 0, done.err
    assert "was killed (signal 9)" in done.out
    assert len(done.steps) == 3
    assert done.verdicts == verdicts("recheck", "recheck", "recheck", "stale", "redo")
    assert proposals.journal() == [*NAMES, P4]


@pytest.mark.parametrize(("name", "count"), [("P5", "no"), ("P", "4")])
def test_a_name_that_is_not_that_of_one_document_is_refused_before_anything_is_done(
    proposals: Any, name: str, count: str
) -> None:
    done = proposals.run("--update-source", name)
    assert done.code == 2
    assert f"'{name}' is the name of {count} documents" in done.out
    assert not proposals.out.exists()


def test_starting_over_forgets_the_record_its_evidence_and_the_updated_documents(proposals: Any) -> None:
    proposals.run("--no-crash", "--change-criteria", "--update-source", P2)
    proposals.run("--fresh", "--no-crash")
    record = proposals.record()
    assert (record.generation, record.criteria.version, record.superseded) == (1, 1, ())
    assert "60 months" not in proposals.comparison()
    assert len(list((proposals.out / "evidence").iterdir())) == 5


@pytest.mark.once
def test_other_rules_make_every_extract_stale(proposals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    proposals.run("--no-crash")
    for module in (artifacts, checks, extract, rule):
        monkeypatch.setattr(module, "RULES_VERSION", 2)
    said: list[str] = []
    assert asyncio.run(review(proposals.job, said.append)).unfinished == []
    assert sum("source:demo/rules was version 1, now 2" in line for line in said) == 4
    assert proposals.journal() == [*NAMES, *NAMES]
    assert proposals.artifact(f"extract:{P1}").verification.verifier_version == "2"
