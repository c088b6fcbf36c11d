"""A secret is kept out of every way out: what is stored, shown, exported and reported.

Reported of others as letta-ai/letta PR#2809, open-multi-agent/open-multi-agent#339 and mem0ai/mem0#6817.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest

from taskstate import ContextLayer
from taskstate.errors import ConfigurationError, InvalidValueError
from taskstate.harness import Diagnostic, Harness
from taskstate.storage import MemoryStorage

from .support import KEY, Plain, running, stored, task_layer, tools

Open = Callable[[], Any]
SECRET = "sk-live-0123456789abcdef"
SHOWN = "[redacted]"


def redact(text: str) -> str:
    return re.sub(r"sk-[a-z]+-\w+", SHOWN, text)


class Leaky(ContextLayer):
    """A user's layer that has the secret everywhere."""

    async def init(self, storage: Any) -> Any:
        await storage.set("log", {SECRET: [SECRET]})
        return {"state": {"token": SECRET}}

    def recall(self, state: Any) -> Any:
        message = {"role": "user", "content": [{"type": "text", "text": f"{state} {SECRET}"}]}
        return {"items": (message,), "token_count": 1}

    def store(self, state: Any) -> Any:
        raise ValueError(f"can't reach the server with {SECRET}")


def test_a_secret_is_nowhere_but_in_the_users_hands(
    storage: str, open_storage: Open, raw_bytes: Callable[[], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[Diagnostic] = []
    shown: list[Any] = []

    async def scenario() -> None:
        layers = [task_layer(), Leaky("leaky")]
        async with Harness(storage=open_storage(), layers=layers, redact=redact, diagnostics=seen.append) as harness:
            async with harness.execution(thread_id="t") as run:
                await tools(run).set_task_data(key="key", value=SECRET)
                await tools(run).set_task_data(key="env", value={"vars": [{"OPENAI_API_KEY": f"Bearer {SECRET}"}]})
                await tools(run).set_task_data(key="nested", value={SECRET: ({"a": SECRET},)})
                await tools(run).record_artifact(path=f"out/{SECRET}.md")
                await run.store(SECRET)
                async with run.spawn() as child:
                    await tools(child).set_task_data(key="child", value=SECRET)
                    shown.append(await child.recall())
                shown.extend([await run.recall(), run.state("task-state"), run.state("leaky"), tools(run).data])
                shown.extend([repr(run), repr(harness), repr(tools(run)), repr(run.context), repr(layers)])
            shown.extend([await harness.threads.export("t"), await harness.threads.read("t")])
            shown.append(await harness.threads.list())

    asyncio.run(scenario())
    assert [(one.layer_id, one.hook) for one in seen] == [("leaky", "store")]
    shown.extend([repr(seen), seen[0].message, caplog.text, *(record.__dict__ for record in caplog.records)])
    assert SECRET not in repr(shown)
    assert "sk-live" not in repr(shown)
    assert seen[0].message == f"ValueError: can't reach the server with {SHOWN}"
    assert b"sk-live" not in raw_bytes()
    assert SHOWN.encode() in raw_bytes()

    async def look() -> None:
        async with running(open_storage(), task_layer()) as run:
            assert tools(run).data["env"] == {"vars": [{"OPENAI_API_KEY": f"Bearer {SHOWN}"}]}
            assert tools(run).data["nested"] == {SHOWN: [{"a": SHOWN}]}
            assert tools(run).files == [f"out/{SHOWN}.md"]

    asyncio.run(look())


def test_the_same_path_twice_is_still_recorded_once() -> None:
    async def scenario() -> None:
        async with running(redact=redact) as run:
            assert await tools(run).record_artifact(path=SECRET) == f"Recorded artifact: {SHOWN}"
            assert await tools(run).record_artifact(path=SECRET) == f"Already recorded: {SHOWN}"
            await tools(run).set_task_data(key=SECRET, value=1)
            await tools(run).set_task_data(key=SECRET, value=2)
            assert tools(run).files == [SHOWN]
            assert tools(run).data == {SHOWN: 2}

    asyncio.run(scenario())


def test_what_was_stored_without_redaction_is_redacted_when_it_is_read(open_storage: Open) -> None:
    async def scenario() -> None:
        async with running(open_storage()) as run:
            await tools(run).set_task_data(key="key", value=SECRET)
        async with Harness(storage=open_storage(), layers=[task_layer()], redact=redact) as harness:
            assert SECRET not in repr(await harness.threads.read("t"))
            document = await harness.threads.export("t")
            assert SECRET not in repr(document)
            async with harness.execution(thread_id="t") as run:
                assert tools(run).data["key"] == SHOWN
                assert SECRET not in repr(await run.recall())
            assert (await stored(open_storage()))["data"]["key"] == SHOWN
            document["layers"]["task-state"]["state"]["data"]["key"] = SECRET
            await harness.threads.import_(document, thread_id="copy")
            assert SECRET not in repr(await open_storage().get("layers/task-state/copy/state"))

    asyncio.run(scenario())


def no_text(text: str) -> Any:
    return None


def fails(text: str) -> str:
    raise RuntimeError(f"can't redact {text}")


@pytest.mark.parametrize(("faulty", "error"), [(no_text, ConfigurationError), (fails, RuntimeError)])
def test_a_redaction_that_fails_lets_nothing_through(faulty: Any, error: type[Exception]) -> None:
    async def scenario() -> None:
        storage = Plain()
        seen: list[Diagnostic] = []
        broken: list[bool] = []

        def sometimes(text: str) -> Any:
            return faulty(text) if broken else text

        async with running(storage, redact=sometimes, diagnostics=seen.append) as run:
            await tools(run).set_task_data(key="old", value=1)
            before = run.state("task-state")
            broken.append(True)
            with pytest.raises(error):
                await tools(run).set_task_data(key="new", value=SECRET)
            with pytest.raises(error):
                await tools(run).set_task_data(key="new", value={"nested": SECRET})
            await run.store()
            (shown,) = await run.recall()  # what entered before, redacted then
            assert '"old": 1' in shown["content"]
            assert "new" not in shown["content"]
            async with run.spawn() as child:
                assert child.state("task-state") is None
            assert run.state("task-state") == storage.records[KEY] == before
            assert {one.message for one in seen} == {error.__name__}
            assert len(storage.writes) == 1
        assert storage.records[KEY] == before

    asyncio.run(scenario())


def test_two_keys_that_become_equal_are_refused_without_being_shown() -> None:
    async def scenario() -> None:
        async with running(redact=redact) as run:
            with pytest.raises(InvalidValueError, match="redaction makes two keys equal") as caught:
                await tools(run).set_task_data(key="env", value={SECRET: {"sk-a-1": 1, "sk-b-2": 2}})
            assert caught.value.path == f'data.env["{SHOWN}"]'
            assert tools(run).data == {}

    asyncio.run(scenario())


def test_a_cycle_is_refused_before_it_is_redacted() -> None:
    async def scenario() -> None:
        cycle: dict[str, Any] = {}
        cycle["self"] = [cycle, cycle]
        async with running(MemoryStorage(), redact=redact) as run:
            with pytest.raises(InvalidValueError, match="refers back"):
                await tools(run).set_task_data(key="k", value=cycle)

    asyncio.run(scenario())
