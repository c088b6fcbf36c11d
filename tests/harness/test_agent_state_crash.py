"""A process that is killed has lost nothing of its agent state that it was told is durable."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskstate import agent_state_layer
from taskstate.harness import Execution, Harness
from taskstate.types import STATUSES

from .support import running, task_layer, tools

Open = Callable[[], Any]
KEY = "layers/agent-state/t/state"


def layers() -> Any:
    return task_layer(), agent_state_layer()


def agent(run: Execution) -> Any:
    """The agent-state layer of a run."""
    return run.context["agent-state"]


@pytest.fixture(params=["file", "sqlite"])
def storage(request: pytest.FixtureRequest) -> str:
    """The name of each storage that outlives its process."""
    return str(request.param)


def test_43_items_and_the_task_state_beside_them_outlive_a_kill(
    storage: str, start: Callable[..., Any], open_storage: Open, tmp_path: Path
) -> None:
    process = start("agent_state_until_killed.py", storage, tmp_path, "43")
    assert process.stdout.readline() == "done\n"
    process.kill()
    assert process.wait(60) == -signal.SIGKILL

    async def scenario() -> None:
        async with running(open_storage(), *layers()) as run:
            assert [(item["id"], item["status"]) for item in agent(run).workItems] == [
                (f"W-{n}", STATUSES[n % 4]) for n in range(43)
            ]
            assert tools(run).files == [f"{n}.md" for n in range(43)]

    asyncio.run(scenario())


def test_a_run_killed_at_any_moment_has_lost_no_change_that_it_reported_and_made_none_by_halves(
    storage: str, start: Callable[..., Any], open_storage: Open, tmp_path: Path
) -> None:
    reported: set[int] = set()
    for attempt in range(6):
        process = start("agent_state_until_killed.py", storage, tmp_path, "rounds")
        first = process.stdout.readline()
        time.sleep(0.01 + 0.019 * attempt)
        process.kill()
        printed, _ = process.communicate(timeout=60)
        lines = [line for line in [first, *printed.splitlines(keepends=True)] if line.endswith("\n")]
        reported.update(map(int, lines))
        state = asyncio.run(_read(open_storage))
        decisions = len(state["agent-state"]["decisions"])
        statuses = {item["id"]: item["status"] for item in state["agent-state"]["workItems"]}
        assert decisions > max(reported)
        assert [statuses[f"W-{n}"] for n in range(decisions)] == ["done"] * (decisions - 1) + ["in_progress"]
        assert f"W-{decisions}" not in statuses
        assert all(statuses[f"C-{n}"] == "blocked" for n in reported)
        assert max(reported) <= state["task-state"]["data"]["round"] < decisions
        assert set(state["task-state"]["files"]) >= {f"{n}.md" for n in reported}
    assert len(reported) >= 6


async def _read(open_storage: Open) -> Any:
    async with Harness(storage=open_storage(), layers=layers()) as harness:
        return await harness.threads.read("t")
