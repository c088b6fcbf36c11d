"""Work in the name of a lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....errors import LeaseLostError, TaskExistsError
from ...records import (
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
from .ending import end, end_wait, note, time_out
from .rows import Checkpoint, Event, Task, Wait
from .tables import Tables


def claim(db: Tables, worker: str, wants: Sequence[Want], limit: int) -> list[Claim]:
    """See `TaskStore.claim`."""
    left = {(want.name, want.version): want.limit for want in wants}
    claims: list[Claim] = []
    while len(claims) < limit:
        heads = [task for kind, number in left.items() if number > 0 and (task := db.first_ready(kind)) is not None]
        if not heads:
            break
        first = min(heads, key=lambda task: (-task.priority, task.seq))
        left[first.name, first.version] -= 1
        claims.append(_own(db, first, worker))
    return claims


def _own(db: Tables, task: Task, worker: str) -> Claim:
    db.move(task, "running")
    fresh = task.fence == 0
    task.fence += 1
    task.worker, task.started_at, task.lease_expires_at = worker, db.now, db.now + task.lease_ms
    return Claim(
        id=task.id,
        fence=task.fence,
        name=task.name,
        version=task.version,
        mode=task.mode,
        failures=task.failures,
        max_attempts=task.max_attempts,
        lease_ms=task.lease_ms,
        spent_ms=task.spent_ms,
        fresh=fresh,
        input=task.input,
        owner=task.owner,
        conversation=task.conversation,
        generation=task.generation,
        root_id=task.root_id,
        parent_id=task.parent_id,
        traceparent=task.traceparent,
    )


def beat(db: Tables, leases: Sequence[Lease], *, extend: bool) -> list[Beat]:
    """See `Pulse.beat`."""
    beats: list[Beat] = []
    for lease in leases:
        task = db.tasks.get(lease.id)
        holds = task is not None and task.holds(lease)
        if task is not None and holds and extend:
            task.lease_expires_at = db.now + task.lease_ms
        beats.append(Beat(*lease, holds, task is not None and holds and task.cancel_requested_at is not None))
    return beats


def load(db: Tables, lease: Lease) -> tuple[list[StoredCheckpoint], list[StoredWait]]:
    """See `TaskStore.load`."""
    task = db.held(lease)
    checkpoints = sorted((one.stored for one in task.checkpoints.values()), key=lambda one: (one.ordinal, one.key))
    waits = sorted(task.waits.values(), key=lambda wait: (wait.opened_at, wait.key))
    return checkpoints, [wait.stored() for wait in waits]


def checkpoint(db: Tables, lease: Lease, key: str, ordinal: int, input_hash: str, value: str) -> StoredCheckpoint:
    """See `TaskStore.checkpoint`."""
    task = db.held(lease)
    new = Checkpoint(StoredCheckpoint(key, ordinal, input_hash, value), lease.fence, db.now)
    return task.checkpoints.setdefault(key, new).stored


def spawn(
    db: Tables, lease: Lease, key: str, children: Sequence[NewTask], wait: NewWait | None, limit: int
) -> list[Placed]:
    """See `TaskStore.spawn`."""
    parent = db.held(lease)
    there = parent.steps.get(key, [])
    new = children[len(there) :]
    for number, child in enumerate(new):
        if child.id in db.tasks or child.id in {other.id for other in new[:number]}:
            raise TaskExistsError(child.id)
    if wait is not None:
        if limit > 0:
            parent.places.setdefault(key, limit)
        _open(db, parent, wait)
        if not children and not there and parent.waits[wait.key].outcome is None:
            end_wait(db, parent, parent.waits[wait.key], "children")
    step = parent.steps.setdefault(key, []) if new else there
    placed = [Placed(child.id, created=False) for child in there[: len(children)]]
    for child in new:
        _bear(db, parent, key, len(step), child, awaited=wait is not None)
        placed.append(Placed(child.id, created=True))
    return placed


def _bear(db: Tables, parent: Task, key: str, ordinal: int, new: NewTask, *, awaited: bool) -> None:
    bound = replace(
        new,
        owner=parent.owner,
        conversation=parent.conversation,
        generation=parent.generation,
        single_flight=None,
    )
    child = db.add(bound)
    child.root_id, child.parent_id, child.parent_key, child.parent_ordinal = parent.root_id, parent.id, key, ordinal
    child.awaited = awaited
    parent.steps[key].append(child)
    places = parent.places.get(key, 0) if awaited else 0
    placeless = 0 < places <= ordinal
    if parent.cancel_requested_at is not None:
        end(db, child, "cancelled", bump=True, orphans=False)
        return
    if places > 0 and not placeless:
        child.slot = ordinal
    delayed = new.delay_ms > 0 and not placeless
    db.move(child, "scheduled" if placeless or delayed else "ready")
    child.available_at = db.now + new.delay_ms if delayed else None


def children(db: Tables, parent_id: str, key: str) -> list[ChildOutcome]:
    """See `TaskStore.children`."""
    parent = db.tasks.get(parent_id)
    return [] if parent is None else [child.outcome() for child in parent.steps.get(key, ())]


def wait(db: Tables, lease: Lease, waits: Sequence[NewWait]) -> list[StoredWait]:
    """See `TaskStore.wait`."""
    task = db.held(lease)
    for new in waits:
        _open(db, task, new)
    return [task.waits[new.key].stored() for new in waits]


def _open(db: Tables, task: Task, new: NewWait) -> None:
    if new.key in task.waits:
        return
    due_at = None if new.timeout_ms is None else db.now + new.timeout_ms
    opened = task.waits[new.key] = Wait(new.id, task.id, new.key, new.kind, new.name, db.now, due_at)
    if new.kind != "signal":
        return
    for signal in task.signals.values():
        if signal.name == new.name and signal.wait_id is None:
            signal.wait_id = new.id
            end_wait(db, task, opened, "signal", signal.payload)
            return


def suspend(db: Tables, lease: Lease, keys: Sequence[str], reason: str, *, hold: bool) -> list[StoredWait]:
    """See `TaskStore.suspend`."""
    if not hold and _suspended(db, lease):
        return []
    task = db.held(lease)
    time_out(db, task)
    waits = sorted((task.waits[key] for key in {*keys} & task.waits.keys()), key=lambda one: (one.opened_at, one.key))
    ended = [one.stored() for one in waits if one.outcome is not None]
    if ended or hold:
        return ended
    if task.cancel_requested_at is not None:
        note(db, task, "cancelled")
        end(db, task, "cancelled", bump=True)
        return []
    note(db, task, "suspended")
    db.move(task, "suspended")
    task.fence += 1
    task.awaits, task.resume_reason = frozenset(keys), reason
    task.spent_ms += db.now - (task.started_at or db.now)
    task.available_at = min((one.due_at for one in waits if one.due_at is not None), default=None)
    return []


def _suspended(db: Tables, lease: Lease) -> bool:
    """Whether this lease was given up so already, as after a lost connection."""
    task = db.tasks.get(lease.id)
    attempt = task.attempts.get(lease.fence) if task is not None else None
    return attempt is not None and attempt.outcome == "suspended"


def publish(db: Tables, lease: Lease, key: str, value: str) -> int:
    """See `TaskStore.publish`."""
    task = db.held(lease)
    if key not in task.published:
        task.events += 1
        task.published[key] = task.events
        event = Event("progress", task.events, "running", value, None, db.now)
        for one in db.subscribed(task):
            db.put_up(task, event, "conversation", one.conversation, one.generation)
    return task.published[key]


def current(db: Tables, lease: Lease) -> None:
    """See `TaskStore.current`."""
    task = db.held(lease)
    if task.cancel_requested_at is not None:
        raise LeaseLostError(lease.id, lease.fence, "cancelled")
    if task.conversation is not None and db.conversations[task.conversation].generation != task.generation:
        raise LeaseLostError(lease.id, lease.fence, "superseded")
