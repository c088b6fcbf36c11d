"""Work in the name of a lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....errors import LeaseLostError, TaskExistsError
from ...records import (
    ENDED,
    Beat,
    ChildOutcome,
    Claim,
    Lease,
    NewTask,
    NewWait,
    Placed,
    StoredCheckpoint,
    StoredWait,
    Want,
)
from .columns import Held, claimed, stored_wait
from .ending import end, note
from .requesting import add
from .session import Row, Session


def claim(s: Session, worker: str, wants: Sequence[Want], limit: int) -> list[Claim]:
    """See `TaskStore.claim`; for a store in which nobody else writes meanwhile."""
    found: list[Row] = []
    for want in wants:
        found += s.all("claim_find", name=want.name, version=want.version, limit=min(want.limit, limit))
    found.sort(key=lambda row: (-row[1], row[2]))
    return taken(s.all("claim_take", ids=[row[0] for row in found[:limit]], worker=worker)) if found else []


def taken(rows: Sequence[Row]) -> list[Claim]:
    """Claims in the order in which they are due."""
    return [claimed(row) for row in sorted(rows, key=lambda row: (-row[-2], row[-1]))]


def beat(s: Session, leases: Sequence[Lease]) -> list[Beat]:
    """See `Pulse.beat`."""
    return _beats(s, "beat", leases)


def look(s: Session, leases: Sequence[Lease]) -> list[Beat]:
    """See `Pulse.beat`, without extending."""
    return _beats(s, "lease_look", leases)


def _beats(s: Session, statement: str, leases: Sequence[Lease]) -> list[Beat]:
    beats: list[Beat] = []
    for lease in sorted(leases):
        row = s.one(statement, id=lease.id, fence=lease.fence)
        beats.append(Beat(*lease, row is not None, row is not None and row[0] is not None))
    return beats


def load(s: Session, lease: Lease) -> tuple[list[StoredCheckpoint], list[StoredWait]]:
    """See `TaskStore.load`."""
    s.held(lease)
    checkpoints = [StoredCheckpoint(*row) for row in s.all("checkpoints", task_id=lease.id)]
    return checkpoints, [stored_wait(row) for row in s.all("waits", task_id=lease.id)]


def checkpoint(s: Session, lease: Lease, key: str, ordinal: int, input_hash: str, value: str) -> StoredCheckpoint:
    """See `TaskStore.checkpoint`."""
    s.held(lease)
    values = {"key": key, "ordinal": ordinal, "input_hash": input_hash, "value": value}
    if s.run("checkpoint_add", task_id=lease.id, fence=lease.fence, **values):
        return StoredCheckpoint(key, ordinal, input_hash, value)
    row = s.one("checkpoint_find", task_id=lease.id, key=key)
    assert row is not None, "an insert met a row that isn't there"
    return StoredCheckpoint(*row)


def spawn(
    s: Session, lease: Lease, key: str, children: Sequence[NewTask], wait: NewWait | None, limit: int
) -> list[Placed]:
    """See `TaskStore.spawn`."""
    held = s.held(lease)
    limit = 0 if wait is None else limit
    there = {ordinal: id for id, ordinal, *_ in s.all("children", parent_id=lease.id, parent_key=key)}
    born = [
        _born(s, held, key, n, child, wait is not None, limit) for n, child in enumerate(children) if n not in there
    ]
    if wait is not None:
        _open(s, lease, wait, places=limit)
        if not children:
            s.all("wait_end", id=wait.id, outcome="children", value=None)
    if held.cancel_requested_at is not None and born:
        end(s, born, "cancelled", bump=True, orphans=False)
    placed = iter(born)
    return [
        Placed(there[n], created=False) if n in there else Placed(next(placed), created=True)
        for n in range(len(children))
    ]


def _born(s: Session, held: Held, key: str, ordinal: int, child: NewTask, awaited: bool, limit: int) -> str:
    placeless = 0 < limit <= ordinal
    bound = _bound(child, held)
    added = add(
        s,
        bound,
        "scheduled" if placeless or child.delay_ms > 0 else "ready",
        parent_id=held.id,
        parent_key=key,
        parent_ordinal=ordinal,
        awaited=int(awaited),
        slot=ordinal if limit > 0 and not placeless else None,
        root_id=held.root_id,
        delay_ms=child.delay_ms if child.delay_ms > 0 and not placeless else None,
    )
    if not added:
        raise TaskExistsError(child.id)
    return child.id


def _bound(child: NewTask, held: Held) -> NewTask:
    return replace(
        child, owner=held.owner, conversation=held.conversation_id, generation=held.generation, single_flight=None
    )


def _open(s: Session, lease: Lease, wait: NewWait, places: int = 0) -> None:
    values = {"id": wait.id, "key": wait.key, "kind": wait.kind, "name": wait.name, "timeout_ms": wait.timeout_ms}
    if not s.run("wait_add", task_id=lease.id, places=places, **values) or wait.kind != "signal":
        return
    kept = s.one("signal_kept", task_id=lease.id, name=wait.name)
    if kept is not None:
        s.run("signal_taken", task_id=lease.id, id=kept[0], wait_id=wait.id)
        s.all("wait_end", id=wait.id, outcome="signal", value=kept[1])


def wait(s: Session, lease: Lease, waits: Sequence[NewWait]) -> list[StoredWait]:
    """See `TaskStore.wait`."""
    s.held(lease)
    for one in waits:
        _open(s, lease, one)
    stored = {row[2]: stored_wait(row) for row in s.all("waits_at", task_id=lease.id, keys=[one.key for one in waits])}
    return [stored[one.key] for one in waits]


def suspend(s: Session, lease: Lease, keys: Sequence[str], reason: str, *, hold: bool) -> list[StoredWait]:
    """See `TaskStore.suspend`."""
    try:
        held = s.held(lease)
    except LeaseLostError:
        done = s.one("attempt_find", task_id=lease.id, fence=lease.fence)
        # Suspended by this very call, before its connection was lost.
        if not hold and done is not None and done[0] == "suspended":
            return []
        raise
    s.run("waits_time_out", task_id=lease.id)
    rows = s.all("waits_at", task_id=lease.id, keys=list(keys))
    ended = [found for row in rows if (found := stored_wait(row)).outcome is not None]
    if ended or hold:
        return ended
    if held.cancel_requested_at is not None:
        note(s, [lease.id], "cancelled")
        end(s, [lease.id], "cancelled", bump=True)
        return []
    note(s, [lease.id], "suspended")
    s.run("waits_await", task_id=lease.id, keys=list(keys))
    s.run("task_suspend", id=lease.id, reason=reason)
    s.touch("due")
    return []


def publish(s: Session, lease: Lease, key: str, value: str) -> int:
    """See `TaskStore.publish`."""
    s.held(lease)
    there = s.one("progress_find", task_id=lease.id, key=key)
    if there is not None:
        known: int = there[0]
        return known
    (seq,) = s.all("events_next", id=lease.id)[0]
    s.run("progress_add", task_id=lease.id, seq=seq, key=key, value=value)
    s.run("deliver_conversation", ids=[lease.id], kind="progress", state="pending", reason=None)
    s.touch("outbox")
    number: int = seq
    return number


def current(s: Session, lease: Lease) -> None:
    """See `TaskStore.current`."""
    held = s.held(lease)
    if held.cancel_requested_at is not None:
        raise LeaseLostError(lease.id, lease.fence, "cancelled")
    found = held.conversation_id and s.one("conversation_find", id=held.conversation_id)
    if found and found[1] != held.generation:
        raise LeaseLostError(lease.id, lease.fence, "superseded")


def children(s: Session, parent_id: str, key: str) -> list[ChildOutcome]:
    """See `TaskStore.children`."""
    rows = s.all("children", parent_id=parent_id, parent_key=key)
    return [ChildOutcome(*(row if row[3] in ENDED else row[:4])) for row in rows]
