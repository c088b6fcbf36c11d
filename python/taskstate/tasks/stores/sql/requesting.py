"""Requests: new tasks, and what steers those that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....errors import (
    NotFoundError,
    SignalError,
    SingleFlightError,
    StaleGenerationError,
    TaskEndedError,
    TaskExistsError,
)
from ...records import ENDED, Cancelled, NewTask, Placed, State, WaitOutcome
from .ending import cancel_tree, end, note
from .session import Row, Session


def enqueue(s: Session, tasks: Sequence[NewTask]) -> list[Placed]:
    """See `TaskStore.enqueue`."""
    bindings = _bindings(tasks)
    newest = {conversation: generation for conversation, generation, _ in bindings}
    for conversation, generation, owner in bindings:
        if generation < newest[conversation]:
            raise StaleGenerationError(conversation, generation, newest[conversation])
        enter(s, conversation, generation, owner)
    if len(tasks) > 1 and _add_all(s, tasks):
        return [Placed(task.id, created=True) for task in tasks]
    return [_place(s, task) for task in tasks]


def _bindings(tasks: Sequence[NewTask]) -> list[tuple[str, int, str]]:
    """The conversations that are asked for, each once and in one order for all callers, oldest generation first."""
    return sorted({(task.conversation, task.generation, task.owner) for task in tasks if task.conversation is not None})


def enter(s: Session, conversation: str, generation: int, owner: str | None) -> list[str]:
    """Lock a conversation at a generation, made or advanced if need be (see `TaskStore.advance`)."""
    s.run("conversation_add", id=conversation, owner=owner or "", generation=generation)
    row = s.one("conversation_lock", id=conversation)
    if row is None or owner not in (None, row[0]):
        raise NotFoundError("conversation", conversation)
    if generation < row[1]:
        raise StaleGenerationError(conversation, generation, row[1])
    return _supersede(s, conversation, generation) if generation > row[1] else []


def _supersede(s: Session, conversation: str, generation: int) -> list[str]:
    s.run("conversation_advance", id=conversation, generation=generation)
    place = {"conversation_id": conversation, "generation": generation}
    over: list[str] = []
    while rows := s.all("bound_lock", **place):  # again, for what a task that was running then spawned meanwhile
        over += _end_outdated(s, rows, place)
    s.run("subscriptions_end", **place)
    return over


def _end_outdated(s: Session, rows: Sequence[Row], place: Mapping[str, Any]) -> list[str]:
    """Bind tasks of older generations to whoever else listens; the ids of those that ended, as nobody does."""
    wanted = sorted({id for row in rows for id in row})
    live = {task: (where, at) for task, where, at in s.all("subscriptions_live", ids=wanted, **place)}
    over: list[str] = []
    for id, root in rows:
        binding = live.get(id) or live.get(root)
        if binding is None:
            over.append(id)
        else:
            s.run("task_bind", id=id, conversation_id=binding[0], generation=binding[1])
    if over:
        note(s, over, "superseded")
        end(s, over, "superseded", bump=True, orphans=False)
        s.touch("leases")
    return over


def _place(s: Session, task: NewTask) -> Placed:
    while not add(s, task, _state(task)):
        same = s.one("task_same", id=task.id)
        if same is not None:
            if same != (task.name, task.owner, task.input_hash):
                raise TaskExistsError(task.id)
            return Placed(task.id, created=False)
        flight = s.one("flight_find", owner=task.owner, name=task.name, single_flight=task.single_flight)
        if flight is not None:
            return _join(s, task, *flight)
    return Placed(task.id, created=True)


def _join(s: Session, task: NewTask, id: str, input_hash: str) -> Placed:
    if input_hash != task.input_hash:
        raise SingleFlightError(task.name, task.single_flight or "", id)
    if _notified(task):
        s.run("subscription_add", **_subscription(task, id))
        s.run("task_subscribed", id=id)
    return Placed(id, created=False)


def _add_all(s: Session, tasks: Sequence[NewTask]) -> bool:
    """Insert all of them at once; False, and nothing is changed, if any of them meets one that is there."""
    if not s.many("task_add", [_values(task, _state(task)) for task in tasks]):
        return False
    if heard := [task for task in tasks if _notified(task)]:
        s.many("subscription_add", [_subscription(task, task.id) for task in heard])
    s.touch("ready", "due")
    return True


def _state(task: NewTask) -> State:
    return "scheduled" if task.delay_ms > 0 else "ready"


def _notified(task: NewTask) -> bool:
    return task.notify and task.conversation is not None


def _subscription(task: NewTask, task_id: str) -> dict[str, Any]:
    return {"task_id": task_id, "conversation_id": task.conversation, "generation": task.generation}


def add(s: Session, task: NewTask, state: State, **place: Any) -> bool:
    """Insert a task, with its subscription; False if its id, place or single-flight key is taken."""
    if s.run("task_add", **(_values(task, state) | place)) == 0:
        return False
    if _notified(task):
        s.run("subscription_add", **_subscription(task, task.id))
    s.touch("ready" if state == "ready" else "due")
    return True


def _values(task: NewTask, state: State) -> dict[str, Any]:
    return {
        "id": task.id,
        "name": task.name,
        "version": task.version,
        "mode": task.mode,
        "state": state,
        "priority": task.priority,
        "delay_ms": task.delay_ms if task.delay_ms > 0 else None,
        "max_attempts": task.max_attempts,
        "lease_ms": task.lease_ms,
        "parent_id": None,
        "parent_key": None,
        "parent_ordinal": None,
        "awaited": 0,
        "slot": None,
        "root_id": task.id,
        "owner": task.owner,
        "conversation_id": task.conversation,
        "generation": task.generation,
        "subscribed": int(_notified(task)),
        "single_flight": task.single_flight,
        "input": task.input,
        "input_hash": task.input_hash,
        "result_limit": task.max_result_bytes,
        "traceparent": task.traceparent,
    }


def locked(s: Session, task_id: str, owner: str | None) -> State:
    """Lock a task; its state. NotFoundError if it isn't there or is another owner's."""
    row = s.one("task_lock", id=task_id)
    if row is None or (owner is not None and row[2] != owner):
        raise NotFoundError("task", task_id)
    state: State = row[0]
    return state


def signal(
    s: Session, task_id: str, name: str, payload: str, signal_id: str, wait_id: str | None, owner: str | None
) -> str | None:
    """See `TaskStore.signal`."""
    state = locked(s, task_id, owner)
    seen = s.one("signal_seen", task_id=task_id, id=signal_id)
    if seen is not None:
        ended: str | None = seen[0]
        return ended
    if state in ENDED:
        raise TaskEndedError(task_id, state)
    answered = _answered(s, task_id, name, wait_id)
    s.run("signal_add", task_id=task_id, id=signal_id, name=name, payload=payload, wait_id=answered)
    if answered is not None:
        end_wait(s, answered, task_id, "signal", payload)
    return answered


def end_wait(s: Session, wait_id: str, task_id: str, outcome: WaitOutcome, value: str | None) -> bool:
    """End a wait; whether its task, which is locked, was suspended for it and is made ready by that."""
    row = s.one("wait_end", id=wait_id, outcome=outcome, value=value)
    s.touch("waits")
    if row is None or not row[0] or not s.run("task_wake", id=task_id):
        return False
    s.touch("ready")
    return True


def _answered(s: Session, task_id: str, name: str, wait_id: str | None) -> str | None:
    """The wait that a signal is for; None if it is to be kept."""
    waits = s.all("waits_open_signal", task_id=task_id)
    if wait_id is not None:
        if wait_id not in [id for id, _ in waits]:
            raise SignalError(task_id, f"wait {wait_id[:100]} is not open", [id for id, _ in waits])
        return wait_id
    named = [id for id, its_name in waits if its_name == name]
    if len(named) > 1:
        raise SignalError(task_id, f"several waits for {name[:100]!r} are open, say which", named)
    if not named and (below := [id for (id,) in s.all("waits_open_below", task_id=task_id, name=name)]):
        raise SignalError(task_id, f"only tasks below it wait for {name[:100]!r}", below)
    return named[0] if named else None


def cancel(s: Session, task_id: str, owner: str | None, grace_ms: int) -> Cancelled:
    """See `TaskStore.cancel`."""
    locked(s, task_id, owner)
    return cancel_tree(s, task_id, grace_ms)


def retry(s: Session, task_id: str, owner: str | None) -> list[str]:
    """See `TaskStore.retry`."""
    row = s.one("retry_lock", id=task_id)
    if row is None or (owner is not None and row[2] != owner):
        raise NotFoundError("task", task_id)
    state, parent_id, its_owner, conversation, generation, name, flight = row
    if parent_id is not None or state not in ("failed", "cancelled"):
        raise TaskEndedError(task_id, "part of another task" if parent_id is not None else state)
    if conversation is not None and (found := s.one("conversation_find", id=conversation)) and found[1] != generation:
        raise StaleGenerationError(conversation, generation, found[1])
    if flight is not None and (held := s.one("flight_find", owner=its_owner, name=name, single_flight=flight)):
        raise SingleFlightError(name, flight, held[0])
    revived = _revivable(task_id, s.all("retry_tree", root_id=task_id))
    s.run("task_revive", ids=[task_id], state="ready")
    for (parent, key), ids in revived.items():
        (places,) = s.all("wait_places", task_id=parent, key=key)[0]
        s.run("task_revive", ids=ids, state="scheduled" if places else "ready")
        s.run("wait_reopen", task_id=parent, key=key)
        if places:
            hand_on(s, parent, key, places)
    s.touch("ready")
    return [task_id, *(id for ids in revived.values() for id in ids)]


def _revivable(root_id: str, rows: Sequence[Row]) -> dict[tuple[str, str], list[str]]:
    """What is below revived tasks and wasn't successful, by the step that waits for it; parents first."""
    steps: dict[str, list[tuple[str, str]]] = {}
    for id, parent, key in rows:
        steps.setdefault(parent, []).append((key, id))
    found: dict[tuple[str, str], list[str]] = {}
    parents = [root_id]
    for parent in parents:
        for key, id in steps.get(parent, ()):
            found.setdefault((parent, key), []).append(id)
            parents.append(id)
    return found


def hand_on(s: Session, parent_id: str, key: str, places: int) -> None:
    """Give the free places of a bounded fan-out to those who wait for one, in order."""
    held = {slot for (slot,) in s.all("slots_held", parent_id=parent_id, parent_key=key)}
    free = [slot for slot in range(places) if slot not in held]
    waiting = s.all("slots_wanted", parent_id=parent_id, parent_key=key, limit=len(free)) if free else []
    for slot, (id,) in zip(free, waiting, strict=False):
        s.run("slot_give", id=id, slot=slot)
        s.touch("ready")


def purge(s: Session, ttl_ms: Mapping[State, int], limit: int) -> int:
    """See `TaskStore.purge`."""
    removed = 0
    for state, ttl in ttl_ms.items():
        roots = [id for (id,) in s.all("purge_find", state=state, ttl_ms=ttl, limit=limit)]
        if roots:
            (count,) = s.all("purge_count", ids=roots)[0]
            s.run("purge_drop", ids=roots)
            removed += count
            limit -= len(roots)
        if limit <= 0:
            break
    return removed
