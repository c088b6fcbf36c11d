"""Who is told of changes; deliveries and ends that are looked for when nobody tells."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from taskstate.errors import StorageError
from taskstate.tasks import DurableTasks, TaskContext, task
from taskstate.tasks.stores.hints import Hints
from taskstate.tasks.stores.memory import MemoryTaskStore
from taskstate.tasks.stores.sql.queries import load

pytestmark = pytest.mark.once


class Listening(Hints):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def listen(self) -> None:
        self.calls.append("listen")

    def hush(self) -> None:
        self.calls.append("hush")


def test_a_store_listens_from_its_first_subscriber_until_the_last_has_gone() -> None:
    store = Listening()
    heard: list[Any] = []
    ends = [store.subscribe(heard.append) for _ in range(2)]  # the same one twice is two
    store.tell({"ready"})
    store.tell(set())
    assert heard == [{"ready"}, {"ready"}]
    ends[0]()
    ends[0]()
    store.tell({"ended"})
    assert heard[2:] == [{"ended"}]
    assert store.calls == ["listen"]
    ends[1]()
    ends[1]()
    assert store.calls == ["listen", "hush"]
    store.subscribe(heard.append)()
    assert store.calls == ["listen", "hush"] * 2


def test_a_subscriber_that_fails_keeps_no_other_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    store = Hints()
    heard: list[Any] = []

    def fail(topics: object) -> None:
        raise ValueError("secret")

    store.subscribe(fail)
    end = store.subscribe(lambda topics: end() or heard.append(topics))  # type: ignore[func-returns-value]
    store.tell({"ready"})
    store.tell({"ready"})
    assert heard == [{"ready"}]
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


def test_a_statement_with_a_mark_that_the_dialect_has_no_word_for_is_not_loaded() -> None:
    with pytest.raises(KeyError):
        load("sqlite", {})


class Silent(MemoryTaskStore):
    """Tells nobody, and fails now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: dict[str, int] = {}

    def tell(self, topics: Any) -> None: ...

    def call(self, rule: Any, *args: Any, **kwargs: Any) -> Any:
        if self.failing.get(rule.__name__, 0) > 0:
            self.failing[rule.__name__] -= 1
            raise StorageError("tasks", "out of reach")
        return super().call(rule, *args, **kwargs)


@task("child")
async def child(ctx: TaskContext, input: int) -> int:
    return input


@task("parent")
async def parent(ctx: TaskContext, input: int) -> int:
    await ctx.sleep(0.02)
    return await ctx.run(child, input)


async def test_all_goes_on_by_looking_where_nothing_is_told_and_calls_fail(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    store = Silent()
    store.failing = dict.fromkeys(("claim", "dispatch", "sweep", "ended", "finish"), 2)
    async with DurableTasks(types=[parent, child], store=store, poll_s=0.02) as tasks:
        handle = await tasks.start(parent, 5, conversation="c")
        assert await handle.result(10) == 5
        (event,) = await tasks.inbox("c").take(wait_s=5)
        assert event["result"] == 5
    assert set(store.failing.values()) == {0}
    assert "secret" not in caplog.text


async def test_a_wait_for_an_end_that_is_given_up_leaves_nothing_behind() -> None:
    async with DurableTasks(types=[child], store="memory:", worker=False, poll_s=0.02) as tasks:
        handle = await tasks.start(child, 1)
        waits = [asyncio.ensure_future(handle.result(10)) for _ in range(3)]
        await asyncio.sleep(0.05)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        with pytest.raises(TimeoutError):
            await handle.result(0)
        assert tasks._ends._waiting == {}


async def test_closing_ends_those_who_still_wait_for_an_event_or_an_end_only_by_their_own_time() -> None:
    async with DurableTasks(types=[child], store="memory:", worker=False, poll_s=0.02) as tasks:
        await tasks.start(child, 1, conversation="c")
        inbox = tasks.inbox("c")
        assert await inbox.take() == []
        assert await inbox.take(wait_s=0.05) == []
        assert await tasks.inbox("nobody's").take(wait_s=0.05) == []
        assert await inbox.ack([]) == 0
        assert tasks._bell._waiting == set()
