"""What the memory store keeps. A task holds all that belongs to it, so that nothing is left when it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from ...records import (
    ENDED,
    ChildOutcome,
    Ending,
    EventKind,
    Lease,
    Mode,
    NewTask,
    State,
    StoredCheckpoint,
    StoredWait,
    TaskRow,
    WaitKind,
    WaitOutcome,
)

Target: TypeAlias = Literal["parent", "conversation", "orphans"]


@dataclass(slots=True)
class Checkpoint:
    """A completed step, and under which fence it was completed."""

    stored: StoredCheckpoint
    fence: int
    at: int


@dataclass(slots=True)
class Wait:
    """Open while `outcome` is None."""

    id: str
    task_id: str
    key: str
    kind: WaitKind
    name: str | None
    opened_at: int
    due_at: int | None
    outcome: WaitOutcome | None = None
    value: str | None = None
    ended_at: int | None = None

    def stored(self) -> StoredWait:
        """The wait as others see it."""
        return StoredWait(**{part.name: getattr(self, part.name) for part in fields(StoredWait)})


@dataclass(slots=True)
class Signal:
    """`wait_id` is the wait that it ended; None while it is kept for one."""

    id: str
    name: str
    payload: str
    at: int
    wait_id: str | None


@dataclass(slots=True)
class Attempt:
    """One leg of work that is over: from a claim to when the lease was given up or lost."""

    number: int
    fence: int
    worker: str | None
    started_at: int | None
    ended_at: int
    outcome: str
    code: str | None = None
    in_flight: Sequence[str] = ()
    ending: Ending | None = None
    """What `finish` ended it with: the same again is a repeat, not a loss."""
    late: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, order=True)
class Subscription:
    """A conversation that gets the events of a task, as long as it is at this generation."""

    generation: int
    conversation: str


@dataclass(frozen=True, slots=True)
class Event:
    """Progress or result of a task as it was when it was put up."""

    kind: EventKind
    seq: int
    state: State
    value: str | None
    code: str | None
    at: int


@dataclass(slots=True)
class Delivery:
    """An event on its way to one target; `pending` until it is settled."""

    id: int
    task: Task
    target: Target
    target_id: str
    event: Event
    generation: int = 0
    state: Literal["pending", "delivered", "suppressed"] = "pending"
    reason: str | None = None
    attempts: int = 0


@dataclass(slots=True)
class InboxRow:
    """A delivery in an inbox. It is offered when nobody acknowledged it and `offered_until` is over."""

    seq: int
    delivery: Delivery
    offered_until: int | None = None
    acknowledged: bool = False


@dataclass(slots=True)
class Conversation:
    """Who owns it, at which generation it is, and what arrived, by id of the delivery."""

    owner: str
    generation: int
    inbox: dict[int, InboxRow] = field(default_factory=dict)
    arrived: int = 0


@dataclass(slots=True, eq=False)
class Task:
    """A task with all that belongs to it. The first fields are those of `TaskRow`."""

    id: str
    name: str
    version: int
    mode: Mode
    owner: str
    conversation: str | None
    generation: int
    priority: int
    max_attempts: int
    root_id: str
    single_flight: str | None
    input: str
    created_at: int

    seq: int
    input_hash: str
    lease_ms: int
    max_result_bytes: int
    traceparent: str | None

    state: State = "ready"
    parent_id: str | None = None
    parent_ordinal: int | None = None
    failures: int = 0
    fence: int = 0
    worker: str | None = None
    resume_reason: str | None = None
    cancel_requested_at: int | None = None
    available_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    result: str | None = None
    error_code: str | None = None
    error: str | None = None

    parent_key: str | None = None
    awaited: bool = False
    """Its parent waits for it."""
    slot: int | None = None
    """Its place in a bounded fan-out."""
    lease_expires_at: int | None = None
    cancel_due_at: int | None = None
    spent_ms: int = 0
    events: int = 0
    """How many events it has put up."""
    awaits: frozenset[str] = frozenset()
    """Keys of the waits that end its suspension."""
    steps: dict[str, list[Task]] = field(default_factory=dict)
    """Its children by the key of their step, in order."""
    places: dict[str, int] = field(default_factory=dict)
    """How many children of a bounded step may run at once."""
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    waits: dict[str, Wait] = field(default_factory=dict)
    signals: dict[str, Signal] = field(default_factory=dict)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    published: dict[str, int] = field(default_factory=dict)
    subscriptions: set[Subscription] = field(default_factory=set)
    deliveries: list[Delivery] = field(default_factory=list)

    @classmethod
    def born(cls, new: NewTask, seq: int, now: int) -> Task:
        """A task that was just asked for."""
        return cls(**{name: getattr(new, name) for name in _TAKEN}, root_id=new.id, created_at=now, seq=seq)

    @property
    def ended(self) -> bool:
        """Whether it is in a state that it doesn't leave by itself."""
        return self.state in ENDED

    def holds(self, lease: Lease) -> bool:
        """Whether that lease is the right to write now."""
        return self.state == "running" and self.fence == lease.fence

    def open_waits(self) -> list[Wait]:
        """Waits that can still end, oldest first; those of a task that has ended can't."""
        waits = [] if self.ended else [wait for wait in self.waits.values() if wait.outcome is None]
        return sorted(waits, key=lambda wait: (wait.opened_at, wait.key))

    def below(self) -> Iterator[Task]:
        """Its children, their children and so on."""
        for children in self.steps.values():
            for child in children:
                yield child
                yield from child.below()

    def row(self) -> TaskRow:
        """The task as others see it."""
        return TaskRow(**{part.name: getattr(self, part.name) for part in fields(TaskRow)})

    def outcome(self) -> ChildOutcome:
        """The task as its parent sees it."""
        if not self.ended:
            return ChildOutcome(self.id, self.parent_ordinal or 0, self.name, self.state)
        return ChildOutcome(
            self.id, self.parent_ordinal or 0, self.name, self.state, self.result, self.error_code, self.error
        )


_TAKEN = tuple({part.name for part in fields(Task)} & {part.name for part in fields(NewTask)})
"""What a task has from the request for it."""
