"""Columns that statements give together, in the order of the fields that are made of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...records import Claim, StoredWait, TaskRow

CLAIM = (
    "id", "fence", "name", "version", "mode", "failures", "max_attempts", "lease_ms", "spent_ms", "fence = 1", "input",
    "owner", "conversation_id", "generation", "root_id", "parent_id", "traceparent", "priority", "seq",
)  # fmt: skip
LEASE = (
    "id", "failures", "max_attempts", "cancel_requested_at", "parent_id", "awaited", "subscribed", "root_id", "owner",
    "conversation_id", "generation",
)  # fmt: skip
TASK = (
    "id", "name", "version", "mode", "state", "owner", "conversation_id", "generation", "priority", "failures",
    "max_attempts", "fence", "worker", "parent_id", "parent_ordinal", "root_id", "single_flight", "resume_reason",
    "cancel_requested_at", "available_at", "created_at", "started_at", "finished_at", "input", "result", "error_code",
    "error",
)  # fmt: skip
WAIT = ("id", "task_id", "key", "kind", "name", "opened_at", "due_at", "outcome", "value")


class Held(NamedTuple):
    """What is needed of a task whose lease holds; the fields are those of LEASE."""

    id: str
    failures: int
    max_attempts: int
    cancel_requested_at: int | None
    parent_id: str | None
    awaited: int
    subscribed: int
    root_id: str
    owner: str
    conversation_id: str | None
    generation: int


def claimed(row: tuple[Any, ...]) -> Claim:
    """A row of CLAIM."""
    fields = list(row[:-2])
    fields[9] = bool(fields[9])
    return Claim(*fields)


def task_row(row: tuple[Any, ...]) -> TaskRow:
    """A row of TASK."""
    return TaskRow(*row)


def stored_wait(row: tuple[Any, ...]) -> StoredWait:
    """A row of WAIT."""
    return StoredWait(*row)
