"""Roots on threads: what is found again, how a run ends, and who may start one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskstate import ContextLayer, task_state
from taskstate.errors import ConfigurationError, InvalidValueError, LifecycleError
from taskstate.harness import Diagnostic, Harness
from taskstate.storage import MemoryStorage

from .support import KEY, Notes, Plain, running, stored, task_layer, tools

Open = Callable[[], Any]


@pytest.mark.parametrize("storage", ["memory", "file", "sqlite", "postgres"], indirect=True)
def test_the_main_example_works_from_end_to_end(open_storage: Open) -> None:
    async def worker(child: Any) -> str:
        await tools(child).set_task_data(key=child.execution_id, value=child.depth)
        await child.store("partial")
        return f"done {child.execution_id}"

    async def scenario() -> None:
        async with (
            Harness(storage=open_storage(), layers=[task_state(merge_data="three_way")]) as harness,
            harness.execution(thread_id="review-22") as run,
        ):
            items = await run.recall()
            assert [item["role"] for item in items] == ["developer"]
            assert items[0]["content"].startswith("<task_state>\n{")
            await run.store("an answer")
            assert await tools(run).record_artifact(path="out/report.md") == "Recorded artifact: out/report.md"
            assert await tools(run).set_task_data(key="verdict", value={"ok": True}) == "Recorded verdict."
            async with run.spawn() as child:
                assert child.state("task-state") == run.state("task-state")
                await tools(child).record_artifact(path="out/child.md")
            results = await run.in_parallel([worker] * 3, ids=["a", "b", "c"], limit=2)
            assert results == ["done a", "done b", "done c"]
        async with (
            Harness(storage=open_storage(), layers=[task_state(role="user")]) as harness,
            harness.execution(thread_id="review-22") as run,
        ):
            state = run.state("task-state")
            assert state["files"] == ["out/report.md", "out/child.md"]
            assert state["data"] == {"verdict": {"ok": True}, "a": 1, "b": 1, "c": 1, "__outcome": "success"}
            assert [point["depth"] for point in state["checkpoints"]] == [0, 1, 1, 1, 0]
            assert (await run.recall())[0]["role"] == "user"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "success"),
        (ValueError("no"), "failure"),
        (asyncio.CancelledError(), "aborted"),
        (KeyboardInterrupt(), "aborted"),
        (SystemExit(2), "aborted"),
        (GeneratorExit(), "aborted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_how_a_run_ended_is_recorded_durably(open_storage: Open, error: BaseException | None, outcome: str) -> None:
    async def scenario() -> None:
        async with Harness(storage=open_storage(), layers=[task_layer()]) as harness:
            caught: BaseException | None = None
            try:
                async with harness.execution(thread_id="t") as run:
                    await tools(run).set_task_data(key="k", value=1)
                    if error is not None:
                        raise error
            except BaseException as raised:
                caught = raised
            assert caught is error
            state = await stored(open_storage())
            assert state["data"] == {"k": 1, "__outcome": outcome}
            assert state["checkpoints"] == [{"timestamp": 1, "depth": 0}]

    asyncio.run(scenario())


def test_a_task_that_is_cancelled_records_aborted() -> None:
    async def scenario() -> None:
        storage = Plain()
        started = asyncio.Event()

        async def work() -> None:
            async with running(storage):
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        assert storage.records[KEY]["data"] == {"__outcome": "aborted"}

    asyncio.run(scenario())


_OTHER_RUN = """
import asyncio, sys
from taskstate import task_state
from taskstate.harness import Harness
from taskstate.storage import FileStorage, SQLiteStorage

async def main(kind, folder):
    storage = FileStorage(folder) if kind == "file" else SQLiteStorage(folder + "/agent.db")
    async with Harness(storage=storage, layers=[task_state()]) as harness:
        async with harness.execution(thread_id="t") as run:
            await run.context["task-state"].set_task_data(key="other", value=run.context["task-state"].data["first"])

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_new_run_and_a_new_process_find_the_state_under_the_thread(
    storage: str, open_storage: Open, tmp_path: Path
) -> None:
    # Reported of others as mattapperson/noetic commit 17a8ae84 and anthropics/claude-code#90731:
    # the state was stranded when a run got a new id.
    async def first() -> None:
        async with running(open_storage(), execution_id="run-a") as run:
            await tools(run).set_task_data(key="first", value="kept")

    async def last(expected: str) -> None:
        async with running(open_storage(), execution_id="run-b") as run:
            assert tools(run).data[expected] == "kept"

    asyncio.run(first())
    if storage != "memory":
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        command = [sys.executable, "-c", _OTHER_RUN, storage, str(tmp_path / "state")]
        subprocess.run(command, cwd=elsewhere, check=True, timeout=60)
    asyncio.run(last("first" if storage == "memory" else "other"))


