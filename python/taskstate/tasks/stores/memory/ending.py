"""How tasks end, or go back to be tried again; every end passes through `end`."""

from __future__ import annotations

from dataclasses import replace

from ....errors import StateTooLargeError
from ...records import Cancelled, Ending, Lease, State, WaitOutcome
from .rows import Attempt, Event, Task, Wait
from .tables import Tables

POISONED = "poisoned"
POISONED_MESSAGE = "its lease expired at the last attempt"
LEASE_EXPIRED = "lease_expired"


def finish(db: Tables, lease: Lease, ending: Ending) -> State:
    """See `TaskStore.finish`."""
    task = db.tasks.get(lease.id)
    if task is None or not task.holds(lease):
        return _repeated(db, lease, ending)
    if ending.result is not None and len(ending.result.encode(errors="surrogatepass")) > task.max_result_bytes:
        raise StateTooLargeError("result", f"more than {task.max_result_bytes} bytes")
    if task.cancel_requested_at is not None or ending.kind == "cancelled":
        _note_cancelled(db, task, ending)
        end(db, task, "cancelled", orphans=ending.waited)
    elif ending.kind == "released":
        note(db, task, "released", ending.code, ending)
        again(db, task, ending.code, ending.message)
    elif ending.kind == "succeeded":
        note(db, task, "succeeded", ending.code, ending)
        end(db, task, "succeeded", result=ending.result, orphans=ending.waited)
    elif ending.retry_ms is not None and task.failures + 1 < task.max_attempts:
        note(db, task, "retry", ending.code, ending)
        again(db, task, ending.code, ending.message, failed=True, delay_ms=ending.retry_ms)
    else:
        note(db, task, "failed", ending.code, ending)
        task.failures += 1
        end(db, task, "failed", code=ending.code, message=ending.message, orphans=ending.waited)
    return task.state


def _repeated(db: Tables, lease: Lease, ending: Ending) -> State:
    """The answer to an ending that was recorded already, as after a lost connection."""
    task = db.tasks.get(lease.id)
    attempt = task.attempts.get(lease.fence) if task is not None else None
    if attempt is None or attempt.ending is None or attempt.ending != _own(ending):
        raise db.lost(lease)
    answers: dict[str, State] = {
        "succeeded": "succeeded",
        "failed": "failed",
        "cancelled": "cancelled",
        "released": "ready",
        "retry": "scheduled" if (ending.retry_ms or 0) > 0 else "ready",
    }
    return answers[attempt.outcome]


def late(db: Tables, lease: Lease, ending: Ending) -> bool:
    """See `TaskStore.late`."""
    task = db.tasks.get(lease.id)
    attempt = task.attempts.get(lease.fence) if task is not None else None
    if attempt is None or attempt.late is not None or (attempt.ending is not None and attempt.outcome == "succeeded"):
        return False
    attempt.late = _kept(db, ending)
    return True


def _kept(db: Tables, ending: Ending) -> dict[str, str | int | None]:
    return {"kind": ending.kind, "code": ending.code, "result": ending.result, "at": db.now}


def note(db: Tables, task: Task, outcome: str, code: str | None = None, ending: Ending | None = None) -> Attempt:
    """Record that the attempt in hand ends now."""
    own = None if ending is None else _own(ending)
    in_flight = () if own is None else own.in_flight
    task.attempts[task.fence] = attempt = Attempt(
        task.failures + 1, task.fence, task.worker, task.started_at, db.now, outcome, code, in_flight, own
    )
    return attempt


def _own(ending: Ending) -> Ending:
    """A copy that the caller can't change."""
    return replace(ending, in_flight=tuple(ending.in_flight))


def _note_cancelled(db: Tables, task: Task, ending: Ending) -> None:
    """What it would have become is kept for audit; nothing else of it is."""
    attempt = note(db, task, "cancelled", ending.code, ending)
    if ending.kind != "cancelled" or ending.result is not None:
        attempt.code, attempt.late = None, _kept(db, ending)


def again(
    db: Tables, task: Task, code: str | None, message: str | None, *, failed: bool = False, delay_ms: int = 0
) -> None:
    """Have a running task claimed again, after a failure or because it was given back."""
    task.fence += 1
    task.error_code, task.error = code, message
    if failed:
        task.failures += 1
        task.spent_ms = 0
    db.move(task, "scheduled" if delay_ms > 0 else "ready")
    task.available_at = db.now + delay_ms if delay_ms > 0 else None


def end(
    db: Tables,
    task: Task,
    state: State,
    *,
    result: str | None = None,
    code: str | None = None,
    message: str | None = None,
    orphans: bool = True,
    bump: bool = False,
) -> None:
    """Give a task its last state, and put the outcome up for delivery.

    `bump` takes it from whoever owns it. With `orphans` it is looked whether children are left behind.
    """
    left_behind = orphans and any(wait.kind == "children" for wait in task.open_waits())
    if task.state == "suspended":
        task.resume_reason = None
    task.fence += int(bump)
    task.events += 1
    task.result, task.error_code, task.error = result, code, message
    task.slot = None
    unheard: str | None = state if state in ("cancelled", "superseded") else None
    if unheard is not None:
        _withhold_progress(db, task, unheard)
    event = Event("result", task.events, state, result, code, db.now)
    if task.awaited and task.parent_id is not None:
        db.put_up(task, event, "parent", task.parent_id)
        # The parent has it: its conversation needn't hear of it as well.
        unheard = unheard or "consumed"
    for one in db.subscribed(task):
        db.put_up(task, event, "conversation", one.conversation, one.generation, unheard)
    if left_behind:
        db.put_up(task, event, "orphans", task.id)
    db.move(task, state)
    db.touch("ended")


def _withhold_progress(db: Tables, task: Task, reason: str) -> None:
    for delivery in task.deliveries:
        if delivery.state == "pending" and delivery.target == "conversation":
            db.withhold(delivery, reason)


def end_wait(db: Tables, task: Task, wait: Wait, outcome: WaitOutcome, value: str | None = None) -> bool:
    """End a wait; whether a task that was suspended until then is ready now."""
    wait.outcome, wait.value, wait.ended_at = outcome, value, db.now
    db.touch("waits")
    if task.state != "suspended" or wait.key not in task.awaits:
        return False
    task.fence += 1
    db.move(task, "ready")
    return True


def time_out(db: Tables, task: Task) -> None:
    """End the waits of a task whose time is over."""
    for wait in task.open_waits():
        if wait.due_at is not None and wait.due_at <= db.now:
            end_wait(db, task, wait, "elapsed" if wait.kind == "sleep" else "timeout")


def cancel_tree(db: Tables, task: Task, grace_ms: int) -> Cancelled:
    """Cancel a task and all below it."""
    ended: list[str] = []
    asked: list[str] = []
    reached = [one for one in (task, *task.below()) if not one.ended]
    for one in reached:
        if one.cancel_requested_at is None:
            one.cancel_requested_at = db.now
        if one.state == "running":
            due_at = db.now + grace_ms
            one.cancel_due_at = due_at if one.cancel_due_at is None else min(one.cancel_due_at, due_at)
            asked.append(one.id)
            db.touch("leases", "due")
        else:
            end(db, one, "cancelled", bump=True, orphans=False)
            ended.append(one.id)
    return Cancelled(sorted(ended), sorted(asked))
