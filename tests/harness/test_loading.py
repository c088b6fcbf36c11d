"""What a run begins with: the stored state, its defaults, and what happens to one that can't be used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from taskstate import ContextLayer
from taskstate.errors import CorruptRecordError, InvalidStateError
from taskstate.harness import Diagnostic, Harness

from .support import EMPTY, KEY, Plain, running, stored, task_layer, tools

Open = Callable[[], Any]
BROKEN: list[Any] = [
    7,
    "text",
    [],
    {"files": 7},
    {"files": [7]},
    {"data": []},
    {"checkpoints": [{"timestamp": "then", "depth": 0}]},
    {"checkpoints": [{"timestamp": 1}]},
    {"checkpoints": None},
]


def test_what_a_later_version_added_takes_its_default_and_what_is_unknown_is_kept(open_storage: Open) -> None:
    # Reported of another library as crewAIInc/crewAI#6706: a field's default was lost on restore.
    async def scenario() -> None:
        await open_storage().set(KEY, {"files": ["a"], "extra": {"kept": [1]}})
        async with running(open_storage()) as run:
            assert run.state("task-state") == {**EMPTY, "files": ["a"], "extra": {"kept": [1]}}
            async with run.spawn() as child:
                await tools(child).set_task_data(key="k", value=1)
            await run.store()
            assert tools(run).extra == {"kept": [1]}
        assert (await stored(open_storage()))["extra"] == {"kept": [1]}

    asyncio.run(scenario())


@pytest.mark.parametrize("state", BROKEN, ids=repr)
def test_a_state_that_is_none_is_raised_and_left_alone(state: Any) -> None:
    async def scenario() -> None:
        storage = Plain()
        storage.records[KEY] = state
        seen: list[Diagnostic] = []
        with pytest.raises(InvalidStateError):
            async with running(storage, diagnostics=seen.append):
                raise AssertionError("must not start")
        assert storage.records == {KEY: state}
        assert storage.writes == []
        assert [(one.hook, type(one.error)) for one in seen] == [("init", InvalidStateError)]

    asyncio.run(scenario())


@pytest.mark.parametrize("state", BROKEN, ids=repr)
def test_with_disable_the_run_goes_on_without_the_layer(state: Any) -> None:
    async def scenario() -> None:
        storage = Plain()
        storage.records[KEY] = state
        layers = [task_layer(on_init_error="disable"), task_layer(id="other")]
        async with running(storage, *layers) as run:
            assert run.state("task-state") is None
            assert len(await run.recall()) == 1
            await run.store()
            async with run.spawn() as child:
                assert child.state("task-state") is None
                await run.context["other"].record_artifact(path="x")
            assert run.context["other"].files == ["x"]
            assert not run._harness.lifecycle.records._lanes
        assert storage.records[KEY] == state

    asyncio.run(scenario())


@pytest.mark.parametrize("state", BROKEN, ids=repr)
def test_with_set_aside_the_run_starts_anew_and_nothing_is_lost(open_storage: Open, state: Any) -> None:
    async def scenario() -> None:
        await open_storage().set(KEY, state)
        seen: list[Diagnostic] = []
        layer = task_layer(on_init_error="set_aside")
        async with Harness(storage=open_storage(), layers=[layer], diagnostics=seen.append) as harness:
            async with harness.execution(thread_id="t") as run:
                assert run.state("task-state") == EMPTY
                await run.store()
            assert [(one.hook, type(one.error)) for one in seen] == [("init", InvalidStateError)]
            await open_storage().set(KEY, state)
            async with harness.execution(thread_id="t") as run:
                await tools(run).record_artifact(path="x")
            names = sorted(await open_storage().list(""))
            assert len(names) == 3
            assert names[2] == KEY
            assert all(name.startswith("layers/task-state/t/set-aside/") for name in names[:2])
            for name in names[:2]:
                assert await open_storage().get(name) == state
            assert (await stored(open_storage()))["files"] == ["x"]
            assert await harness.threads.delete("t") == 3

    asyncio.run(scenario())


def test_a_storage_that_fails_while_loading_is_no_broken_state() -> None:
    class Down(Plain):
        async def get(self, key: str) -> Any:
            raise OSError("down")

    async def scenario() -> None:
        for choice, raises in (("raise", True), ("set_aside", True), ("disable", False)):
            storage = Down()
            layer = task_layer(on_init_error=choice)
            if raises:
                with pytest.raises(OSError, match="down"):
                    async with running(storage, layer):
                        pass
            else:
                async with running(storage, layer) as run:
                    assert run.state("task-state") is None
            assert storage.writes == []

    asyncio.run(scenario())


@pytest.mark.parametrize("storage", ["file"])
def test_a_record_that_is_no_json_is_never_overwritten(storage: str, open_storage: Open, tmp_path: Any) -> None:
    async def scenario() -> None:
        async with open_storage() as opened:
            await opened.set(KEY, EMPTY)
        (file,) = (path for path in (tmp_path / "state").iterdir() if path.name != ".lock")
        file.write_bytes(b'{"checkpoints": [')
        for choice in ("raise", "set_aside"):
            with pytest.raises(CorruptRecordError):
                async with running(open_storage(), task_layer(on_init_error=choice)):
                    pass
        async with running(open_storage(), task_layer(on_init_error="disable")) as run:
            await run.store()
        assert file.read_bytes() == b'{"checkpoints": ['

    asyncio.run(scenario())


def test_an_init_hook_sees_its_own_scope_only() -> None:
    class Own(ContextLayer):
        async def init(self, storage: Any, scope_key: str, ctx: Any) -> Any:
            assert scope_key == ctx.thread_id == "t"
            await storage.set("a", 1)
            await storage.set("b/c", 2)
            await storage.delete("a")
            await storage.set("state", {"kept": True})
            assert await storage.get_many(["a", "b/c", "state", "none"]) == {"b/c": 2, "state": {"kept": True}}
            assert sorted(await storage.list()) == ["b/c", "state"]
            return {"state": await storage.get("state")}

        def store(self, state: Any) -> Any:
            return {"state": {**state, "stored": True}}

    async def scenario() -> None:
        storage = Plain()
        async with running(storage, Own("own"), task_layer()) as run:
            await run.store()
            assert storage.records["layers/own/t/state"] == {"kept": True, "stored": True}
            assert storage.records["layers/own/t/b/c"] == 2

    asyncio.run(scenario())