def test_without_a_thread_id_a_run_has_a_thread_of_its_own() -> None:
    async def scenario() -> None:
        ids = iter(["thread", "run", "thread-2", "run-2"])
        async with (
            Harness(layers=[task_layer()], ids=lambda: next(ids)) as harness,
            harness.execution() as first,
            harness.execution() as second,
        ):
            assert len({first.thread_id, first.execution_id, second.thread_id, second.execution_id}) == 4

    asyncio.run(scenario())


def test_an_execution_id_in_use_is_refused_and_a_used_one_can_be_used_again() -> None:
    async def scenario() -> None:
        async with Harness(layers=[task_layer()]) as harness:
            async with harness.execution(execution_id="x") as run:
                with pytest.raises(LifecycleError, match="'x' is running already"):
                    async with harness.execution(execution_id="x"):
                        pass
                with pytest.raises(LifecycleError, match="'x' is running already"):
                    async with run.spawn(execution_id="x"):
                        pass
                async with run.spawn(execution_id="y"):
                    pass
                async with run.spawn(execution_id="y"):
                    pass
            async with harness.execution(execution_id="x"):
                pass
            assert harness._running == set()

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["thread_id", "resource_id", "execution_id"])
@pytest.mark.parametrize("value", [7, b"t", "a\ud83d", type("Text", (str,), {})("t")], ids=repr)
def test_an_id_that_is_no_plain_text_is_refused(name: str, value: Any) -> None:
    async def scenario() -> None:
        async with Harness(layers=[task_layer()]) as harness:
            with pytest.raises(InvalidValueError, match=f"^{name}: "):
                async with harness.execution(**{name: value}):
                    pass
            assert harness._running == set()

    asyncio.run(scenario())


def test_a_harness_that_is_not_open_or_open_already_refuses() -> None:
    async def scenario() -> None:
        harness = Harness(layers=[task_layer()])
        with pytest.raises(LifecycleError, match="not open"):
            async with harness.execution():
                pass
        async with harness:
            with pytest.raises(LifecycleError, match="open already"):
                await harness.__aenter__()
            async with harness.execution():
                pass
        with pytest.raises(LifecycleError, match="not open"):
            async with harness.execution():
                pass
        async with harness, harness.execution():
            pass

    asyncio.run(scenario())


def test_another_event_loop_is_refused_at_once() -> None:
    # Reported of others as langchain-ai/langgraph#7857 and #8558, where such calls hung.
    async def start(harness: Harness) -> None:
        async with harness.execution():
            pass

    async def scenario() -> None:
        errors: list[Any] = []
        async with Harness(layers=[task_layer()]) as harness, harness.execution() as run:

            async def spawn() -> None:
                async with run.spawn():
                    pass

            def elsewhere() -> None:
                calls: list[Callable[[], Any]] = [
                    lambda: start(harness),
                    run.recall,
                    run.store,
                    lambda: run.in_parallel([]),
                    spawn,
                ]
                for call in calls:
                    try:
                        asyncio.run(call())
                    except LifecycleError as error:
                        errors.append(str(error))

            await asyncio.to_thread(elsewhere)
        assert len(errors) == 5
        assert all("another event loop" in error for error in errors)

    asyncio.run(scenario())


def test_a_failing_init_is_raised_and_leaves_nothing_behind() -> None:
    class Fails(ContextLayer):
        async def init(self) -> None:
            raise RuntimeError("no database")

    async def scenario() -> None:
        seen: list[Diagnostic] = []
        layers = [task_layer(), Fails("fails")]
        async with Harness(layers=layers, diagnostics=seen.append) as harness:
            with pytest.raises(RuntimeError, match="no database"):
                async with harness.execution(thread_id="t", execution_id="x"):
                    raise AssertionError("must not start")
            assert [(one.layer_id, one.hook) for one in seen] == [("fails", "init")]
            assert harness._running == set()
            assert harness.lifecycle.states.live() == {}
            assert await harness.threads.list() == []

    asyncio.run(scenario())


def test_a_write_that_fails_at_the_end_is_raised_but_hides_no_exception() -> None:
    async def scenario() -> None:
        storage = Plain()
        seen: list[Diagnostic] = []
        storage.error = OSError("disk gone")
        with pytest.raises(OSError, match="disk gone"):
            async with running(storage):
                pass
        with pytest.raises(ZeroDivisionError):
            async with running(storage, diagnostics=seen.append):
                raise ZeroDivisionError
        assert {type(one.error) for one in seen} == {OSError}

    asyncio.run(scenario())


