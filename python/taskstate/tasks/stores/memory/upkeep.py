"""Deliveries, and what is due; in bounded batches."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from operator import attrgetter

from ...records import Dispatched, State, Swept
from .ending import LEASE_EXPIRED, POISONED, POISONED_MESSAGE, again, cancel_tree, end, end_wait, note, time_out
from .requesting import hand_on
from .rows import Delivery, InboxRow, Target, Task
from .tables import Tables


def dispatch(db: Tables, limit: int) -> Dispatched:
    """See `TaskStore.dispatch`."""
    first = list(itertools.islice(db.outbox.values(), limit))
    done = [
        _HOW[target](db, target_id, list(db.outbox_of[target, target_id].values())[:limit])
        for target, target_id in dict.fromkeys((delivery.target, delivery.target_id) for delivery in first)
    ]
    return Dispatched(
        resumed=sum(one.resumed for one in done),
        delivered=sum(one.delivered for one in done),
        suppressed=sum(one.suppressed for one in done),
        more=bool(db.outbox),
        next_due_ms=0 if db.outbox else None,
    )


def _to_parent(db: Tables, parent_id: str, deliveries: list[Delivery]) -> Dispatched:
    parent = db.tasks[parent_id]
    gone = parent.ended
    resumed = 0
    for key in dict.fromkeys(delivery.task.parent_key or "" for delivery in deliveries):
        hand_on(db, parent, key)
        wait = parent.waits.get(key)
        over = all(one.ended for one in parent.steps[key])
        if over and not gone and wait is not None and wait.outcome is None:
            resumed += end_wait(db, parent, wait, "children")
    for delivery in deliveries:
        db.settle(delivery, "parent_ended" if gone else None)
    return _counted(deliveries, resumed)


def _to_conversation(db: Tables, name: str, deliveries: list[Delivery]) -> Dispatched:
    conversation = db.conversations[name]
    for delivery in deliveries:
        if delivery.generation != conversation.generation:
            db.settle(delivery, "generation")
            continue
        db.settle(delivery)
        conversation.arrived += 1
        conversation.inbox[delivery.id] = InboxRow(conversation.arrived, delivery)
        db.touch("inbox")
    return _counted(deliveries)


def _to_orphans(db: Tables, task_id: str, deliveries: list[Delivery]) -> Dispatched:
    parent = db.tasks[task_id]
    if parent.ended:
        left = [child for step in parent.steps.values() for child in step if child.awaited and not child.ended]
        for child in sorted(left, key=attrgetter("id")):
            cancel_tree(db, child, 0)
    for delivery in deliveries:
        db.settle(delivery, None if parent.ended else "retried")
    return _counted(deliveries)


def _counted(deliveries: list[Delivery], resumed: int = 0) -> Dispatched:
    delivered = sum(delivery.state == "delivered" for delivery in deliveries)
    return Dispatched(resumed=resumed, delivered=delivered, suppressed=len(deliveries) - delivered)


_HOW: dict[Target, Callable[[Tables, str, list[Delivery]], Dispatched]] = {
    "parent": _to_parent,
    "conversation": _to_conversation,
    "orphans": _to_orphans,
}


def sweep(db: Tables, limit: int) -> Swept:
    """See `TaskStore.sweep`."""
    promoted = _due(db, "scheduled", _available)[:limit]
    for task in promoted:
        db.move(task, "ready")
    woken = _due(db, "suspended", _available)[:limit]
    for task in woken:
        time_out(db, task)
    expired = _due(db, "running", _expires)[:limit]
    cancelled = [task for task in expired if task.cancel_requested_at is not None]
    lost = [task for task in expired if task.cancel_requested_at is None]
    poisoned = [task for task in lost if task.failures + 1 >= task.max_attempts]
    for task in lost:
        _reclaim(db, task)
    for task in cancelled:
        _take(db, task)
    overdue = _due(db, "running", _grace_ends)[:limit]
    for task in overdue:
        _take(db, task)
    return Swept(
        promoted=len(promoted),
        woken=len(woken),
        reclaimed=len(lost) - len(poisoned),
        poisoned=len(poisoned),
        cancelled=len(cancelled) + len(overdue),
        next_due_ms=_next_due(db),
        more=max(len(promoted), len(woken), len(expired), len(overdue)) >= limit,
    )


def _take(db: Tables, task: Task) -> None:
    """End a task that was to stop and didn't in time."""
    note(db, task, "cancelled")
    end(db, task, "cancelled", bump=True)
    db.touch("leases")


def _reclaim(db: Tables, task: Task) -> None:
    if task.failures + 1 < task.max_attempts:
        note(db, task, "lost")
        again(db, task, LEASE_EXPIRED, None, failed=True)
        return
    note(db, task, "lost", POISONED)
    task.failures += 1
    end(db, task, "failed", code=POISONED, message=POISONED_MESSAGE, bump=True)


def _available(task: Task) -> int | None:
    return task.available_at


def _expires(task: Task) -> int | None:
    return task.lease_expires_at


def _grace_ends(task: Task) -> int | None:
    return task.cancel_due_at


def _due(db: Tables, state: State, when: Callable[[Task], int | None]) -> list[Task]:
    """The tasks in a state whose time has come, longest due first."""
    times = [(at, task.seq, task) for task in db.in_state(state) if (at := when(task)) is not None and at <= db.now]
    return [task for _, _, task in sorted(times, key=lambda one: one[:2])]


def _next_due(db: Tables) -> int | None:
    times = [task.available_at for state in ("scheduled", "suspended") for task in db.in_state(state)]
    times += [at for task in db.in_state("running") for at in (task.lease_expires_at, task.cancel_due_at)]
    return min((max(0, at - db.now) for at in times if at is not None), default=None)
