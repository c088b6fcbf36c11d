"""Looking at what is stored, and reading inboxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....errors import NotFoundError
from ...records import Filter, History, StoredEvent, StoredWait, TaskRow
from .rows import Conversation, InboxRow, Task
from .tables import Tables


def get(db: Tables, ids: Sequence[str], owner: str | None) -> list[TaskRow]:
    """See `TaskStore.get`."""
    found = (db.tasks[one] for one in ids if one in db.tasks)
    return [task.row() for task in found if owner in (None, task.owner)]


def ended(db: Tables, ids: Sequence[str]) -> list[str]:
    """See `TaskStore.ended`."""
    return [one for one in ids if one not in db.tasks or db.tasks[one].ended]


def tasks(db: Tables, wanted: Filter) -> list[TaskRow]:
    """See `TaskStore.list`."""
    found = sorted((task for task in db.tasks.values() if _admits(wanted, task)), key=lambda task: task.id)
    return [task.row() for task in found[::-1][: wanted.limit]]


def _admits(wanted: Filter, task: Task) -> bool:
    return (
        wanted.owner in (None, task.owner)
        and wanted.conversation in (None, task.conversation)
        and wanted.name in (None, task.name)
        and wanted.parent_id in (None, task.parent_id)
        and (not wanted.states or task.state in wanted.states)
        and (wanted.before is None or task.id < wanted.before)
    )


def waits(db: Tables, task_id: str, *, below: bool) -> list[StoredWait]:
    """See `TaskStore.waits`."""
    task = db.tasks.get(task_id)
    if task is None:
        return []
    found = [wait for one in (task, *(task.below() if below else ())) for wait in one.open_waits()]
    return [wait.stored() for wait in sorted(found, key=lambda wait: (wait.opened_at, wait.task_id, wait.key))]


def history(db: Tables, task_id: str) -> History:
    """See `TaskStore.history`."""
    task = db.tasks.get(task_id)
    if task is None:
        return History()
    checkpoints = sorted(task.checkpoints.values(), key=lambda one: (one.stored.ordinal, one.stored.key))
    return History(
        attempts=[
            {
                **_parts(one, "number fence worker started_at ended_at outcome code"),
                "in_flight": list(one.in_flight),
                "late": None if one.late is None else dict(one.late),
            }
            for _, one in sorted(task.attempts.items())
        ],
        checkpoints=[
            {
                **_parts(one.stored, "key ordinal"),
                "fence": one.fence,
                "bytes": _bytes(one.stored.value),
                "at": one.at,
            }
            for one in checkpoints
        ],
        waits=[
            _parts(one, "id key kind name opened_at due_at ended_at outcome")
            for one in sorted(task.waits.values(), key=lambda one: (one.opened_at, one.key))
        ],
        signals=[{**_parts(one, "id name at wait_id"), "bytes": _bytes(one.payload)} for one in task.signals.values()],
        deliveries=[
            {
                **_parts(one, "target target_id"),
                **_parts(one.event, "kind seq"),
                **_parts(one, "generation state reason attempts"),
            }
            for one in task.deliveries
        ],
    )


def _parts(one: object, names: str) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names.split()}


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _inbox(db: Tables, name: str, owner: str | None) -> Conversation:
    conversation = db.conversations.get(name)
    if conversation is None or owner not in (None, conversation.owner):
        raise NotFoundError("conversation", name)
    return conversation


def take(db: Tables, name: str, owner: str | None, limit: int, offer_ms: int) -> list[StoredEvent]:
    """See `TaskStore.take`."""
    conversation = _inbox(db, name, owner)
    offered = [row for row in conversation.inbox.values() if _offered(db, conversation, row)][:limit]
    for row in offered:
        row.offered_until = db.now + offer_ms
    return [_event(name, row) for row in offered]


def _offered(db: Tables, conversation: Conversation, row: InboxRow) -> bool:
    return (
        not row.acknowledged
        and row.delivery.generation == conversation.generation
        and (row.offered_until is None or row.offered_until <= db.now)
    )


def _event(conversation: str, row: InboxRow) -> StoredEvent:
    delivery, event = row.delivery, row.delivery.event
    return StoredEvent(
        delivery_id=delivery.id,
        seq=row.seq,
        conversation=conversation,
        generation=delivery.generation,
        task_id=delivery.task.id,
        name=delivery.task.name,
        kind=event.kind,
        task_seq=event.seq,
        state=event.state,
        value=event.value,
        code=event.code,
        created_at=event.at,
    )


def acknowledge(db: Tables, name: str, delivery_ids: Sequence[int], owner: str | None) -> int:
    """See `TaskStore.acknowledge`."""
    conversation = _inbox(db, name, owner)
    found = [conversation.inbox[one] for one in dict.fromkeys(delivery_ids) if one in conversation.inbox]
    new = [row for row in found if not row.acknowledged]
    for row in new:
        row.acknowledged = True
    return len(new)


def generation(db: Tables, name: str, owner: str | None) -> int | None:
    """See `TaskStore.generation`."""
    conversation = db.conversations.get(name)
    return conversation.generation if conversation is not None and owner in (None, conversation.owner) else None
