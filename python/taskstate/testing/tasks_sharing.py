"""The suites for what a task store may do beyond one object in one process."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from ..errors import LeaseLostError
from ..tasks.records import Filter, Want
from .tasks_suite import DONE, LEASE_MS, Bench, TaskStoreSuite


class TaskPersistence(TaskStoreSuite):
    """For a store whose tasks are there for another one that is made later by the same `make_store(tmp_path)`."""

    def test_all_that_was_acknowledged_is_there_for_a_later_store(self, tmp_path: Path) -> None:
        async def write(b: Bench) -> list[Any]:
            claim = await b.running(conversation="c", generation=3, notify=True)
            await b.store.checkpoint(claim.lease, "k", 1, "h", '"kept"')
            await b.store.publish(claim.lease, "p", '"progress"')
            await b.store.signal(claim.id, "early", "1", signal_id="s")
            children = await b.fan_out(claim.lease, 3, limit=1)
            await b.work(children[0])
            await b.store.suspend(claim.lease, ["step"], "children")
            await b.put(delay_ms=1000)
            ids = [row.id for row in await b.store.list(Filter())]
            return [ids, await b.everything(ids), await b.store.waits(claim.id, below=True), claim, children]

        async def read(b: Bench) -> None:
            assert await b.everything(ids) == everything
            assert await b.store.waits(claim.id, below=True) == waits
            await b.settle()
            assert await b.states(children) == ["succeeded", "ready", "scheduled"]
            for child in children[1:]:
                await b.work(child)
                await b.settle()
            again = await b.claim(claim.id)
            assert [one.value for one in (await b.store.load(again.lease))[0]] == ['"kept"']
            (wait,) = await b.store.wait(again.lease, [b.wait(name="early")])
            assert wait.outcome == "signal"
            await b.store.finish(again.lease, DONE)
            assert [event.task_seq for event in await b.events()] == [1, 2]

        ids, everything, waits, claim, children = self.use(tmp_path, write)
        self.use(tmp_path, read)

    def test_a_lease_outlives_the_store_that_gave_it(self, tmp_path: Path) -> None:
        async def write(b: Bench) -> Any:
            return await b.running()

        async def read(b: Bench) -> None:
            assert await b.store.finish(claim.lease, DONE) == "succeeded"

        claim = self.use(tmp_path, write)
        self.use(tmp_path, read)


class TaskSharing(TaskStoreSuite):
    """For a store of which several, made by the same `make_store(tmp_path)`, work on the same tasks at one time."""

    def share(self, tmp_path: Path, number: int, scenario: Callable[[list[Bench]], Awaitable[None]]) -> None:
        """Run `scenario` with several stores, all on the same tasks."""

        async def run() -> None:
            async with AsyncExitStack() as stack:
                opened = await asyncio.gather(*(self.bench(tmp_path) for _ in range(number)))
                for bench in opened:
                    stack.push_async_callback(bench.store.close)
                await scenario(list(opened))

        asyncio.run(run())

    def test_stores_that_are_opened_together_see_each_other(self, tmp_path: Path) -> None:
        async def scenario(stores: list[Bench]) -> None:
            first, second, *_ = stores
            task_id = await first.put()
            claim = await second.claim(task_id)
            assert await first.state(task_id) == "running"
            await first.store.checkpoint(claim.lease, "k", 1, "h", "1")
            assert await second.store.finish(claim.lease, DONE) == "succeeded"
            with pytest.raises(LeaseLostError):
                await first.store.checkpoint(claim.lease, "k", 1, "h", "1")

        self.share(tmp_path, 4, scenario)

    def test_each_task_is_claimed_once_under_each_fence(self, tmp_path: Path) -> None:
        # Reported of other libraries as dbos-inc/dbos-transact-py#541: two workers ran one item.
        async def scenario(stores: list[Bench]) -> None:
            await stores[0].store.enqueue([stores[0].new(name="n") for _ in range(100)])
            owned: list[tuple[str, int]] = []

            async def work(b: Bench) -> None:
                while claims := await b.store.claim("w", [Want("n", 1, 3)], 3):
                    owned.extend(claim.lease for claim in claims)
                    await asyncio.gather(*(b.store.finish(claim.lease, DONE) for claim in claims))

            # A claim may find nothing because others have locked what is there: each looks again.
            while len(owned) < 100:
                await asyncio.gather(*(work(b) for b in stores for _ in range(2)))
            assert len(owned) == len(set(owned)) == 100
            assert {fence for _, fence in owned} == {1}

        self.share(tmp_path, 4, scenario)

    def test_requests_with_one_key_from_several_stores_share_one_task(self, tmp_path: Path) -> None:
        async def scenario(stores: list[Bench]) -> None:
            for turn in range(5):
                news = [b.new(id=f"{turn}-{n}", name="n", single_flight=f"k{turn}") for n, b in enumerate(stores)]
                calls = [b.store.enqueue([new]) for b, new in zip(stores, news, strict=True)]
                placed = [one for (one,) in await asyncio.gather(*calls)]
                assert len({one.id for one in placed}) == 1
                assert sum(one.created for one in placed) == 1
            assert len(await stores[0].store.list(Filter())) == 5

        self.share(tmp_path, 4, scenario)

    def test_children_that_end_in_different_stores_at_once_wake_their_parent_once(self, tmp_path: Path) -> None:
        async def scenario(stores: list[Bench]) -> None:
            first = stores[0]
            for _ in range(5):
                parent, children = await first.parent(4)
                claims = [await first.claim(task_id) for task_id in children]

                async def end(b: Bench, lease: Any) -> None:
                    await b.store.finish(lease, DONE)
                    await b.store.dispatch()

                await asyncio.gather(*(end(b, one.lease) for b, one in zip(stores, claims, strict=True)))
                await asyncio.gather(*(b.store.dispatch() for b in stores))
                row = await first.row(parent.id)
                assert (row.state, row.fence) == ("ready", parent.fence + 2)

        self.share(tmp_path, 4, scenario)

    def test_a_cancel_and_a_completion_in_different_stores_have_one_outcome(self, tmp_path: Path) -> None:
        async def scenario(stores: list[Bench]) -> None:
            first, second, *_ = stores
            for step in range(20):
                claim = await first.running(conversation="c", generation=step + 1, notify=True)
                calls: list[Any] = [first.store.finish(claim.lease, DONE)]
                calls.append(
                    second.store.cancel(claim.id, grace_ms=1000)
                    if step % 2
                    else second.store.advance("c", step + 2, owner="owner")
                )
                await asyncio.gather(*calls, return_exceptions=True)
                state = await first.state(claim.id)
                assert state in ({"succeeded", "cancelled"} if step % 2 else {"succeeded", "superseded"})
                heard = [event.state for event in await first.events() if event.task_id == claim.id]
                assert heard == (["succeeded"] if state == "succeeded" and step % 2 else [])

        self.share(tmp_path, 2, scenario)

    def test_of_a_completion_and_a_reclaim_at_once_one_counts(self, tmp_path: Path) -> None:
        async def scenario(stores: list[Bench]) -> None:
            first, second, *_ = stores
            for _ in range(10):
                claim = await first.running()
                await first.later(LEASE_MS)
                calls: list[Any] = [first.store.finish(claim.lease, DONE), second.store.sweep()]
                calls.append(second.store.sweep())
                outcomes: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
                finished, *swept = outcomes
                reclaimed = sum(one.reclaimed for one in swept)
                assert reclaimed == (0 if finished == "succeeded" else 1)
                assert await first.state(claim.id) == ("ready" if reclaimed else "succeeded")

        self.share(tmp_path, 2, scenario)

    def test_upkeep_by_several_stores_does_each_thing_once(self, tmp_path: Path) -> None:
        async def scenario(stores: list[Bench]) -> None:
            first = stores[0]
            claims = [await first.running(conversation="c", generation=1, notify=True) for _ in range(20)]
            scheduled = [await first.put(delay_ms=10) for _ in range(20)]
            await asyncio.gather(*(first.store.finish(claim.lease, DONE) for claim in claims))
            await first.later(1000)
            calls: list[Any] = [b.store.dispatch(5) for b in stores for _ in range(3)]
            calls += [b.store.sweep(5) for b in stores for _ in range(3)]
            await asyncio.gather(*calls)
            while (await first.store.sweep()).promoted:
                pass
            events = await first.events()
            assert [event.seq for event in events] == list(range(1, 21))
            assert {event.task_id for event in events} == {claim.id for claim in claims}
            assert await first.states(scheduled) == ["ready"] * 20

        self.share(tmp_path, 4, scenario)

    def test_readers_of_one_inbox_are_not_offered_the_same_events(self, tmp_path: Path) -> None:
        async def scenario(stores: list[Bench]) -> None:
            first = stores[0]
            for _ in range(12):
                await first.work(await first.heard())
            await first.settle()
            calls = [b.store.take("c", owner="owner", limit=3, offer_ms=60_000) for b in stores]
            taken = [event.seq for events in await asyncio.gather(*calls) for event in events]
            assert len(taken) == len(set(taken))
            rest = await first.events(offer_ms=60_000)
            assert sorted([*taken, *(event.seq for event in rest)]) == list(range(1, 13))

        self.share(tmp_path, 4, scenario)

    def test_a_store_hears_of_what_another_one_did(self, tmp_path: Path) -> None:
        async def scenario(stores: list[Bench]) -> None:
            first, second, *_ = stores
            heard: set[str] = set()
            stop = first.store.subscribe(heard.update)
            async with asyncio.timeout(20):
                while "ready" not in heard:  # it may not have begun to listen when the first one was stored
                    await second.put()
                    await asyncio.sleep(0.05)
            stop()

        self.share(tmp_path, 2, scenario)
