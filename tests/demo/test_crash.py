"""The demo as a user runs it: killed half-way, it goes on from what is stored and repeats nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from taskstate.demo.artifacts import digest

PROPOSALS = Path(__file__).resolve().parents[2] / "examples" / "supplier_review" / "proposals"
NAMES = ["P1-firnbeck.md", "P2-tundrel.txt", "P3-ijsvelt.md", "P4-kelvane.txt"]
KILLED = re.compile(r"^Process (\d+) was killed \(signal 9\)", re.MULTILINE)


def block(out: str) -> Any:
    found = re.search(r"<task_state>\n(.*)\n</task_state>", out, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_what_was_extracted_but_not_checked_is_validated_and_not_extracted_again(proposals: Any) -> None:
    done = proposals.run()
    assert done.code == 0, done.err
    first, second = done.steps.values()
    assert KILLED.findall(done.out) == [next(iter(done.steps))]
    assert first == [f"{name} extracted" for name in NAMES[:3]]
    assert second == ["P3-ijsvelt.md validated", "P4-kelvane.txt extracted", "comparison compared"]
    assert proposals.journal() == NAMES
    assert proposals.journal("validated") == ["P3-ijsvelt.md"]


def test_the_second_process_shows_its_assessment_and_plan_before_it_works(proposals: Any) -> None:
    done = proposals.run()
    verdicts = ["keep", "keep", "validate", "pending", "pending"]
    assert done.verdicts == dict(zip([*NAMES, "comparison"], verdicts, strict=True))
    assert done.plan == [
        "validate P3-ijsvelt.md",
        "make P4-kelvane.txt",
        "validate P4-kelvane.txt",
        "make comparison",
        "validate comparison",
    ]
    told, _, after = done.out.partition("Plan: ")
    assert "Assessment of state version" in told
    assert "P3-ijsvelt.md   validated" not in told
    assert "P3-ijsvelt.md   validated" in after


def test_the_record_of_a_killed_process_has_the_third_extract_unchecked(proposals: Any) -> None:
    proposals.out.mkdir()
    proposals.run("--worker=3")
    states = ["verified", "verified", "present", "pending", "pending"]
    assert proposals.states() == dict(zip([*NAMES, "comparison"], states, strict=True))
    third = proposals.artifact("extract:P3-ijsvelt.md")
    assert third.verification.state == "none"
    assert third.sha256 == digest(proposals.extract_file("P3-ijsvelt").read_bytes())


def test_an_unchecked_extract_that_fails_its_check_is_made_again_with_the_reason_kept(proposals: Any) -> None:
    proposals.out.mkdir()
    proposals.run("--worker=3")
    path = proposals.extract_file("P3-ijsvelt")
    path.write_bytes(path.read_bytes()[:-40])
    done = proposals.run("--no-crash")
    assert done.code == 0, done.err
    assert done.verdicts["P3-ijsvelt.md"] == "redo"
    assert proposals.journal() == [*NAMES[:3], "P3-ijsvelt.md", "P4-kelvane.txt"]
    assert proposals.states()["P3-ijsvelt.md"] == "verified"


def test_the_comparison_covers_every_document_and_flags_the_contradictions(proposals: Any) -> None:
    done = proposals.run()
    for text in (done.out, proposals.comparison()):
        assert all(name in text for name in NAMES)
        assert "(!) 24 months / 36 months" in text
        assert "(!) GBP 53,430.00" in text
    assert "P2-tundrel.txt: Total, net: states 53,430.00 (line 34) but the lines add up to 54,030.00" in (
        proposals.comparison()
    )


def test_each_fact_is_kept_in_one_place(proposals: Any) -> None:
    done = proposals.run()
    shown = block(done.out)
    assert [Path(path).name.split(".")[0] for path in shown["files"]] == [Path(name).stem for name in NAMES] + [
        "comparison"
    ]
    assert shown["data"] == {"last_run": {"compared": 1, "extracted": 1, "validated": 1}}
    assert proposals.data()["__outcome"] == "success"
    record = proposals.record()
    assert record.status == "done"
    assert record.authorized == ()
    for name in NAMES:
        artifact = proposals.artifact(f"extract:{name}")
        assert artifact.sha256 == digest(proposals.extract_file(Path(name).stem).read_bytes())
        assert artifact.made_from.sources[name] == record.sources[name].version
        assert (proposals.out / artifact.verification.evidence).exists()
    comparison = proposals.artifact("comparison")
    assert comparison.covers == tuple(record.criteria.items)
    assert set(comparison.made_from.artifacts) == {f"extract:{name}" for name in NAMES}


def test_a_second_run_repeats_nothing(proposals: Any) -> None:
    proposals.run()
    before = proposals.comparison()
    done = proposals.run()
    assert done.code == 0
    assert list(done.steps.values()) == [[]]
    assert set(done.verdicts.values()) == {"keep"}
    assert done.plan == []
    assert "Comparison kept" in done.out
    assert not KILLED.search(done.out)
    assert proposals.journal() == NAMES
    assert proposals.comparison() == before
    assert proposals.record().status == "done"


def test_only_a_changed_source_is_read_again_and_its_old_extract_stays(proposals: Any) -> None:
    proposals.run()
    old = proposals.artifact("extract:P2-tundrel.txt")
    path = proposals.folder / "P2-tundrel.txt"
    path.write_text(path.read_text().replace("53,430.00\n", "54,030.00\n"))
    done = proposals.run()
    assert done.code == 0
    assert list(done.steps.values()) == [["P2-tundrel.txt extracted", "comparison compared"]]
    new = proposals.artifact("extract:P2-tundrel.txt")
    before, after = old.made_from.sources["P2-tundrel.txt"], new.made_from.sources["P2-tundrel.txt"]
    assert f"source:P2-tundrel.txt was version {before}, now {after}" in done.out
    assert "Comparison written" in done.out
    assert proposals.journal() == [*NAMES, "P2-tundrel.txt"]
    assert old in [entry.artifact for entry in proposals.record().superseded]
    assert digest((proposals.out / old.location).read_bytes()) == old.sha256


def test_a_new_document_is_read_and_a_withdrawn_one_is_left_out(proposals: Any) -> None:
    proposals.run("--no-crash")
    recorded = proposals.artifact("extract:P4-kelvane.txt")
    (proposals.folder / "P4-kelvane.txt").unlink()
    (proposals.folder / "P5.txt").write_text("Warranty: 2 years\n")
    done = proposals.run("--no-crash")
    assert list(done.steps.values()) == [["P4-kelvane.txt gone", "P5.txt extracted", "comparison compared"]]
    assert list(proposals.statuses()) == [*NAMES[:3], "comparison", "P5.txt"]
    assert recorded in [entry.artifact for entry in proposals.record().superseded]
    assert "P4-kelvane.txt" not in proposals.comparison()
    assert proposals.journal() == [*NAMES, "P5.txt"]
    (proposals.folder / "P4-kelvane.txt").write_bytes((PROPOSALS / "P4-kelvane.txt").read_bytes())
    assert proposals.run("--no-crash").code == 0
    assert set(proposals.states()) == {*NAMES, "P5.txt", "comparison"}


@pytest.mark.parametrize("damage", ["altered", "removed"])
def test_an_extract_that_lost_its_integrity_is_made_again(proposals: Any, damage: str) -> None:
    proposals.run("--no-crash")
    path = proposals.extract_file("P1-firnbeck.md")
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().replace(b"24 months", b"99 months"))
    done = proposals.run()
    assert done.verdicts["P1-firnbeck.md"] == "redo"
    assert f"the file is {'missing' if damage == 'removed' else 'altered'}" in done.out
    assert proposals.journal() == [*NAMES, "P1-firnbeck.md"]
    assert "Comparison kept" in done.out
    assert proposals.record().status == "done"


def test_an_unrecorded_extract_is_not_accepted_blindly(proposals: Any) -> None:
    proposals.run("--no-crash")
    path = proposals.extract_file("P3-ijsvelt.md")
    path.write_bytes(path.read_bytes()[:-40])
    (proposals.out / "state.db").unlink()
    done = proposals.run("--no-crash")
    (steps,) = done.steps.values()
    assert steps == [
        "P1-firnbeck.md attached",
        "P2-tundrel.txt attached",
        "P3-ijsvelt.md failed",
        "P4-kelvane.txt attached",
        "P3-ijsvelt.md extracted",
        "comparison attached",
    ]


def test_fresh_starts_over_and_no_crash_needs_one_process(proposals: Any) -> None:
    proposals.run()
    (proposals.out / "mine.txt").write_text("not of the review")
    done = proposals.run("--fresh", "--no-crash")
    assert list(done.steps.values()) == [[*(f"{name} extracted" for name in NAMES), "comparison compared"]]
    assert proposals.record().generation == 1
    assert "nothing is recorded of this task yet" in done.out
    assert proposals.journal() == NAMES
    assert (proposals.out / "mine.txt").exists()


# Texts that nobody wrote for the demo; the first folder is there wherever Python is.
UNRELATED = [Path(json.__file__).parent, Path("/usr/share/common-licenses")]


@pytest.mark.parametrize("folder", [folder for folder in UNRELATED if folder.is_dir()], ids=lambda path: path.name)
def test_a_folder_that_nobody_wrote_for_it_is_reviewed_honestly(desk: Any, folder: Path) -> None:
    done = desk.run(folder=folder)
    assert done.code == 0, done.err
    assert len(KILLED.findall(done.out)) == 1
    extracts = desk.extracts()
    assert len(extracts) >= 2
    assert sorted(desk.journal()) == sorted(extracts)
    for extract in extracts.values():
        answers = [entry["status"] for entry in extract["criteria"].values()]
        assert answers.count("not stated") >= len(answers) - 2
        assert extract["contradictions"] == []
    again = desk.run(folder=folder)
    assert list(again.steps.values()) == [[]]


@pytest.mark.parametrize(("count", "before"), [(1, 1), (2, 1), (3, 2), (7, 3)])
def test_any_number_of_documents_is_finished_by_the_second_process(desk: Any, count: int, before: int) -> None:
    names = [f"offer {number} 一.txt" for number in range(count)]
    for name in names:
        (desk.folder / name).write_text(f"Offer\n\nWarranty: {len(name)} months\n")
    done = desk.run()
    assert done.code == 0, done.err
    first, second = done.steps.values()
    assert first == [f"{name} extracted" for name in names[:before]]
    assert [step.rsplit(" ", 1)[1] for step in second] == [
        "validated",
        *["extracted"] * (count - before),
        "compared",
    ]
    assert desk.journal() == names


def test_files_that_are_no_documents_are_named_and_do_not_stop_it(proposals: Any) -> None:
    (proposals.folder / "scan.pdf").write_bytes(b"%PDF\0\1\2")
    (proposals.folder / "empty.txt").write_bytes(b"")
    (proposals.folder / "latin.txt").write_bytes(b"Caf\xe9\n\nWarranty: 3 years\n")
    done = proposals.run()
    assert done.code == 0
    assert "Left out: scan.pdf: not text (binary data)" in done.out
    assert "Note: latin.txt: 1 places are not valid UTF-8" in done.out
    assert "scan.pdf: left out" in proposals.comparison()
    assert proposals.journal() == [*NAMES, "latin.txt"]


def test_two_folders_share_a_state_file_without_meeting(proposals: Any, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "P1-firnbeck.md").write_text("Warranty: 1 year\n")
    proposals.run("--no-crash")
    before = proposals.comparison()
    done = proposals.run("--no-crash", "--state", str(proposals.out / "state.db"), folder=other)
    assert list(done.steps.values()) == [["P1-firnbeck.md extracted", "comparison failed", "comparison compared"]]
    assert proposals.comparison() == before
    assert list(proposals.run().steps.values()) == [[]]
    assert len(proposals.stored()["task-state"]["files"]) == 5


class TestNothingToReview:
    """A folder that can't be reviewed is refused with a sentence and exit code 2, and nothing is written."""

    def check(self, desk: Any, folder: Path, sentence: str) -> None:
        done = desk.run(folder=folder)
        assert done.code == 2
        assert sentence in done.out
        assert done.err == ""
        assert not desk.out.exists()

    def test_a_missing_folder(self, desk: Any) -> None:
        self.check(desk, desk.folder / "none", "there is no folder")

    def test_an_empty_folder(self, desk: Any) -> None:
        self.check(desk, desk.folder, "holds no text file")

    def test_a_folder_of_other_things(self, desk: Any) -> None:
        (desk.folder / "a.bin").write_bytes(b"\0")
        (desk.folder / "sub").mkdir()
        self.check(desk, desk.folder, "holds no text file")

    def test_a_file(self, desk: Any) -> None:
        (desk.folder / "a.txt").write_text("text")
        self.check(desk, desk.folder / "a.txt", "is a file")

    def test_more_documents_than_anybody_wants_to_see(self, desk: Any) -> None:
        for number in range(101):
            (desk.folder / f"{number}.txt").write_text("text")
        self.check(desk, desk.folder, "holds 101 documents, more than --limit 100")

    def test_results_among_the_documents(self, proposals: Any) -> None:
        proposals.out = proposals.folder
        done = proposals.run()
        assert done.code == 2
        assert "--out is the folder under review itself" in done.out
        assert sorted(path.name for path in proposals.folder.iterdir()) == NAMES


def test_a_state_that_cannot_be_opened_is_a_clear_failure(proposals: Any) -> None:
    proposals.out.mkdir()
    (proposals.out / "state.db").write_bytes(b"this is no database at all" * 100)
    done = proposals.run()
    assert done.code == 1
    assert "The review can't go on: " in done.err
    assert "Traceback" not in done.err
