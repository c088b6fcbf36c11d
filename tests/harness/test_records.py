"""Stored states: who may write them, in which order, and what a failing storage does."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest

from taskstate.errors import ConflictError
from taskstate.harness import Diagnostic, Harness
from taskstate.storage import MemoryStorage

from .support import KEY, Plain, running, stored, task_layer, tools

Open = Callable[[], Any]


@pytest.fixture
def plain() -> Plain:
    return Plain()


async def second_writer_conflicts(first_harness: Harness, second_harness: Harness, storage: Any) -> None:
    with pytest.raises(ConflictError) as caught:  # noqa: PT012
        async with first_harness.execution(thread_id="t") as first, second_harness.execution(thread_id="t") as second:
            await tools(first).set_task_data(key="first", value=1)
            before = await stored(storage)
            for _ in range(2):
                with pytest.raises(ConflictError):
                    await tools(second).set_task_data(key="second", value=2)
                with pytest.raises(ConflictError):
                    await second.store()
            assert await stored(storage) == before
            await tools(first).set_task_data(key="more", value=1)
    assert caught.value.key == KEY
    assert caught.value.code == "conflict"
    left = (await stored(storage))["data"]
    assert {key: left[key] for key in ("first", "more")} == {"first": 1, "more": 1}
    async with first_harness.execution(thread_id="t") as later:
        await tools(later).set_task_data(key="later", value=3)
    assert (await stored(storage))["data"]["later"] == 3


@pytest.mark.parametrize("storage", ["memory", "file", "sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("harnesses", [1, 2])
def test_the_second_of_two_roots_on_a_thread_gets_a_conflict(open_storage: Open, harnesses: int) -> None:
    async def scenario() -> None:
        async with (
            Harness(storage=open_storage(), layers=[task_layer()]) as one,
            Harness(storage=open_storage(), layers=[task_layer()]) as two,
        ):
            await second_writer_conflicts(one, one if harnesses == 1 else two, open_storage())

    asyncio.run(scenario())


@pytest.mark.parametrize("harnesses", [1, 2])
def test_an_adapter_without_versions_is_watched_within_the_process(plain: Plain, harnesses: int) -> None:
    async def scenario() -> None:
        async with (
            Harness(storage=plain, layers=[task_layer()]) as one,
            Harness(storage=plain, layers=[task_layer()]) as two,
        ):
            await second_writer_conflicts(one, one if harnesses == 1 else two, plain)
            assert one.lifecycle.records.storage is two.lifecycle.records.storage
            assert not one.lifecycle.records.storage._stamps  # type: ignore[attr-defined]

    asyncio.run(scenario())


@pytest.mark.parametrize("pause", [0.0, 0.002, 0.005, 0.012, 0.02, 0.04])
def test_no_write_that_was_confirmed_is_overwritten_unseen(plain: Plain, pause: float) -> None:
    confirmed: list[str] = []

    async def write(key: str, after: float) -> None:
        await asyncio.sleep(after)
        async with running(plain) as run:
            await tools(run).set_task_data(key=key, value=1)
            confirmed.append(key)

    async def scenario() -> None:
        plain.delay = 0.01
        ended = await asyncio.gather(write("first", 0), write("second", pause), return_exceptions=True)
        assert {type(error) for error in ended} <= {type(None), ConflictError}
        assert "first" in confirmed
        assert plain.records[KEY]["data"].keys() >= set(confirmed)

    asyncio.run(scenario())


@pytest.mark.parametrize("storage", ["file", "sqlite"])
def test_two_processes_on_a_thread_conflict_too(
    storage: str, open_storage: Open, start: Callable[..., Any], tmp_path: Any
) -> None:
    other = start("hold_thread.py", storage, tmp_path)
    assert other.stdout.readline() == "loaded\n"

    async def scenario() -> None:
        async with running(open_storage()) as run:
            await tools(run).set_task_data(key="mine", value=1)

    asyncio.run(scenario())
    printed, errors = other.communicate("go\n", timeout=60)
    assert printed == f"conflict {KEY}\n", errors
    assert asyncio.run(stored(open_storage()))["data"] == {"mine": 1, "__outcome": "success"}


def test_last_writer_lets_both_write(open_storage: Open) -> None:
    async def scenario() -> None:
        async with (
            Harness(storage=open_storage(), layers=[task_layer()], shared_thread="last_writer") as harness,
            harness.execution(thread_id="t") as first,
            harness.execution(thread_id="t") as second,
        ):
            await tools(first).set_task_data(key="first", value=1)
            await tools(second).set_task_data(key="second", value=2)
            assert (await stored(open_storage()))["data"] == {"second": 2}
        assert (await stored(open_storage()))["data"] == {"first": 1, "__outcome": "success"}

    asyncio.run(scenario())


def test_the_children_of_a_root_share_its_version(open_storage: Open) -> None:
    async def scenario() -> None:
        async with running(open_storage()) as run:
            for number in range(3):
                async with run.spawn() as child, child.spawn() as grandchild:
                    await tools(run).set_task_data(key=f"root-{number}", value=number)
                    await tools(grandchild).set_task_data(key=f"grandchild-{number}", value=number)
            await run.in_parallel([lambda child: tools(child).record_artifact(path=child.execution_id)] * 4)
            await run.store()
        state = await stored(open_storage())
        assert len(state["data"]) == 7
        assert len(state["files"]) == 4

    asyncio.run(scenario())


@pytest.mark.parametrize("versions", [True, False])
def test_a_thread_deleted_while_a_run_has_it_does_not_come_back(
    open_storage: Open, plain: Plain, versions: bool
) -> None:
    async def scenario() -> None:
        adapter = open_storage() if versions else plain
        async with Harness(storage=adapter, layers=[task_layer()]) as harness:
            with pytest.raises(ConflictError):  # noqa: PT012
                async with harness.execution(thread_id="t") as run:
                    await run.store()
                    await harness.threads.delete("t")
                    await run.store()
            assert await harness.threads.list() == []

    asyncio.run(scenario())


def test_writes_of_a_key_are_coalesced_and_the_latest_wins(plain: Plain) -> None:
    async def scenario() -> None:
        plain.delay = 0.02
        async with running(plain) as run:
            results = await asyncio.gather(*(tools(run).set_task_data(key="k", value=n) for n in range(100)))
            assert results == ["Recorded k."] * 100
            assert [write["data"] for write in plain.writes] == [{"k": 0}, {"k": 99}]
            assert plain.records[KEY]["data"] == {"k": 99}

    asyncio.run(scenario())


def test_a_write_returns_only_when_it_is_durable(plain: Plain) -> None:
    async def scenario() -> None:
        plain.delay = 0.005
        async with running(plain) as run:
            for number in range(5):
                await tools(run).set_task_data(key="k", value=number)
                assert plain.records[KEY]["data"]["k"] == number
                await run.store()
                assert len(plain.records[KEY]["checkpoints"]) == number + 1
                async with run.spawn() as child:
                    await tools(child).record_artifact(path=str(number))
                assert len(plain.records[KEY]["files"]) == number + 1
        assert plain.records[KEY]["data"]["__outcome"] == "success"

    asyncio.run(scenario())


def test_a_storage_that_fails_raises_where_a_write_was_asked_for(plain: Plain) -> None:
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        with pytest.raises(OSError, match="disk gone"):  # noqa: PT012
            async with running(plain, diagnostics=seen.append) as run:
                await run.store()
                before = copy.deepcopy(plain.records)
                plain.error = OSError("disk gone")
                with pytest.raises(OSError, match="disk gone"):
                    await run.store()
                with pytest.raises(OSError, match="disk gone"):
                    await tools(run).record_artifact(path="x")
                with pytest.raises(OSError, match="disk gone"):
                    async with run.spawn() as child:
                        await tools(child).record_artifact(path="y")
                assert plain.records == before
                assert len(plain.writes) == 4  # one each: nothing is tried again
        assert len(plain.writes) == 5
        assert {(one.hook, type(one.error)) for one in seen} == {("persist", OSError)}

    asyncio.run(scenario())


def test_once_the_storage_works_again_so_does_the_run_without_what_failed(plain: Plain) -> None:
    async def scenario() -> None:
        async with running(plain) as run:
            plain.error = OSError("for a moment")
            with pytest.raises(OSError, match="for a moment"):
                await tools(run).set_task_data(key="a", value=1)
            plain.error = None
            await run.store()
            await tools(run).set_task_data(key="b", value=2)
            assert plain.records[KEY]["data"] == {"b": 2}

    asyncio.run(scenario())


def test_each_of_several_calls_hears_of_the_failure(plain: Plain) -> None:
    async def scenario() -> None:
        async with running(plain) as run:
            plain.error = OSError("no")
            calls = [tools(run).set_task_data(key=f"{n}", value=n) for n in range(5)]
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(result) for result in results] == [OSError] * 5
            plain.error = None

    asyncio.run(scenario())


def test_without_strict_failures_are_reported_only(plain: Plain) -> None:
    async def scenario() -> None:
        seen: list[Diagnostic] = []
        plain.error = OSError("disk gone")
        async with running(plain, strict=False, diagnostics=seen.append) as run:
            await run.store()
            assert await tools(run).record_artifact(path="x") == "Recorded artifact: x"
            async with run.spawn() as child:
                await tools(child).record_artifact(path="y")
            assert tools(run).files == ["x", "y"]
        assert [(one.layer_id, one.hook, type(one.error)) for one in seen] == [("task-state", "persist", OSError)] * 4
        assert plain.records == {}

    asyncio.run(scenario())


def test_an_adapter_that_raises_a_timeout_is_not_mistaken_for_a_blocked_loop(plain: Plain) -> None:
    async def scenario() -> None:
        async with running(plain) as run:
            plain.error = TimeoutError("the database took too long")
            with pytest.raises(TimeoutError, match="took too long"):
                await asyncio.to_thread(run.call_tool_sync, "task-state/recordArtifact", {"path": "x"})

            def elsewhere() -> None:
                asyncio.run(run.call_tool("task-state/recordArtifact", {"path": "y"}))

            with pytest.raises(TimeoutError, match="took too long"):
                await asyncio.to_thread(elsewhere)
            plain.error = None

    asyncio.run(scenario())


def test_nothing_is_kept_of_what_has_ended(plain: Plain) -> None:
    async def scenario() -> None:
        for storage in (plain, MemoryStorage()):
            async with Harness(storage=storage, layers=[task_layer()]) as harness:
                for number in range(3):
                    async with harness.execution(thread_id=f"{number}") as run:
                        await run.in_parallel([lambda child: child.store()] * 3)
                        with pytest.raises(ZeroDivisionError):
                            async with run.spawn():
                                raise ZeroDivisionError
                lifecycle = harness.lifecycle
                for kept in (
                    lifecycle.states._live,
                    lifecycle.states._bound,
                    lifecycle.states._writes,
                    lifecycle.records._lanes,
                    lifecycle._busy,
                    lifecycle._disabled,
                    lifecycle.states._inherited,
                    harness._running,
                ):
                    assert not kept

    asyncio.run(scenario())
