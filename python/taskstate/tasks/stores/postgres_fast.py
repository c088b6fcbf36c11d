"""What workers do most, in one statement of PostgreSQL each.

Each of these may be the only one of its transaction, and then needs no BEGIN and no COMMIT.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..records import Beat, Claim, Ending, Lease, State, StoredCheckpoint, Want
from .sql import ending, working
from .sql.session import Session

F = TypeVar("F", bound=Callable[..., object])

ALONE: set[Callable[..., object]] = set()
"""Operations that need no transaction around them, or begin it themselves."""


def _alone(operation: F) -> F:
    ALONE.add(operation)
    return operation


@_alone
def claim(s: Session, worker: str, wants: Sequence[Want], limit: int) -> list[Claim]:
    """See `TaskStore.claim`."""
    names, versions, quotas = zip(*wants, strict=True)
    values = {"names": list(names), "versions": list(versions), "quotas": list(quotas), "limit": limit}
    return working.taken(s.all("claim", worker=worker, **values))


@_alone
def finish(s: Session, lease: Lease, how: Ending) -> State:
    """See `TaskStore.finish`."""
    if lease.id in finish_together(s, [(lease, how)]):
        return "succeeded"
    s.begin()
    return ending.finish(s, lease, how)


def finish_together(s: Session, asked: Sequence[tuple[Lease, Ending]]) -> set[str]:
    """End all those that succeeded, left no waits and weren't asked to cancel, at once; their ids.

    Not those that a conversation listens to: who listens is only known for sure once the row is locked, and a
    statement doesn't see what was committed while it waited for a lock.
    """
    well = {lease.id: (lease, how) for lease, how in asked if how.kind == "succeeded" and not how.waited}
    if not well:
        return set()
    rows = s.all(
        "finish_well",
        ids=list(well),
        fences=[lease.fence for lease, _ in well.values()],
        results=[how.result for _, how in well.values()],
        endings=[ending.fingerprint(how) for _, how in well.values()],
    )
    if rows:
        s.touch("ended")
    if any(awaited for _, awaited in rows):
        s.touch("outbox")
    return {id for id, _ in rows}


@_alone
def checkpoint(s: Session, lease: Lease, key: str, ordinal: int, input_hash: str, value: str) -> StoredCheckpoint:
    """See `TaskStore.checkpoint`."""
    values = {"key": key, "ordinal": ordinal, "input_hash": input_hash, "value": value}
    ((held, added),) = s.all("checkpoint_put", task_id=lease.id, fence=lease.fence, **values)
    if added:
        return StoredCheckpoint(key, ordinal, input_hash, value)
    if not held:
        raise s.lost(lease)
    row = s.one("checkpoint_find", task_id=lease.id, key=key)
    if row is None:  # committed by somebody else after this statement began
        s.begin()
        return working.checkpoint(s, lease, key, ordinal, input_hash, value)
    return StoredCheckpoint(*row)


@_alone
def beat(s: Session, leases: Sequence[Lease]) -> list[Beat]:
    """See `Pulse.beat`."""
    values = {"ids": [lease.id for lease in leases], "fences": [lease.fence for lease in leases]}
    held = {Lease(id, fence): cancel for id, fence, cancel in s.all("beats", **values)}
    return [Beat(*lease, lease in held, held.get(lease, False)) for lease in sorted(leases)]
