"""What processes ask of durable tasks, at once with others."""

from __future__ import annotations

import asyncio

from taskstate.tasks import DurableTasks

from .journal import note, passed


async def share(tasks: DurableTasks, count: int, gate: str) -> None:
    """Start one task so many times at once under one key, and a task each under keys of their own."""
    note("asking")
    await passed("ask")
    start = tasks.start
    same = await asyncio.gather(*(start("gated", gate, owner="u", single_flight="same") for _ in range(count)))
    own = await asyncio.gather(*(start("gated", gate, owner="u", single_flight=f"k{n}") for n in range(3)))
    for handle in same:
        note("shared", task=handle.id, created=handle.created)
    for handle in own:
        note("own", task=handle.id, created=handle.created)
    for handle in same:
        note("result", value=await handle.result(20))


async def take(tasks: DurableTasks, conversation: str) -> None:
    """Take what is in an inbox, and stay without acknowledging it."""
    events = await tasks.inbox(conversation, offer_s=0.3).take(wait_s=20)
    note("taken", seqs=[event["seq"] for event in events])
    await passed("never")
