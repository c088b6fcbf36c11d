"""Workers that are killed around a write to the outside: it is known to have been tried, and is not tried again."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from taskstate.errors import TransitionError
from taskstate.restart import Observed, RestartRecord, SeenEffect, apply, assess, plan
from taskstate.restart.effects import settle
from taskstate.restart.store import RecordStore
from taskstate.restart.transitions import SettledEffect

from .stores import DISKS, mail, open_storage, started, task

WRITES = ["versions", "records", "mail", "versions", "records", "end"]
"""What a worker writes for one effect: each save is two writes."""


@pytest.fixture(params=DISKS)
def storage(request: pytest.FixtureRequest) -> str:
    """The name of each storage that outlives its process."""
    return str(request.param)


def sent(root: Path) -> list[str]:
    """The mails that went out."""
    file = root / "sent"
    return file.read_text().split() if file.exists() else []


def answer(root: Path, effect_id: str) -> SettledEffect:
    """What the system that was written to says."""
    if effect_id in sent(root):
        return SettledEffect(state="applied", evidence=f"found:{effect_id}")
    return SettledEffect(state="not_applied", evidence=f"looked-for:{effect_id}")


async def create(kind: str, root: Path) -> None:
    async with open_storage(kind, root) as storage:
        await RecordStore(storage).create(task())


async def refuses(store: RecordStore, record: RestartRecord, effect_id: str, **fields: str) -> bool:
    """Whether the effect is refused without its body being run."""
    ran = False
    try:
        async with mail(store, record, effect_id, **fields):
            ran = True
    except TransitionError:
        return not ran
    return False


@pytest.mark.parametrize("number", range(1, len(WRITES) + 1), ids=lambda n: f"{n}-{WRITES[n - 1]}")
def test_a_worker_killed_before_any_write_of_an_effect_leaves_what_a_restart_can_tell(
    storage: str, tmp_path: Path, number: int
) -> None:
    asyncio.run(create(storage, tmp_path))
    with started("die_in_effect.py", storage, tmp_path, number) as worker:
        printed, errors = worker.communicate(timeout=60)
    assert worker.returncode == -signal.SIGKILL, errors
    assert printed.split() == WRITES[:number]
    went_out = number > 3
    assert sent(tmp_path) == (["e"] if went_out else [])

    async def restart() -> None:
        async with open_storage(storage, tmp_path) as opened:
            store = RecordStore(opened)
            found = await store.load("t")
            states = {key: effect.state for key, effect in found.pending_effects.items()}
            assert states == ({} if number <= 2 else {"e": "applied" if number == 6 else "pending"})
            assert await store.history("t") == list(range(found.state_version + 1))
            record = await store.resume("t")
            if states:
                assert await refuses(store, record, "e")
                assert await refuses(store, record, "again", idempotency_key="key-e")
                assert await store.load("t") == record
                record = await reconcile(store, record)
            if record.pending_effects.get("e", None) is None:
                await send(store, record, "e")
            elif record.pending_effects["e"].state == "not_applied":
                await send(store, record, "again")
            ends = {key: effect.state for key, effect in (await store.load("t")).pending_effects.items()}
            assert ends == ({"e": "not_applied", "again": "applied"} if number == 3 else {"e": "applied"})

    async def reconcile(store: RecordStore, record: RestartRecord) -> RestartRecord:
        """Follow the plan: it begins with the effect that isn't settled."""
        unsettled = record.pending_effects["e"].state == "pending"
        transitions = plan(assess(record, Observed(now=9))).transitions
        assert [each.key for each in transitions if each.op == "reconcile"] == (["reconcile:e"] if unsettled else [])
        if not unsettled:
            return record
        assert transitions[0].key == "reconcile:e"
        asked = answer(tmp_path, "e")
        seen = Observed(now=9, effects={"e": SeenEffect(state=asked.state, evidence=asked.evidence)})
        (transition,) = [each for each in plan(assess(record, seen)).transitions if each.op == "reconcile"]
        return await store.save(apply(record, transition, asked))

    async def send(store: RecordStore, record: RestartRecord, effect_id: str) -> None:
        async with mail(store, record, effect_id, idempotency_key="key-e") as write:
            with (tmp_path / "sent").open("a") as file:
                file.write("e\n")
            write.applied("receipt:e")

    asyncio.run(restart())
    assert sent(tmp_path) == ["e"]


def test_workers_killed_at_any_moment_send_nothing_twice_and_lose_no_receipt(storage: str, tmp_path: Path) -> None:
    asyncio.run(create(storage, tmp_path))
    reported: set[str] = set()
    unsettled = 0
    for attempt in range(6):
        with started("send_until_killed.py", storage, tmp_path) as worker:
            assert worker.stdout is not None
            first = worker.stdout.readline()
            time.sleep(0.02 + 0.017 * attempt)
            worker.kill()
            printed, errors = worker.communicate(timeout=60)
        assert first, errors
        lines = [line for line in [first, *printed.splitlines(keepends=True)] if line.endswith("\n")]
        reported |= {f"e{line.strip()}" for line in lines}
        unsettled += asyncio.run(look(storage, tmp_path, reported))
    assert len(sent(tmp_path)) == len(set(sent(tmp_path))) >= 6
    assert unsettled <= 6


async def look(kind: str, root: Path, reported: set[str]) -> int:
    """Check what a killed worker left, and settle it; how many effects were unsettled."""
    async with open_storage(kind, root) as opened:
        store = RecordStore(opened)
        effects = (await store.load("t")).pending_effects
        settled = {key for key, effect in effects.items() if effect.state == "applied"}
        open_ones = {key for key, effect in effects.items() if effect.state == "pending"}
        out = set(sent(root))
        assert reported <= settled, "a receipt that was reported as stored is lost"
        assert out <= set(effects), "something went out that no record knows of"
        assert len(open_ones) <= 1
        assert {key for key, effect in effects.items() if effect.state != "not_applied"} - open_ones <= out
        for effect_id in open_ones:
            record: Any = await settle(store, "t", effect_id, answer(root, effect_id))
            assert record.pending_effects[effect_id].state == ("applied" if effect_id in out else "not_applied")
        return len(open_ones)
