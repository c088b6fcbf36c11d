"""A stale fence changes nothing: every write in the name of a lease, in every way to lose one."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ..errors import LeaseLostError
from ..tasks.protocol import TaskStore
from ..tasks.records import Claim, Ending, Filter, Lease, NewWait
from .tasks_suite import DONE, FAILED, LEASE_MS, Bench, TaskStoreSuite, scenario

Write = Callable[[Bench, TaskStore, Lease], Awaitable[Any]]
Loss = Callable[[Bench, Claim], Awaitable[None]]

WRITES: dict[str, Write] = {
    "load": lambda b, store, lease: store.load(lease),
    "checkpoint": lambda b, store, lease: store.checkpoint(lease, "another", 9, "h", "1"),
    "checkpoint that is there": lambda b, store, lease: store.checkpoint(lease, "k", 1, "h", "1"),
    "spawn": lambda b, store, lease: store.spawn(lease, "s", [b.new()], wait=None),
    "spawn and wait": lambda b, store, lease: store.spawn(lease, "s", [b.new()], wait=NewWait("w", "s", "children")),
    "wait": lambda b, store, lease: store.wait(lease, [b.wait()]),
    "suspend": lambda b, store, lease: store.suspend(lease, ["open"], "why"),
    "suspend with hold": lambda b, store, lease: store.suspend(lease, ["open"], "why", hold=True),
    "finish": lambda b, store, lease: store.finish(lease, Ending("succeeded", result='"stale"')),
    "finish as failed": lambda b, store, lease: store.finish(lease, Ending("failed", code="stale", retry_ms=1)),
    "release": lambda b, store, lease: store.finish(lease, Ending("released", message="stale")),
    "publish": lambda b, store, lease: store.publish(lease, "p", "1"),
    "current": lambda b, store, lease: store.current(lease),
}


async def _reclaimed(b: Bench, claim: Claim) -> None:
    await b.later(LEASE_MS)
    await b.store.sweep()


async def _claimed_by_another(b: Bench, claim: Claim) -> None:
    await _reclaimed(b, claim)
    await b.claim(claim.id)


async def _poisoned(b: Bench, claim: Claim) -> None:
    for _ in range(claim.max_attempts):
        await _reclaimed(b, claim)
        if (await b.row(claim.id)).state == "ready":
            await b.claim(claim.id)


async def _released(b: Bench, claim: Claim) -> None:
    await b.store.finish(claim.lease, Ending("released"))


async def _to_be_tried_again(b: Bench, claim: Claim) -> None:
    await b.store.finish(claim.lease, Ending("failed", code="x", retry_ms=1000))


async def _succeeded(b: Bench, claim: Claim) -> None:
    await b.store.finish(claim.lease, DONE)


async def _failed(b: Bench, claim: Claim) -> None:
    await b.store.finish(claim.lease, FAILED)


async def _failed_and_retried(b: Bench, claim: Claim) -> None:
    await b.store.finish(claim.lease, FAILED)
    await b.store.retry(claim.id)
    await b.claim(claim.id)


async def _suspended(b: Bench, claim: Claim) -> None:
    assert await b.store.suspend(claim.lease, ["open"], "why") == []


async def _resumed(b: Bench, claim: Claim) -> None:
    await _suspended(b, claim)
    await b.store.signal(claim.id, "answer", "1", signal_id="s")


async def _cancelled(b: Bench, claim: Claim) -> None:
    await b.store.cancel(claim.id, grace_ms=1000)
    await b.later(1000)
    assert (await b.store.sweep()).cancelled == 1


async def _superseded(b: Bench, claim: Claim) -> None:
    assert await b.store.advance("c", 2, owner="owner") == [claim.id]


async def _purged(b: Bench, claim: Claim) -> None:
    await b.store.finish(claim.lease, DONE)
    await b.later(1000)
    assert await b.store.purge({"succeeded": 0}) == 1


LOSSES: dict[str, Loss] = {
    "reclaimed": _reclaimed,
    "claimed by another": _claimed_by_another,
    "poisoned": _poisoned,
    "released": _released,
    "to be tried again": _to_be_tried_again,
    "succeeded": _succeeded,
    "failed": _failed,
    "failed and retried": _failed_and_retried,
    "suspended": _suspended,
    "resumed": _resumed,
    "cancelled": _cancelled,
    "superseded": _superseded,
    "purged": _purged,
}


class FenceConformance(TaskStoreSuite):
    """See `TaskStoreConformance`."""

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("write", WRITES)
    @scenario
    async def test_a_write_under_a_lost_lease_changes_nothing(self, b: Bench, write: str, loss: str) -> None:
        claim = await b.running(conversation="c", generation=1, notify=True)
        await b.store.checkpoint(claim.lease, "k", 1, "h", "1")
        await b.store.wait(claim.lease, [NewWait("open", "open", "signal", "answer")])
        await LOSSES[loss](b, claim)
        ids = [row.id for row in await b.store.list(Filter())]
        before = await b.everything(ids)
        if write == "suspend" and loss in {"suspended", "resumed"}:
            # It was suspended under this lease: the call is a repeat, not a loss.
            assert await WRITES[write](b, b.store, claim.lease) == []
        else:
            with pytest.raises(LeaseLostError) as lost:
                await WRITES[write](b, b.store, claim.lease)
            assert (lost.value.task_id, lost.value.fence) == claim.lease
            assert lost.value.reason == (loss if loss in {"cancelled", "superseded"} else "lost")
        assert [row.id for row in await b.store.list(Filter())] == ids
        assert await b.everything(ids) == before

    @pytest.mark.parametrize("write", WRITES)
    @scenario
    async def test_a_write_under_a_fence_that_never_was_changes_nothing(self, b: Bench, write: str) -> None:
        claim = await b.running()
        ready = await b.put()
        before = await b.everything([claim.id, ready])
        for lease in (Lease(claim.id, claim.fence + 1), Lease(ready, 0), Lease(ready, 1), Lease("no such task", 1)):
            with pytest.raises(LeaseLostError) as lost:
                await WRITES[write](b, b.store, lease)
            assert lost.value.reason == "lost"
        assert await b.everything([claim.id, ready]) == before
        assert len(await b.store.list(Filter())) == 2

    @scenario
    async def test_every_change_of_ownership_raises_the_fence_by_one(self, b: Bench) -> None:
        claim = await b.running(conversation="c", generation=1)
        fences = [(await b.row(claim.id)).fence]

        async def raised(by: int = 1) -> None:
            fences.append((await b.row(claim.id)).fence)
            assert fences[-1] - fences[-2] == by

        await b.store.wait(claim.lease, [wait := b.wait()])
        await raised(0)
        await b.store.suspend(claim.lease, [wait.key], "why")
        await raised()
        await b.store.signal(claim.id, "answer", "1", signal_id="s")
        await raised()
        second = await b.claim(claim.id)
        await raised()
        await b.store.finish(second.lease, Ending("released"))
        await raised()
        await b.claim(claim.id)
        await raised()
        await b.later(LEASE_MS)
        await b.store.sweep()
        await raised()
        await b.store.advance("c", 2, owner="owner")
        await raised()
        other = await b.put()
        await b.store.cancel(other)
        assert (await b.row(other)).fence == 1

    @scenario
    async def test_a_lease_is_current_while_it_holds_and_nothing_asks_to_stop(self, b: Bench) -> None:
        claim = await b.running(conversation="c", generation=1)
        await b.store.current(claim.lease)
        await b.store.cancel(claim.id, grace_ms=1000)
        with pytest.raises(LeaseLostError) as lost:
            await b.store.current(claim.lease)
        assert lost.value.reason == "cancelled"
        other = await b.running(conversation="c", generation=1)
        await b.store.advance("c", 2, owner="owner")
        with pytest.raises(LeaseLostError) as lost:
            await b.store.current(other.lease)
        assert lost.value.reason == "superseded"
