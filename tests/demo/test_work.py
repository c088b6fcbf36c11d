"""Where the review stands is kept as work items and decisions, and never taken for more than a declaration."""

from __future__ import annotations

import asyncio
import re
import signal
from typing import Any

import pytest

from taskstate.demo import review as reviewing
from taskstate.harness import Execution

P1, P2, P3, P4 = NAMES = ["P1-firnbeck.md", "P2-tundrel.txt", "P3-ijsvelt.md", "P4-kelvane.txt"]
KEPT = "used again: passed extract-check@1; the file matches its hash"
COMPARED = "used again: passed comparison-check@1; the file matches its hash"
UNCHECKED = "to be checked before it is used: unchecked"
CRITERIA = "The 12 criteria of version 1 are used"


def statuses(*values: str) -> dict[str, str]:
    return dict(zip([*NAMES, "comparison"], values, strict=True))


def killed(desk: Any, after: int) -> None:
    """One process on its own, which kills itself."""
    desk.out.mkdir(exist_ok=True)
    assert desk.run(f"--worker={after}").code == -signal.SIGKILL


def test_the_work_items_of_a_killed_process_say_where_it_was(proposals: Any) -> None:
    killed(proposals, 3)
    assert proposals.statuses() == statuses("done", "done", "in_progress", "open", "open")
    assert proposals.decisions() == {"criteria": CRITERIA}
    objective = proposals.work().objective
    assert objective.startswith("Compare the offers in the folder the documents: ")


def test_the_next_process_ends_what_the_killed_one_began(proposals: Any) -> None:
    killed(proposals, 3)
    assert proposals.run("--worker=-1").code == 0
    assert proposals.statuses() == statuses(*["done"] * 5)
    assert proposals.decisions() == {"criteria": CRITERIA, P1: KEPT, P2: KEPT, P3: UNCHECKED}
    assert proposals.journal() == NAMES


def test_a_process_killed_again_and_again_ends_with_the_same_items(proposals: Any) -> None:
    for _ in NAMES:
        killed(proposals, 1)
    assert proposals.statuses() == statuses("done", "done", "done", "in_progress", "open")
    assert proposals.run("--no-crash").code == 0
    assert proposals.statuses() == statuses(*["done"] * 5)
    assert proposals.journal() == NAMES


def test_a_run_with_nothing_to_do_changes_nothing_that_was_declared(proposals: Any) -> None:
    proposals.run()
    proposals.run()
    before = proposals.stored()["agent-state"]
    proposals.run()
    assert proposals.stored()["agent-state"] == before
    assert proposals.decisions() == {"criteria": CRITERIA, **dict.fromkeys(NAMES, KEPT), "comparison": COMPARED}


def test_both_blocks_are_shown_side_by_side(proposals: Any) -> None:
    out = proposals.run().out
    found = re.search(r"</task_state>\n<agent_state>\n(.*)\n</agent_state>\n", out, re.DOTALL)
    assert found is not None
    assert found[1].startswith("Work items: 5 (5 done). Decisions: 4.\n")
    assert '- [done] "extract:P1-firnbeck.md": ' in found[1]


def test_a_changed_document_is_open_again_until_its_new_extract_is_checked(proposals: Any) -> None:
    proposals.run("--no-crash")
    path = proposals.folder / P2
    path.write_text(path.read_text() + "\n")
    path = proposals.folder / P4
    path.write_text(path.read_text() + "\n")
    killed(proposals, 1)
    assert proposals.statuses() == statuses("done", "in_progress", "done", "open", "open")
    assert proposals.decisions()[P4].startswith(f"to be made again: source:{P4} was version ")
    proposals.run("--no-crash")
    assert proposals.statuses() == statuses(*["done"] * 5)
    decisions = proposals.decisions()
    assert (decisions[P1], decisions[P2]) == (KEPT, UNCHECKED)
    assert decisions[P4].startswith(f"to be made again: source:{P4} was version ")


def test_what_is_declared_of_a_withdrawn_document_is_removed(proposals: Any) -> None:
    proposals.run()
    (proposals.folder / P1).unlink()
    proposals.run()
    assert list(proposals.statuses()) == [P2, P3, P4, "comparison"]
    assert list(proposals.decisions()) == ["criteria", P2, P3, P4, "comparison"]