def test_leaving_the_harness_waits_for_writes_and_closes_the_storage() -> None:
    class Closable(Plain):
        closed = 0

        async def close(self) -> None:
            assert self.records[KEY]["data"] == {"k": 1}
            self.closed += 1

    async def scenario() -> None:
        storage = Closable(delay=0.05)
        async with Harness(storage=storage, layers=[task_layer()]) as harness:
            block = harness.execution(thread_id="t")
            run = await block.__aenter__()
            call = asyncio.create_task(tools(run).set_task_data(key="k", value=1))
            await asyncio.sleep(0.01)
            call.cancel()
        assert storage.closed == 1
        del block  # until now it kept the run from being finalized

    asyncio.run(scenario())


def test_work_under_way_when_the_run_ends_is_not_lost() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        async with Harness(storage=storage, layers=[Notes(pause=0.05)]) as harness:
            async with harness.execution(thread_id="t") as run:
                storing = asyncio.create_task(run.store("late"))
                await asyncio.sleep(0.01)
            await storing
            assert await storage.get("layers/notes/t/state") == {"seen": ["late", "late"]}
            assert harness.lifecycle.states.live() == {}

    asyncio.run(scenario())


def test_a_run_can_not_be_used_after_its_end() -> None:
    async def scenario() -> None:
        async with Harness(layers=[task_layer()]) as harness:
            async with harness.execution() as run:
                call = tools(run).record_artifact
            for use in (
                run.recall,
                run.store,
                lambda: run.in_parallel([]),
                lambda: run.call_tool("task-state/recordArtifact", {"path": "x"}),
                lambda: run.spawn().__aenter__(),
                lambda: call(path="x"),
            ):
                with pytest.raises(LifecycleError, match="has ended"):
                    await use()
            for look in (lambda: run.state("task-state"), lambda: tools(run).files, lambda: tools(run).state):
                with pytest.raises(LifecycleError, match="has ended"):
                    look()
            with pytest.raises(LifecycleError, match="has ended"):
                await asyncio.to_thread(run.call_tool_sync, "task-state/recordArtifact", {"path": "x"})

    asyncio.run(scenario())


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="same id"):
        Harness(layers=[task_state(), task_state(merge_data="namespace")])
    with pytest.raises(ConfigurationError, match="shared_thread 'merge'"):
        Harness(shared_thread="merge")  # type: ignore[arg-type]


def test_two_task_layers_with_ids_of_their_own_keep_states_of_their_own(open_storage: Open) -> None:
    async def scenario() -> None:
        layers = [task_layer(), task_layer(id="plan", scope="resource"), task_layer(id="all", scope="global")]
        async with Harness(storage=open_storage(), layers=layers) as harness:
            for thread in ("t1", "t2"):
                async with harness.execution(thread_id=thread, resource_id="r") as run:
                    for layer_id in ("task-state", "plan", "all"):
                        await run.context[layer_id].record_artifact(path=f"{layer_id} {thread}")
            async with harness.execution(thread_id="t1", resource_id="r") as run:
                assert run.context["task-state"].files == ["task-state t1"]
                assert run.context["plan"].files == ["plan t1", "plan t2"]
                assert run.context["all"].files == ["all t1", "all t2"]

    asyncio.run(scenario())


def test_a_state_of_scope_execution_is_never_stored() -> None:
    async def scenario() -> None:
        storage = Plain()
        async with running(storage, task_layer(scope="execution")) as run:
            await tools(run).record_artifact(path="x")
            await run.store()
        assert storage.writes == []

    asyncio.run(scenario())


@pytest.mark.parametrize("storage", ["memory", "file", "sqlite", "postgres"], indirect=True)
def test_harnesses_with_loops_of_their_own_work_at_the_same_time(open_storage: Open) -> None:
    def work(number: int) -> None:
        async def scenario() -> None:
            async with running(open_storage(), thread_id=f"t{number}") as run:
                for step in range(5):
                    await tools(run).set_task_data(key="step", value=step)

        asyncio.run(scenario())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def look() -> None:
        async with Harness(storage=open_storage(), layers=[task_layer()]) as harness:
            for number in range(4):
                state = (await harness.threads.read(f"t{number}"))["task-state"]
                assert state["data"] == {"step": 4, "__outcome": "success"}

    asyncio.run(look())


def test_layers_that_were_loaded_let_go_when_a_later_one_fails_to_load() -> None:
    let_go = []

    class Holding(ContextLayer):
        def init(self) -> dict[str, Any]:
            return {"state": {"held": True}}

        def dispose(self, *, state: Any) -> None:
            let_go.append(state)

    class Failing(ContextLayer):
        def init(self) -> dict[str, Any]:
            raise ValueError("no")

    async def scenario() -> None:
        async with Harness(layers=[Holding("holding"), Failing("failing")]) as harness:
            with pytest.raises(ValueError, match="no"):
                async with harness.execution():
                    pass

    asyncio.run(scenario())
    assert let_go == [{"held": True}]
