"""Deliveries, and what is due; in bounded batches, so that any worker may do it at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...records import ENDED, Dispatched, Swept
from .ending import again, cancel_tree, end, note
from .requesting import end_wait, hand_on
from .session import Row, Session

Target = tuple[str, str]


def targets(s: Session, limit: int) -> list[Target]:
    """Whom there is something to deliver to, oldest first."""
    return [(target, target_id) for target, target_id in s.all("pending_targets", limit=limit)]


def deliver(s: Session, target: str, target_id: str, limit: int) -> Dispatched:
    """Deliver to one target what is up for it; nothing if somebody else is at it."""
    return _HOW[target](s, target_id, limit)


def _to_parent(s: Session, parent_id: str, limit: int) -> Dispatched:
    parent = s.one("parent_lock", id=parent_id)
    rows = s.all("pending_of", target="parent", target_id=parent_id, limit=limit) if parent else []
    if not rows or parent is None:
        return Dispatched()
    ids = [row[0] for row in rows]
    over = parent[0] in ENDED
    waits = s.all("waits_children", task_id=parent_id, keys=sorted({row[5] for row in rows}))
    for _, key, places, _ in waits:
        if places:
            hand_on(s, parent_id, key, places)
    if over:
        s.run("delivery_settle", ids=ids, state="suppressed", reason="parent_ended")
        return Dispatched(suppressed=len(ids))
    s.run("delivery_settle", ids=ids, state="delivered", reason=None)
    resumed = 0
    for wait_id, key, _, is_open in waits:
        if is_open and s.all("children_left", parent_id=parent_id, parent_key=key)[0][0] == 0:
            resumed += end_wait(s, wait_id, parent_id, "children", None)
    return Dispatched(resumed=resumed, delivered=len(ids))


def _to_conversation(s: Session, conversation_id: str, limit: int) -> Dispatched:
    conversation = s.one("conversation_take", id=conversation_id)
    rows = s.all("pending_of", target="conversation", target_id=conversation_id, limit=limit) if conversation else []
    if not rows or conversation is None:
        return Dispatched()
    _, generation, seq = conversation
    mine = [row for row in rows if row[3] == generation]
    others = [row[0] for row in rows if row[3] != generation]
    for place, row in enumerate(mine, seq + 1):
        s.run("inbox_add", conversation_id=conversation_id, delivery_id=row[0], seq=place)
    if mine:
        s.run("inbox_count", id=conversation_id, inbox_seq=seq + len(mine))
        s.run("delivery_settle", ids=[row[0] for row in mine], state="delivered", reason=None)
        s.touch("inbox")
    if others:
        s.run("delivery_settle", ids=others, state="suppressed", reason="generation")
    return Dispatched(delivered=len(mine), suppressed=len(others))


def _to_orphans(s: Session, task_id: str, limit: int) -> Dispatched:
    parent = s.one("parent_lock", id=task_id)
    rows = s.all("pending_of", target="orphans", target_id=task_id, limit=limit) if parent else []
    if not rows:
        return Dispatched()
    ids = [row[0] for row in rows]
    if parent is not None and parent[0] not in ENDED:
        s.run("delivery_settle", ids=ids, state="suppressed", reason="retried")
        return Dispatched(suppressed=len(ids))
    for (child_id,) in s.all("awaited_left", parent_id=task_id):
        cancel_tree(s, child_id, 0)
    s.run("delivery_settle", ids=ids, state="delivered", reason=None)
    return Dispatched(delivered=len(ids))


_HOW: dict[str, Callable[[Session, str, int], Dispatched]] = {
    "parent": _to_parent,
    "conversation": _to_conversation,
    "orphans": _to_orphans,
}


def postpone(s: Session, target: str, target_id: str, reason: str, delay_ms: int, most: int) -> None:
    """Note that a delivery failed: it is tried again later, and given up after so many times."""
    s.run("delivery_postpone", target=target, target_id=target_id, reason=reason, delay_ms=delay_ms, most=most)


def due_deliveries(s: Session) -> int | None:
    """In how many milliseconds something is up for delivery; None: nothing is."""
    return _milliseconds(s.one("pending_due"))


def sweep(s: Session, limit: int) -> Swept:
    """See `TaskStore.sweep`."""
    promoted = [id for (id,) in s.all("due_scheduled", limit=limit)]
    if promoted:
        s.run("task_promote", ids=promoted)
    woken = [id for (id,) in s.all("due_waiting", limit=limit)]
    for id in woken:
        s.run("waits_time_out", task_id=id)
        s.run("task_wake", id=id)
    leases = s.all("due_leases", limit=limit)
    poisoned, asked = _reclaim(s, leases)
    overdue = [id for (id,) in s.all("due_cancels", limit=limit)]
    if overdue:
        note(s, overdue, "cancelled")
        end(s, overdue, "cancelled", bump=True)
        s.touch("leases")
    if promoted or woken:
        s.touch("ready")
    return Swept(
        promoted=len(promoted),
        woken=len(woken),
        reclaimed=len(leases) - poisoned - asked,
        poisoned=poisoned,
        cancelled=len(overdue) + asked,
        next_due_ms=_milliseconds(s.one("next_due")),
        more=max(len(promoted), len(woken), len(leases), len(overdue)) >= limit,
    )


def _reclaim(s: Session, leases: Sequence[Row]) -> tuple[int, int]:
    """Take tasks from owners that didn't beat in time; how many had their last attempt, and were asked to cancel."""
    asked = [id for id, _, cancelled in leases if cancelled]
    last = [id for id, over, cancelled in leases if over and not cancelled]
    rest = [id for id, over, cancelled in leases if not over and not cancelled]
    if asked:
        note(s, asked, "cancelled")
        end(s, asked, "cancelled", bump=True)
    if last:
        note(s, last, "lost", code="poisoned")
        message = "its lease expired at the last attempt"
        end(s, last, "failed", code="poisoned", message=message, failed=True, bump=True)
    if rest:
        note(s, rest, "lost")
        again(s, rest, failed=True, code="lease_expired")
    return len(last), len(asked)


def _milliseconds(row: Row | None) -> int | None:
    return None if row is None or row[0] is None else max(0, int(row[0]))