def test_done_without_evidence_is_put_right(proposals: Any) -> None:
    proposals.run("--no-crash")
    proposals.extract_file("P1-firnbeck").unlink()
    path = proposals.extract_file("P3-ijsvelt")
    path.write_bytes(path.read_bytes() + b" ")
    (proposals.out / "comparison.md").write_text("something else")
    killed(proposals, 1)
    assert proposals.statuses() == statuses("in_progress", "done", "open", "done", "open")
    proposals.run("--no-crash")
    assert proposals.statuses() == statuses(*["done"] * 5)
    assert proposals.journal() == [*NAMES, P1, P3]
    assert proposals.comparison().startswith("# Comparison")


def test_evidence_without_done_is_put_right_and_nothing_is_repeated(proposals: Any) -> None:
    proposals.run("--no-crash")

    async def deny(run: Execution) -> None:
        for name, status in zip([P1, P2, P3], ["open", "in_progress", "blocked"], strict=True):
            await run.context["agent-state"].set_work_item_status(id=f"extract:{name}", status=status)
        await run.context["agent-state"].remove_work_item(id=f"extract:{P4}")
        await run.context["agent-state"].set_work_item_status(id="comparison", status="in_progress")

    proposals.meddle(deny)
    done = proposals.run("--no-crash")
    assert set(done.verdicts.values()) == {"keep"}
    assert proposals.statuses() == statuses(*["done"] * 5)
    assert proposals.journal() == NAMES


def test_done_that_somebody_only_said_is_not_believed(desk: Any) -> None:
    (desk.folder / "a.txt").write_text("Warranty: 2 years\n")
    desk.out.mkdir()

    async def boast(run: Execution) -> None:
        for item in ("extract:a.txt", "comparison"):
            await run.context["agent-state"].add_work_item(id=item, content="It is all done", status="done")

    desk.meddle(boast)
    done = desk.run("--no-crash")
    assert "nothing is recorded of this task yet" in done.out
    assert desk.journal() == ["a.txt"]
    assert desk.states() == {"a.txt": "verified", "comparison": "verified"}


def test_a_document_that_cannot_be_read_is_blocked_until_it_can(proposals: Any) -> None:
    scan = proposals.folder / "scan.pdf"
    scan.write_bytes(b"%PDF\0\1\2")
    (proposals.folder / "again.md").symlink_to(P1)
    proposals.run("--no-crash")
    assert proposals.statuses() == statuses(*["done"] * 5) | {"scan.pdf": "blocked"}
    assert proposals.decisions() == {"criteria": CRITERIA, "scan.pdf": "left out: not text (binary data)"}
    scan.write_text("Warranty: 2 years\n")
    proposals.run("--no-crash")
    assert proposals.statuses() == statuses(*["done"] * 5) | {"scan.pdf": "done"}
    assert proposals.decisions()["comparison"].startswith("to be made again: source:demo/left-out was version ")
    assert proposals.record().status == "done"


@pytest.mark.once
def test_an_extract_that_fails_its_check_is_blocked_and_so_is_the_comparison(
    proposals: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    extract = reviewing.extract
    monkeypatch.setattr(reviewing, "extract", lambda source: {} if source.name == P2 else extract(source))
    proposals.out.mkdir()
    outcome = review(proposals)
    assert outcome.unfinished == [f"extract:{P2}: redo", "comparison: pending"]
    assert proposals.statuses() == statuses("done", "blocked", "done", "done", "blocked")
    assert proposals.decisions() == {
        "criteria": CRITERIA,
        P2: "it fails its check: it is not in the format supplier-extract/1",
        "comparison": f"put off: extract:{P2}: redo and more",
    }
    assert proposals.artifact(f"extract:{P2}").verification.state == "failed"
    assert proposals.record().status == "open"
    monkeypatch.undo()
    assert review(proposals).unfinished == []
    assert proposals.statuses() == statuses(*["done"] * 5)
    assert "comparison" not in proposals.decisions()


def review(desk: Any) -> Any:
    """A review in this process."""
    return asyncio.run(reviewing.review(desk.job, lambda text: None))


def test_starting_over_forgets_both_records(proposals: Any) -> None:
    proposals.run()
    done = proposals.run("--fresh", "--no-crash")
    assert "nothing is recorded of this task yet" in done.out
    assert proposals.decisions() == {"criteria": CRITERIA}
    assert proposals.statuses() == statuses(*["done"] * 5)
