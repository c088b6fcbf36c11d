"""The examples run as a user would run them, and the README shows them as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from postgres import Cluster

ROOT = Path(__file__).parent.parent


def run(*arguments: str, example: str = "quickstart") -> str:
    command = [sys.executable, str(ROOT / "examples" / f"{example}.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_quickstart_runs_without_arguments() -> None:
    output = run()
    assert "The workers gave: ['p1', 'p2', 'p3']" in output
    assert '"checkpoints": []' in output


def test_a_second_run_of_the_quickstart_begins_with_what_the_first_one_left(tmp_path: Path) -> None:
    database = tmp_path / "with space" / "agent.db"
    database.parent.mkdir()
    first, second = run(str(database)), run(str(database))
    assert '"verdict"' not in first.split("The workers gave")[0]
    shown = second.split("The workers gave")[0]
    assert all(text in shown for text in ('"verdict"', '"out/report.md"', '"done/p3": true', '"from the helper"'))
    assert "2 checkpoints" in first
    assert "4 checkpoints" in second


def test_the_agent_state_example_runs_without_arguments() -> None:
    output = run(example="agent_state")
    assert "Summary: {'open': 1, 'in_progress': 1, 'blocked': 1, 'done': 1, 'total': 4}" in output
    assert "  copy: open -> in_progress" in output
    assert '- [blocked] "cleanup": "Drop the old table"' in output


def test_a_second_run_of_the_agent_state_example_begins_where_the_first_one_left_off(tmp_path: Path) -> None:
    outputs = [run(str(tmp_path / "agent.db"), example="agent_state") for _ in range(4)]
    assert "This run did 'schema'; 2 more to do." in outputs[0]
    assert "This run did 'copy'; 1 more to do." in outputs[1]
    assert "This run did 'switch'; 0 more to do." in outputs[2]
    assert "Nothing is left to do." in outputs[3]
    assert "Work items: 3 (3 done)." in outputs[3]


def test_the_example_of_durable_tasks_runs_without_arguments() -> None:
    output = run(example="durable_tasks")
    assert "Event: review {'extracted': 3}" in output
    assert "Event: review succeeded - 3 documents, 6 facts, approved by Kim" in output
    assert "  p2.md: attempts ['retry', 'succeeded'], steps ['read', 'facts']" in output
    assert "p2.md was read 1 time" in output


def test_a_second_run_of_the_example_of_durable_tasks_finds_the_tasks_of_the_first_one(tmp_path: Path) -> None:
    first, second = (run(str(tmp_path / "tasks.db"), example="durable_tasks") for _ in range(2))
    assert "Event: review succeeded" in first
    assert "The review is there already: 3 documents, 6 facts, approved by Kim" in second


@pytest.mark.once
@pytest.mark.covers("postgres")
def test_of_two_workers_one_is_killed_and_the_other_takes_over_its_tasks(clusters: Callable[..., Cluster]) -> None:
    cluster = clusters("postgres")
    with cluster.database() as name:
        output = run(cluster.conninfo(name, tcp=True), example="workers")
    assert "was killed while it had" in output
    assert "Attempts at one of those: ['lost', 'succeeded']" in output
    ended = re.search(r"Ended by: \{(.*)\}", output)
    assert ended is not None
    assert sum(int(each.split(": ")[1]) for each in ended[1].split(", ")) == 24
    assert "finished 0\n  released 0\n  lost 0\n" in output


@pytest.mark.once
def test_the_example_of_two_workers_starts_a_server_of_its_own_unless_root_asks() -> None:
    command = [sys.executable, str(ROOT / "examples" / "workers.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if os.geteuid() == 0:
        assert done.returncode == 1
        assert done.stderr == "PostgreSQL doesn't run as root: name the URL of one, or run this as somebody else.\n"
    else:
        assert done.returncode == 0, done.stderr
        assert "['lost', 'succeeded']" in done.stdout


def test_the_code_in_the_readme_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        script = tmp_path / "block.py"
        script.write_text(block, "utf-8")
        done = subprocess.run(
            [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
