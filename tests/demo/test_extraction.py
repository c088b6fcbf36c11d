"""The extractions are durable tasks: a process that dies leaves them to the next one, which repeats nothing."""

from __future__ import annotations

import asyncio
import re
import signal
from typing import Any

import pytest

from taskstate.demo import review as reviewing
from taskstate.tasks import DurableTasks, TaskInfo

pytestmark = pytest.mark.once

P1, P2, P3, P4 = NAMES = ["P1-firnbeck.md", "P2-tundrel.txt", "P3-ijsvelt.md", "P4-kelvane.txt"]


def tasks_of(desk: Any) -> list[tuple[TaskInfo, dict[str, Any]]]:
    """Every task in the file of the states with its history, oldest first."""

    async def read() -> list[tuple[TaskInfo, dict[str, Any]]]:
        async with DurableTasks(types=[], store=desk.job.state, worker=False) as tasks:
            return [(one, await tasks.history(one["id"])) for one in reversed(await tasks.list())]

    return asyncio.run(read())


def states(desk: Any) -> dict[str, str]:
    """The state of each document's last task."""
    return {one["input"]["name"]: one["state"] for one, _ in tasks_of(desk) if one["parent_id"]}


def killed(desk: Any, after: int) -> None:
    desk.out.mkdir(exist_ok=True)
    assert desk.run(f"--worker={after}").code == -signal.SIGKILL


def test_a_killed_process_leaves_the_third_task_between_its_two_steps(proposals: Any) -> None:
    killed(proposals, 3)
    assert states(proposals) == dict(zip(NAMES, ["succeeded", "succeeded", "running", "scheduled"], strict=True))
    (third,) = (history for one, history in tasks_of(proposals) if one["parent_id"] and one["input"]["name"] == P3)
    assert [step["key"] for step in third["checkpoints"]] == ["extract"]


def test_the_next_process_goes_on_with_the_same_tasks_and_shows_what_is_recorded_of_them(proposals: Any) -> None:
    done = proposals.run()
    assert done.code == 0, done.err
    (root, ended), *below = tasks_of(proposals)
    assert (root["state"], len(below)) == ("succeeded", 4)
    assert [one["parent_ordinal"] for one, _ in below] == [0, 1, 2, 3]
    assert {tuple(step["key"] for step in history["checkpoints"]) for _, history in below} == {("extract", "check")}
    attempts = [[attempt["outcome"] for attempt in history["attempts"]] for _, history in below]
    assert [each[-1] for each in attempts] == ["succeeded"] * 4
    assert "lost" in attempts[2]
    assert len({attempt["worker"] for attempt in ended["attempts"]}) == 2
    shown = done.out.partition("What is recorded of the tasks:\n")[2].splitlines()
    assert [re.split(r"  +", line.strip()) for line in shown[:6]] == [
        ["task", "attempts", "steps completed"],
        ["extract-all", ", ".join(attempt["outcome"] for attempt in ended["attempts"]), "documents"],
        *([f"extract {name}", ", ".join(each), "extract, check"] for name, each in zip(NAMES, attempts, strict=True)),
    ]


def test_a_run_with_nothing_to_do_starts_no_tasks(proposals: Any) -> None:
    proposals.run()
    before = [one["id"] for one, _ in tasks_of(proposals)]
    done = proposals.run()
    assert "What is recorded of the tasks" not in done.out
    assert [one["id"] for one, _ in tasks_of(proposals)] == before


def test_tasks_that_took_an_extract_for_made_are_cancelled_when_it_is_damaged(proposals: Any) -> None:
    killed(proposals, 3)
    proposals.extract_file("P3-ijsvelt").write_bytes(b"{}")
    assert proposals.run("--no-crash").code == 0
    roots = [one for one, _ in tasks_of(proposals) if not one["parent_id"]]
    assert [root["state"] for root in roots] == ["cancelled", "succeeded"]
    assert [each["name"] for each in roots[1]["input"]] == [P3, P4]
    assert proposals.journal() == [*NAMES[:3], P3, P4]


def test_starting_over_cancels_the_tasks_of_the_review_before(proposals: Any) -> None:
    killed(proposals, 1)
    assert proposals.run("--fresh", "--no-crash").code == 0
    roots = [one["state"] for one, _ in tasks_of(proposals) if not one["parent_id"]]
    assert roots == ["cancelled", "succeeded"]
    assert proposals.journal() == NAMES


def test_the_tasks_of_another_review_in_the_same_file_are_left_alone(proposals: Any) -> None:
    killed(proposals, 3)
    other = proposals.folder.with_name("other documents")
    other.mkdir()
    (other / P1).write_text("Warranty: 1 year\n")
    (other / "Q.txt").write_text("Warranty: 1 year\n")
    done = proposals.run("--no-crash", "--state", str(proposals.out / "state.db"), folder=other)
    assert done.code == 0, done.err
    after = states(proposals)
    assert (after[P2], after[P4]) == ("succeeded", "scheduled")
    assert after[P3] in ("running", "ready")  # nobody has it; whether that was noticed is a matter of time
    (steps,) = proposals.run("--no-crash").steps.values()
    assert steps[:2] == [f"{P3} validated", f"{P4} extracted"]


def test_what_a_step_raises_ends_the_review_and_the_next_one_goes_on(
    proposals: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposals.out.mkdir()
    extract = reviewing.extract

    def failing(source: Any) -> Any:
        if source.name == P2:
            raise OSError("no space is left")
        return extract(source)

    monkeypatch.setattr(reviewing, "extract", failing)
    with pytest.raises(OSError, match="no space is left"):
        asyncio.run(reviewing.review(proposals.job, lambda text: None))
    assert states(proposals)[P2] in ("scheduled", "ready")
    monkeypatch.undo()
    assert asyncio.run(reviewing.review(proposals.job, lambda text: None)).unfinished == []
    assert len([one for one, _ in tasks_of(proposals) if not one["parent_id"]]) == 1
