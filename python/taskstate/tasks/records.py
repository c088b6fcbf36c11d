"""What the engine and a task store tell each other: small frozen values, all of them plain data.

Payloads are JSON text. Times are whole milliseconds since the epoch by the store's own clock, durations
are milliseconds. A `fence` is the number of the ownership under which something is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

State: TypeAlias = Literal[
    "scheduled", "ready", "running", "suspended", "succeeded", "failed", "cancelled", "superseded"
]
Mode: TypeAlias = Literal["foreground", "background"]
Topic: TypeAlias = Literal["ready", "due", "outbox", "ended", "inbox", "waits", "leases"]
WaitKind: TypeAlias = Literal["children", "sleep", "signal"]
WaitOutcome: TypeAlias = Literal["children", "elapsed", "signal", "timeout"]
EndKind: TypeAlias = Literal["succeeded", "failed", "released", "cancelled"]
EventKind: TypeAlias = Literal["progress", "result"]

STATES: tuple[State, ...] = get_args(State)
ENDED: tuple[State, ...] = ("succeeded", "failed", "cancelled", "superseded")
TOPICS: tuple[Topic, ...] = get_args(Topic)


class Lease(NamedTuple):
    """The right to write for a task: it holds while the task is running under this fence."""

    id: str
    fence: int


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be stored. A child takes owner, conversation, generation and root from its parent instead."""

    id: str
    name: str
    version: int
    mode: Mode
    input: str
    input_hash: str
    max_attempts: int
    lease_ms: int
    max_result_bytes: int
    owner: str = ""
    conversation: str | None = None
    generation: int = 0
    notify: bool = False
    """Whether the conversation gets its events."""
    single_flight: str | None = None
    priority: int = 0
    delay_ms: int = 0
    traceparent: str | None = None


class Placed(NamedTuple):
    """Where a request went: into a task of its own, or into one that is there already (`created` False)."""

    id: str
    created: bool


class Want(NamedTuple):
    """A definition that a worker can run, and how many of it now."""

    name: str
    version: int
    limit: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A task that a worker owns now."""

    id: str
    fence: int
    name: str
    version: int
    mode: Mode
    failures: int
    """Attempts that have failed, or whose lease expired; the attempt in hand is `failures + 1`."""
    max_attempts: int
    lease_ms: int
    spent_ms: int
    """How long this attempt ran before it was suspended."""
    fresh: bool
    """It was never owned before, so it has no checkpoints and no waits."""
    input: str
    owner: str
    conversation: str | None
    generation: int
    root_id: str
    parent_id: str | None
    traceparent: str | None

    @property
    def lease(self) -> Lease:
        """What writes in the name of this claim are made with."""
        return Lease(self.id, self.fence)


class Beat(NamedTuple):
    """What a heartbeat found: whether the lease holds, whether it is to be cancelled."""

    id: str
    fence: int
    holds: bool
    cancel: bool


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A step that was completed: it is never executed again."""

    key: str
    ordinal: int
    input_hash: str
    value: str


@dataclass(frozen=True, slots=True)
class NewWait:
    """Something that a task waits for. `key` is its place in the task, `id` the name by which others answer it."""

    id: str
    key: str
    kind: WaitKind
    name: str | None = None
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class StoredWait:
    """A wait as it stands: open while `outcome` is None. `value` is the payload of the signal that ended it."""

    id: str
    task_id: str
    key: str
    kind: WaitKind
    name: str | None
    opened_at: int
    due_at: int | None
    outcome: WaitOutcome | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a worker leaves a task.

    `failed` with `retry_ms` is tried again after that time while attempts are left. `released` gives the
    task back as if it had not been claimed. `in_flight` names the checkpoints that had begun and not ended.
    """

    kind: EndKind
    result: str | None = None
    code: str | None = None
    message: str | None = None
    retry_ms: int | None = None
    in_flight: Sequence[str] = ()
    waited: bool = True
    """Whether the task may have opened waits: False spares a look."""


@dataclass(frozen=True, slots=True)
class ChildOutcome:
    """How a child ended; all but the first four are None while it hasn't."""

    id: str
    ordinal: int
    name: str
    state: State
    result: str | None = None
    code: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task as others see it."""

    id: str
    name: str
    version: int
    mode: Mode
    state: State
    owner: str
    conversation: str | None
    generation: int
    priority: int
    failures: int
    max_attempts: int
    fence: int
    worker: str | None
    parent_id: str | None
    parent_ordinal: int | None
    root_id: str
    single_flight: str | None
    resume_reason: str | None
    """What a suspended task waits for, or a task that goes on waited for last; None once it ended while suspended."""
    cancel_requested_at: int | None
    available_at: int | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    input: str
    result: str | None
    error_code: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which tasks to list; a None admits all. Newest first; `before` is the id of the last one seen."""

    owner: str | None = None
    conversation: str | None = None
    name: str | None = None
    states: Sequence[State] = ()
    parent_id: str | None = None
    before: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A row of an inbox."""

    delivery_id: int
    seq: int
    """Its place in the inbox."""
    conversation: str
    generation: int
    task_id: str
    name: str
    kind: EventKind
    task_seq: int
    """Its place among the events of its task."""
    state: State
    value: str | None
    code: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a cancel reached: tasks that ended at once, and running ones that were asked to stop."""

    ended: Sequence[str]
    asked: Sequence[str]


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did, in numbers, and in how many milliseconds something is due (None: nothing is)."""

    promoted: int = 0
    woken: int = 0
    reclaimed: int = 0
    poisoned: int = 0
    cancelled: int = 0
    next_due_ms: int | None = None
    more: bool = False
    """A batch was full: sweep again."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What a round of deliveries did, in numbers."""

    resumed: int = 0
    delivered: int = 0
    suppressed: int = 0
    failed: int = 0
    more: bool = False
    next_due_ms: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """All that is recorded of a task, each part in the order in which it happened, as plain data.

    Keys: attempts `number fence worker started_at ended_at outcome code in_flight late`, where `late` is None or
    `kind code result at`; checkpoints `key ordinal fence bytes at`; waits `id key kind name opened_at due_at ended_at
    outcome`; signals `id name at wait_id bytes` (`wait_id` None: kept); deliveries `target target_id kind generation
    seq state reason attempts`. Results are JSON text.
    """

    attempts: Sequence[Mapping[str, Any]] = field(default=())
    checkpoints: Sequence[Mapping[str, Any]] = field(default=())
    waits: Sequence[Mapping[str, Any]] = field(default=())
    signals: Sequence[Mapping[str, Any]] = field(default=())
    deliveries: Sequence[Mapping[str, Any]] = field(default=())
