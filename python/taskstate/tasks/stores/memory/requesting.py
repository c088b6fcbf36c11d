"""Requests: new tasks, and what steers those that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....errors import (
    NotFoundError,
    SignalError,
    SingleFlightError,
    StaleGenerationError,
    TaskEndedError,
    TaskExistsError,
)
from ...records import Cancelled, NewTask, Placed, State
from .ending import cancel_tree, end, end_wait, note
from .rows import Conversation, Signal, Subscription, Task, Wait
from .tables import Tables


def enqueue(db: Tables, tasks: Sequence[NewTask]) -> list[Placed]:
    """See `TaskStore.enqueue`."""
    generations = _generations(db, tasks)
    placed = _places(db, tasks, _superseded(db, generations))
    for conversation, (owner, generation) in sorted(generations.items()):
        _enter(db, conversation, owner, generation)
    for new, place in zip(tasks, placed, strict=True):
        if place.created:
            db.move(db.add(new), "scheduled" if new.delay_ms > 0 else "ready")
            db.tasks[new.id].available_at = db.now + new.delay_ms if new.delay_ms > 0 else None
        elif place.id != new.id and new.notify and new.conversation is not None:
            db.tasks[place.id].subscriptions.add(Subscription(new.generation, new.conversation))
    return placed


class Binding(NamedTuple):
    """A conversation as a request wants it."""

    owner: str
    generation: int


def _generations(db: Tables, tasks: Sequence[NewTask]) -> dict[str, Binding]:
    """The conversations that are asked for, each at the newest generation that is."""
    bindings = sorted({(new.conversation, new.generation, new.owner) for new in tasks if new.conversation is not None})
    newest = {conversation: generation for conversation, generation, _ in bindings}
    found: dict[str, Binding] = {}
    for conversation, generation, owner in bindings:
        if generation < newest[conversation]:
            raise StaleGenerationError(conversation, generation, newest[conversation])
        there = db.conversations.get(conversation)
        known = found.setdefault(conversation, Binding(there.owner if there else owner, generation))
        if owner != known.owner:
            raise NotFoundError("conversation", conversation)
        if there is not None and generation < there.generation:
            raise StaleGenerationError(conversation, generation, there.generation)
    return found


def _places(db: Tables, tasks: Sequence[NewTask], superseded: set[str]) -> list[Placed]:
    """Where each request goes, given what ends before; nothing is changed."""
    placed: list[Placed] = []
    born: dict[str, NewTask] = {}
    flights: dict[tuple[str, str, str], NewTask] = {}
    for new in tasks:
        same: NewTask | Task | None = born.get(new.id) or db.tasks.get(new.id)
        if same is not None:
            if (same.name, same.owner, same.input_hash) != (new.name, new.owner, new.input_hash):
                raise TaskExistsError(new.id)
            placed.append(Placed(same.id, created=False))
            continue
        if new.single_flight is not None:
            flight = (new.owner, new.name, new.single_flight)
            there = db.holder(*flight)
            holder = there if there is not None and there.id not in superseded else flights.get(flight)
            if holder is not None:
                if holder.input_hash != new.input_hash:
                    raise SingleFlightError(new.name, new.single_flight, holder.id)
                placed.append(Placed(holder.id, created=False))
                continue
            flights[flight] = new
        born[new.id] = new
        placed.append(Placed(new.id, created=True))
    return placed


def _superseded(db: Tables, generations: Mapping[str, Binding]) -> set[str]:
    """The tasks that end when these conversations are at these generations."""
    return {task.id for task in _outdated(db, generations) if _rebound(db, task, generations) is None}


def _outdated(db: Tables, generations: Mapping[str, Binding]) -> list[Task]:
    if all(
        name not in db.conversations or db.conversations[name].generation >= binding.generation
        for name, binding in generations.items()
    ):
        return []
    return sorted(
        (
            task
            for task in db.unended()
            if task.conversation is not None
            and task.conversation in generations
            and task.generation < generations[task.conversation].generation
        ),
        key=lambda task: task.id,
    )


def _rebound(db: Tables, task: Task, generations: Mapping[str, Binding]) -> Subscription | None:
    """The newest subscription of a task, or else of its root, that is left when generations advance."""
    for one in (task, db.tasks[task.root_id]):
        left = [
            sub
            for sub in db.subscribed(one)
            if sub.conversation not in generations or sub.generation >= generations[sub.conversation].generation
        ]
        if left:
            return max(left)
    return None


def _enter(db: Tables, name: str, owner: str, generation: int) -> list[str]:
    """Have a conversation at a generation, made or advanced if need be; the ids of what that superseded."""
    conversation = db.conversations.get(name)
    if conversation is None:
        db.conversations[name] = Conversation(owner, generation)
        return []
    advance = {name: Binding(owner, generation)}
    outdated = [(task, _rebound(db, task, advance)) for task in _outdated(db, advance)]
    over = [task for task, binding in outdated if binding is None]
    for task in over:
        if task.state == "running":
            note(db, task, "superseded")
            db.touch("leases")
        end(db, task, "superseded", bump=True, orphans=False)
    for task, binding in outdated:
        if binding is not None:
            task.conversation, task.generation = binding.conversation, binding.generation
    conversation.generation = generation
    return [task.id for task in over]


def advance(db: Tables, conversation: str, generation: int, owner: str | None) -> list[str]:
    """See `TaskStore.advance`."""
    there = db.conversations.get(conversation)
    if there is not None and owner not in (None, there.owner):
        raise NotFoundError("conversation", conversation)
    if there is not None and generation < there.generation:
        raise StaleGenerationError(conversation, generation, there.generation)
    return _enter(db, conversation, (there.owner if there is not None else owner) or "", generation)


def signal(
    db: Tables, task_id: str, name: str, payload: str, signal_id: str, wait_id: str | None, owner: str | None
) -> str | None:
    """See `TaskStore.signal`."""
    task = db.task(task_id, owner)
    if signal_id in task.signals:
        return task.signals[signal_id].wait_id
    if task.ended:
        raise TaskEndedError(task_id, task.state)
    wait = _answered(task, name, wait_id)
    ended = None if wait is None else wait.id
    task.signals[signal_id] = Signal(signal_id, name, payload, db.now, ended)
    if wait is not None:
        end_wait(db, task, wait, "signal", payload)
    return ended


def _answered(task: Task, name: str, wait_id: str | None) -> Wait | None:
    """The wait that a signal is for; None if it is to be kept."""
    waits = [wait for wait in task.open_waits() if wait.kind == "signal"]
    if wait_id is not None:
        for wait in waits:
            if wait.id == wait_id:
                return wait
        raise SignalError(task.id, f"wait {wait_id[:100]} is not open", [wait.id for wait in waits])
    named = [wait for wait in waits if wait.name == name]
    if len(named) > 1:
        raise SignalError(task.id, f"several waits for {name[:100]!r} are open, say which", [wait.id for wait in named])
    below = [wait for one in task.below() for wait in one.open_waits() if wait.kind == "signal" and wait.name == name]
    if not named and below:
        below.sort(key=lambda wait: (wait.opened_at, wait.task_id, wait.key))
        raise SignalError(task.id, f"only tasks below it wait for {name[:100]!r}", [wait.id for wait in below])
    return named[0] if named else None


def cancel(db: Tables, task_id: str, owner: str | None, grace_ms: int) -> Cancelled:
    """See `TaskStore.cancel`."""
    return cancel_tree(db, db.task(task_id, owner), grace_ms)


def retry(db: Tables, task_id: str, owner: str | None) -> list[str]:
    """See `TaskStore.retry`."""
    task = db.task(task_id, owner)
    if task.parent_id is not None or task.state not in ("failed", "cancelled"):
        raise TaskEndedError(task_id, task.state if task.parent_id is None else "part of another task")
    if task.conversation is not None:
        current = db.conversations[task.conversation].generation
        if current != task.generation:
            raise StaleGenerationError(task.conversation, task.generation, current)
    if task.single_flight is not None:
        holder = db.holder(task.owner, task.name, task.single_flight)
        if holder is not None:
            raise SingleFlightError(task.name, task.single_flight, holder.id)
    return _revive(db, task)


def _revive(db: Tables, task: Task) -> list[str]:
    """Make a task ready again, with what is below it and is to be waited for once more."""
    task.fence += 1
    task.failures = task.spent_ms = 0
    task.result = task.error_code = task.error = task.cancel_requested_at = task.cancel_due_at = None
    parent = None if task.parent_id is None else db.tasks[task.parent_id]
    bounded = parent is not None and task.parent_key in parent.places
    db.move(task, "scheduled" if bounded else "ready")
    revived = [task.id]
    for key, children in task.steps.items():
        again = [child for child in children if child.awaited and child.state in ("failed", "cancelled")]
        for child in again:
            revived += _revive(db, child)
        if again and key in task.waits:
            wait = task.waits[key]
            wait.outcome = wait.value = wait.ended_at = None
            hand_on(db, task, key)
    return revived


def hand_on(db: Tables, parent: Task, key: str) -> None:
    """Give the free places of a bounded fan-out to those who wait for one, in order."""
    held = {child.slot for child in parent.steps.get(key, ())}
    free = [slot for slot in range(parent.places.get(key, 0)) if slot not in held]
    waiting = [one for one in parent.steps.get(key, ()) if one.state == "scheduled" and one.available_at is None]
    for slot, child in zip(free, waiting, strict=False):
        child.slot = slot
        db.move(child, "ready")


def purge(db: Tables, ttl_ms: Mapping[State, int], limit: int) -> int:
    """See `TaskStore.purge`."""
    roots: list[Task] = []
    for state, ttl in ttl_ms.items():
        due = [
            task
            for task in db.in_state(state)
            if task.parent_id is None
            and task.finished_at is not None
            and task.finished_at < db.now - ttl
            and all(one.ended for one in task.below())
        ]
        roots += sorted(due, key=lambda task: task.finished_at or 0)[: limit - len(roots)]
    gone = [one for root in roots for one in (root, *root.below())]
    for task in gone:
        db.remove(task)
    return len(gone)
