"""The harness without await: the same results, from any number of threads, and never a hang."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from taskstate import sync, task_state
from taskstate.errors import InvalidValueError, LifecycleError, ParallelError
from taskstate.storage import FileStorage, MemoryStorage, SQLiteStorage


def make(storage: Any = None) -> sync.Harness:
    return sync.Harness(layers=[task_state(merge_data="three_way")], storage=storage)


def test_a_run_is_kept_and_found_again(tmp_path: Path) -> None:
    with make(SQLiteStorage(tmp_path / "agent.db")) as harness, harness.execution(thread_id="t") as run:
        assert '"checkpoints": []' in run.recall()[0]["content"]
        run.store("an answer")
        assert run.context["task-state"].record_artifact(path="a.md") == "Recorded artifact: a.md"
        assert run.call_tool("task-state/setTaskData", '{"key": "k", "value": [1]}') == "Recorded k."
    with make(SQLiteStorage(tmp_path / "agent.db")) as harness:
        state = harness.threads.read("t")["task-state"]
        assert state["files"] == ["a.md"]
        assert state["data"] == {"k": [1], "__outcome": "success"}
        assert [info.checkpoints for info in harness.threads.list()] == [2]


def test_children_merge_and_workers_run_in_threads_side_by_side() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def worker(child: sync.Execution) -> int:
        meeting.wait()
        child.context["task-state"].set_task_data(key=child.execution_id, value=child.depth)
        return child.depth

    with make() as harness, harness.execution() as run:
        with run.spawn(execution_id="c") as child:
            child.context["task-state"].set_task_data(key="c", value=1)
        assert run.in_parallel([worker] * 3, ids=["x", "y", "z"]) == [1, 1, 1]
        assert run.context["task-state"].data == {"c": 1, "x": 1, "y": 1, "z": 1}
        assert run.in_parallel([]) == []


def test_a_failed_child_or_path_is_not_merged() -> None:
    def fail(child: sync.Execution) -> None:
        child.context["task-state"].set_task_data(key="lost", value=1)
        raise ValueError("no")

    with make() as harness, harness.execution() as run:
        with pytest.raises(ValueError, match="no"), run.spawn() as child:
            fail(child)
        with pytest.raises(ParallelError):
            run.in_parallel([fail])
        assert run.context["task-state"].data == {}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ValueError(), "failure"), (KeyboardInterrupt(), "aborted"), (SystemExit(3), "aborted")],
    ids=["ValueError", "KeyboardInterrupt", "SystemExit"],
)
def test_an_exception_is_the_outcome_and_the_loop_survives_it(error: BaseException, outcome: str) -> None:
    storage = MemoryStorage()
    with make(storage) as harness:
        with pytest.raises(type(error)), harness.execution(thread_id="t"):
            raise error
        assert harness.threads.read("t")["task-state"]["data"] == {"__outcome": outcome}


def test_a_call_inside_a_running_loop_is_refused_at_once() -> None:
    with make() as harness, harness.execution() as run:

        async def inside() -> None:
            calls = [
                run.recall,
                run.store,
                lambda: run.context["task-state"].record_artifact(path="x"),
                lambda: run.call_tool("task-state/recordArtifact", {"path": "x"}),
                lambda: run.spawn().__enter__(),
                lambda: run.in_parallel([lambda child: None]),
                lambda: harness.execution().__enter__(),
                harness.threads.list,
                lambda: make().__enter__(),
                lambda: sync.Storage(MemoryStorage()).get("k"),
            ]
            for call in calls:
                with pytest.raises(LifecycleError, match="running event loop"):
                    call()

        asyncio.run(inside())
        assert run.state("task-state")["files"] == []


def test_calls_of_32_threads_all_take_effect() -> None:
    with make() as harness, harness.execution() as run, ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda n: run.context["task-state"].record_artifact(path=f"{n}"), range(64)))
        assert sorted(run.context["task-state"].files, key=int) == [str(n) for n in range(64)]


def test_bad_input_is_a_typed_error_and_changes_nothing() -> None:
    with make() as harness, harness.execution() as run:
        with pytest.raises(InvalidValueError, match=r"data\.k\.a: set is not a JSON value"):
            run.context["task-state"].set_task_data(key="k", value={"a": {1}})
        assert run.context["task-state"].data == {}


@pytest.mark.parametrize("kind", ["memory", "file", "sqlite"])
def test_a_storage_without_await(kind: str, tmp_path: Path) -> None:
    adapters = {"memory": MemoryStorage(), "file": FileStorage(tmp_path), "sqlite": SQLiteStorage(tmp_path / "db")}
    storage = sync.Storage(adapters[kind])
    storage.set("a", {"x": 1})
    storage.set("b", 2)
    assert storage.get("a") == {"x": 1}
    assert sorted(storage.list("")) == ["a", "b"]
    assert storage.get_many(["a", "b", "c"]) == {"a": {"x": 1}, "b": 2}
    storage.delete("a")
    assert storage.get("a") is None
    storage.close()


def test_it_works_in_a_forked_process(tmp_path: Path) -> None:
    with make(FileStorage(tmp_path)) as harness, harness.execution(thread_id="t") as run:
        run.store()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with make(FileStorage(tmp_path)) as harness, harness.execution(thread_id="t") as run:
                code = 0 if len(run.context["task-state"].checkpoints) == 2 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
