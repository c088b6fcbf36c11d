"""The examples run as a user would run them, and the README shows them as they are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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
