"""Looking at what is stored, and reading inboxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from ....errors import NotFoundError
from ...records import Filter, History, StoredEvent, StoredWait, TaskRow
from .columns import stored_wait, task_row
from .session import Session

_ATTEMPT = ("number", "fence", "worker", "started_at", "ended_at", "outcome", "code")
_CHECKPOINT = ("key", "ordinal", "fence", "bytes", "at")
_WAIT = ("id", "key", "kind", "name", "opened_at", "due_at", "ended_at", "outcome")
_SIGNAL = ("id", "name", "at", "wait_id", "bytes")
_DELIVERY = ("target", "target_id", "kind", "generation", "seq", "state", "reason", "attempts")


def get(s: Session, ids: Sequence[str], owner: str | None) -> list[TaskRow]:
    """See `TaskStore.get`."""
    found = {row[0]: task_row(row) for row in s.all("tasks_get", ids=list(ids))}
    return [row for id in ids if (row := found.get(id)) is not None and owner in (None, row.owner)]


def ended(s: Session, ids: Sequence[str]) -> list[str]:
    """See `TaskStore.ended`."""
    live = {id for (id,) in s.all("tasks_live", ids=list(ids))}
    return [id for id in ids if id not in live]


def tasks(s: Session, wanted: Filter) -> list[TaskRow]:
    """See `TaskStore.list`."""
    given: dict[str, Any] = {
        "owner": wanted.owner,
        "conversation": wanted.conversation,
        "name": wanted.name,
        "parent_id": wanted.parent_id,
        "before": wanted.before,
        "states": list(wanted.states) or None,
    }
    values = {name: value for name, value in given.items() if value is not None}
    return [task_row(row) for row in s.filtered("tasks_list", list(values), limit=wanted.limit, **values)]


def waits(s: Session, task_id: str, *, below: bool) -> list[StoredWait]:
    """See `TaskStore.waits`."""
    return [stored_wait(row) for row in s.all("waits_open_tree" if below else "waits_open", task_id=task_id)]


def history(s: Session, task_id: str) -> History:
    """See `TaskStore.history`."""
    return History(
        attempts=[_attempt(row) for row in s.all("attempts", task_id=task_id)],
        checkpoints=[_named(_CHECKPOINT, row) for row in s.all("checkpoint_sizes", task_id=task_id)],
        waits=[_named(_WAIT, row) for row in s.all("waits_all", task_id=task_id)],
        signals=[_named(_SIGNAL, row) for row in s.all("signals", task_id=task_id)],
        deliveries=[_named(_DELIVERY, row) for row in s.all("deliveries", task_id=task_id)],
    )


def _named(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(names, row, strict=True))


def _attempt(row: Sequence[Any]) -> dict[str, Any]:
    in_flight, kind, code, result, at = row[7:]
    late = None if kind is None else {"kind": kind, "code": code, "result": result, "at": at}
    return {**_named(_ATTEMPT, row[:7]), "in_flight": orjson.loads(in_flight or "[]"), "late": late}


def take(s: Session, conversation: str, owner: str | None, limit: int, offer_ms: int) -> list[StoredEvent]:
    """See `TaskStore.take`."""
    found = s.one("conversation_lock", id=conversation)
    if found is None or owner not in (None, found[0]):
        raise NotFoundError("conversation", conversation)
    values = {"conversation_id": conversation, "generation": found[1], "limit": limit, "offer_ms": offer_ms}
    places: dict[int, int] = dict(s.all("inbox_take", **values))
    events = []
    for row in s.all("inbox_events", ids=list(places)):
        id, generation, task_id, name, kind, seq, state, value, code, created_at = row
        events.append(
            StoredEvent(
                id, places[id], conversation, generation, task_id, name, kind, seq, state, value, code, created_at
            )
        )
    return sorted(events, key=lambda event: event.seq)


def acknowledge(s: Session, conversation: str, ids: Sequence[int], owner: str | None) -> int:
    """See `TaskStore.acknowledge`."""
    found = s.one("conversation_find", id=conversation)
    if found is None or owner not in (None, found[0]):
        raise NotFoundError("conversation", conversation)
    return s.run("inbox_ack", conversation_id=conversation, ids=list(ids))


def generation(s: Session, conversation: str, owner: str | None) -> int | None:
    """See `TaskStore.generation`."""
    found = s.one("conversation_find", id=conversation)
    return found[1] if found is not None and owner in (None, found[0]) else None
