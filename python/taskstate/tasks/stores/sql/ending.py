"""How tasks end, or go back to be tried again; every end passes through `end`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from hashlib import sha256

import orjson

from ...records import Cancelled, Ending, Lease, State
from .columns import Held
from .session import Session

_UNHEARD = ("cancelled", "superseded")
"""States in which no conversation hears of the outcome."""


def finish(s: Session, lease: Lease, ending: Ending) -> State:
    """See `TaskStore.finish`."""
    row = s.one("lease_lock", id=lease.id, fence=lease.fence)
    if row is None:
        return _repeated(s, lease, ending)
    held = Held(*row)
    if held.cancel_requested_at is not None or ending.kind == "cancelled":
        note(s, [lease.id], "cancelled", ending)
        end(s, [lease.id], "cancelled", orphans=ending.waited)
        return "cancelled"
    if ending.kind == "released":
        note(s, [lease.id], "released", ending)
        again(s, [lease.id])
        return "ready"
    if ending.kind == "succeeded":
        note(s, [lease.id], "succeeded", ending)
        end(s, [lease.id], "succeeded", result=ending.result, orphans=ending.waited)
        return "succeeded"
    if ending.retry_ms is not None and held.failures + 1 < held.max_attempts:
        note(s, [lease.id], "retry", ending)
        again(s, [lease.id], failed=True, code=ending.code, message=ending.message, delay_ms=ending.retry_ms)
        return "scheduled" if ending.retry_ms > 0 else "ready"
    note(s, [lease.id], "failed", ending)
    end(s, [lease.id], "failed", code=ending.code, message=ending.message, failed=True, orphans=ending.waited)
    return "failed"


def _repeated(s: Session, lease: Lease, ending: Ending) -> State:
    """The answer to an ending that was recorded already, as after a lost connection."""
    found = s.one("attempt_find", task_id=lease.id, fence=lease.fence)
    if found is None or found[1] != fingerprint(ending):
        raise s.lost(lease)
    states: dict[str, State] = {"released": "ready", "retry": "scheduled" if ending.retry_ms else "ready"}
    outcome: State = found[0]
    return states.get(outcome, outcome)


def fingerprint(ending: Ending) -> str:
    """What tells an ending from another one of the same attempt."""
    return sha256(orjson.dumps(astuple(ending))).hexdigest()


def late(s: Session, lease: Lease, ending: Ending) -> bool:
    """See `TaskStore.late`."""
    code, result = ending.code, ending.result
    noted = s.run(
        "attempt_late", task_id=lease.id, fence=lease.fence, late_kind=ending.kind, late_code=code, late_result=result
    )
    return noted > 0


def note(
    s: Session, ids: Sequence[str], outcome: str, ending: Ending | None = None, *, code: str | None = None
) -> None:
    """Record the attempts that end now; of a cancelled one, what it would have become is kept as late."""
    kept = ending if outcome == "cancelled" and ending is not None else None
    if kept is not None and kept.kind == "cancelled" and kept.result is None:
        kept = None
    s.run(
        "attempt_add",
        ids=ids,
        outcome=outcome,
        code=code if ending is None or kept is not None else ending.code,
        in_flight=orjson.dumps(list(ending.in_flight)).decode() if ending is not None and ending.in_flight else None,
        ending=None if ending is None else fingerprint(ending),
        late_kind=None if kept is None else kept.kind,
        late_code=None if kept is None else kept.code,
        late_result=None if kept is None else kept.result,
    )


def end(
    s: Session,
    ids: Sequence[str],
    state: State,
    *,
    result: str | None = None,
    code: str | None = None,
    message: str | None = None,
    failed: bool = False,
    orphans: bool = True,
    bump: bool = False,
) -> None:
    """Give tasks, whose rows are locked, their last state, and put the outcome up for delivery.

    `bump` takes them from whoever owns them. With `orphans` it is looked whether children are left behind.
    """
    s.run(
        "task_end", ids=ids, state=state, result=result, code=code, message=message, failed=int(failed), bump=int(bump)
    )
    s.run("deliver_parent", ids=ids)
    unheard = state in _UNHEARD
    if unheard:
        s.run("deliveries_suppress", ids=ids, reason=state)
    fate, reason = ("suppressed", state) if unheard else ("pending", None)
    s.run("deliver_conversation", ids=ids, kind="result", state=fate, reason=reason)
    if orphans:
        s.run("deliver_orphans", ids=ids)
    s.touch("ended", "outbox")


def again(
    s: Session,
    ids: Sequence[str],
    *,
    failed: bool = False,
    code: str | None = None,
    message: str | None = None,
    delay_ms: int = 0,
) -> None:
    """Make running tasks, whose rows are locked, ready or scheduled again."""
    s.run("task_again", ids=ids, failed=int(failed), code=code, message=message, delay_ms=delay_ms)
    s.touch("due" if delay_ms > 0 else "ready")


def cancel_tree(s: Session, task_id: str, grace_ms: int) -> Cancelled:
    """Cancel a task and all below it; what spawned meanwhile is found by looking again under the locks."""
    ended: list[str] = []
    asked: list[str] = []
    known: set[str] = set()
    while rows := [row for row in s.all("subtree_lock", id=task_id) if row[0] not in known]:
        known.update(row[0] for row in rows)
        running = [id for id, state in rows if state == "running"]
        others = [id for id, state in rows if state != "running"]
        if running:
            s.run("cancel_ask", ids=running, grace_ms=grace_ms)
            s.touch("leases", "due")
        if others:
            s.run("cancel_mark", ids=others)
            end(s, others, "cancelled", bump=True, orphans=False)
        asked += running
        ended += others
    return Cancelled(sorted(ended), sorted(asked))
