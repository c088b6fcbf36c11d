"""What is shown of tasks: plain data."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, TypedDict, cast

import orjson

from .records import EventKind, Mode, State, StoredEvent, StoredWait, TaskRow


class TaskInfo(TypedDict):
    """A task as it stands. Times are milliseconds since the epoch, by the store's clock."""

    id: str
    name: str
    version: int
    mode: Mode
    state: State
    owner: str
    conversation: str | None
    generation: int
    priority: int
    attempt: int
    max_attempts: int
    fence: int
    worker: str | None
    parent_id: str | None
    parent_ordinal: int | None
    root_id: str
    single_flight: str | None
    resume_reason: str | None
    cancel_requested_at: int | None
    available_at: int | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    input: Any
    result: Any
    error_code: str | None
    error: str | None


class EventInfo(TypedDict):
    """An event of a task for its conversation; `seq` is its number among the events of the task."""

    id: int
    task_id: str
    name: str
    kind: EventKind
    state: State
    result: Any
    error_code: str | None
    conversation: str
    generation: int
    seq: int
    at: int


class WaitInfo(TypedDict):
    """Something that a task waits for; `id` is what an answer names."""

    id: str
    task_id: str
    kind: str
    name: str | None
    opened_at: int
    due_at: int | None


def task_info(row: TaskRow) -> TaskInfo:
    """A task as plain data."""
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    values["attempt"] = min(values.pop("failures") + 1, row.max_attempts)
    values["input"] = orjson.loads(row.input)
    values["result"] = None if row.result is None else orjson.loads(row.result)
    return cast("TaskInfo", values)


def event_info(event: StoredEvent) -> EventInfo:
    """An event as plain data."""
    return EventInfo(
        id=event.delivery_id,
        task_id=event.task_id,
        name=event.name,
        kind=event.kind,
        state=event.state,
        result=None if event.value is None else orjson.loads(event.value),
        error_code=event.code,
        conversation=event.conversation,
        generation=event.generation,
        seq=event.task_seq,
        at=event.created_at,
    )


def wait_info(wait: StoredWait) -> WaitInfo:
    """A wait as plain data."""
    values = asdict(wait)
    return cast("WaitInfo", {name: values[name] for name in WaitInfo.__annotations__})
