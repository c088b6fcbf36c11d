"""Runs that are killed, interrupted or forked: the stored state is the old or the new one, and the next run works."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .support import KEY, stored

Open = Callable[[], Any]


@pytest.fixture(params=["file", "sqlite"])
def storage(request: pytest.FixtureRequest) -> str:
    """The name of each storage that outlives its process."""
    return str(request.param)


@pytest.mark.parametrize("work", ["store", "tool", "merge", "run"])
def test_a_run_killed_at_any_step_leaves_the_old_or_the_new_state(
    storage: str, work: str, finish: Callable[..., str], tmp_path: Path
) -> None:
    found = json.loads(finish("kill_at_each_step.py", storage, tmp_path, work))
    assert found["steps"] >= 4
    assert found["old"] >= 1
    assert found["new"] >= 1


def test_a_run_killed_at_any_moment_has_lost_nothing_that_it_reported(
    storage: str, start: Callable[..., Any], open_storage: Open, tmp_path: Path
) -> None:
    reported = -1
    for attempt in range(8):
        process = start("work_until_killed.py", storage, tmp_path)
        first = process.stdout.readline()
        time.sleep(0.01 + 0.017 * attempt)
        process.kill()
        printed, _ = process.communicate(timeout=60)
        lines = [line for line in [first, *printed.splitlines(keepends=True)] if line.endswith("\n")]
        reported = max([reported, *map(int, lines)])
        state = asyncio.run(stored(open_storage()))
        assert state["data"]["left"] == state["data"]["right"] >= reported
        assert state["files"] == [f"{number}.md" for number in range(state["data"]["left"] + 1)]
        assert len(state["checkpoints"]) == min(50, len(state["checkpoints"]))
        assert "__outcome" not in state["data"]


@pytest.mark.parametrize("where", ["await", "busy", "exit"])
def test_an_interrupted_run_ends_as_aborted(
    storage: str, where: str, start: Callable[..., Any], open_storage: Open, tmp_path: Path
) -> None:
    process = start("interrupted.py", storage, tmp_path, where)
    if where != "exit":
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        if where == "busy":  # the first one only asks the loop to cancel, and the loop is blocked
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (3 if where == "exit" else -signal.SIGINT), errors
    assert asyncio.run(stored(open_storage()))["data"] == {"k": 1, "__outcome": "aborted"}


def test_a_harness_works_on_both_sides_of_a_fork(storage: str, finish: Callable[..., str], tmp_path: Path) -> None:
    # Reported of others as DeytaHQ/khora PR#796, gentoo/portage#600 and mem0ai/mem0#3184.
    assert finish("fork.py", storage, tmp_path) == "before=2 child=2 inner=2 outer=3 parent=2\n"


def test_the_key_of_a_thread_is_what_it_is_documented_to_be(storage: str, open_storage: Open) -> None:
    async def scenario() -> None:
        async with open_storage() as opened:
            await opened.set(KEY, {"files": []})
            assert await opened.list("layers/task-state/") == [KEY]

    asyncio.run(scenario())
