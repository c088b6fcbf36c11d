"""The memory store: the rules of this room, each call under one lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from ....clock import Clock, system_clock
from ...records import (
    Beat,
    Cancelled,
    ChildOutcome,
    Claim,
    Dispatched,
    Ending,
    Filter,
    History,
    Lease,
    NewTask,
    NewWait,
    Placed,
    State,
    StoredCheckpoint,
    StoredEvent,
    StoredWait,
    Swept,
    TaskRow,
    Want,
)
from ..hints import Hints
from . import ending as ends
from . import looking, requesting, upkeep, working
from .tables import Tables

P = ParamSpec("P")
T = TypeVar("T")
Rows = list[TaskRow]


class MemoryPulse:
    """Heartbeats for a memory store."""

    def __init__(self, store: MemoryTaskStore) -> None:
        self._store = store

    def beat(self, leases: Sequence[Lease], *, extend: bool = True) -> list[Beat]:
        """See `Pulse`."""
        return self._store.call(working.beat, leases, extend=extend)

    def close(self) -> None:
        """See `Pulse`."""


class MemoryTaskStore(Hints):
    """Tasks in this process only: gone with the object, and `close` keeps them.

    Safe to use from several threads and event loops. No call waits: each is done when its coroutine is first
    run. `clock` is the store's clock.
    """

    def __init__(self, *, clock: Clock = system_clock) -> None:
        super().__init__()
        self._clock = clock
        self._tables = Tables()
        self._lock = threading.Lock()  # held for one rule, never across an await

    def call(self, rule: Callable[Concatenate[Tables, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Apply a rule as one transaction, and tell the subscribers afterwards."""
        with self._lock:
            self._tables.now = self._clock()
            self._tables.topics = set()
            answer = rule(self._tables, *args, **kwargs)
            topics = self._tables.topics
        self.tell(topics)
        return answer

    async def open(self, *, verify_only: bool = False) -> None:
        """See `TaskStore`; there is nothing to bring up to date."""

    async def close(self) -> None:
        """See `TaskStore`; the tasks stay."""

    def pulse(self) -> MemoryPulse:
        """See `TaskStore`."""
        return MemoryPulse(self)

    # Requests

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Placed]:
        """See `TaskStore`."""
        return self.call(requesting.enqueue, tasks)

    async def signal(
        self,
        task_id: str,
        name: str,
        payload: str,
        *,
        signal_id: str,
        wait_id: str | None = None,
        owner: str | None = None,
    ) -> str | None:
        """See `TaskStore`."""
        return self.call(requesting.signal, task_id, name, payload, signal_id, wait_id, owner)

    async def cancel(self, task_id: str, *, owner: str | None = None, grace_ms: int = 0) -> Cancelled:
        """See `TaskStore`."""
        return self.call(requesting.cancel, task_id, owner, grace_ms)

    async def advance(self, conversation: str, generation: int, *, owner: str | None) -> list[str]:
        """See `TaskStore`."""
        return self.call(requesting.advance, conversation, generation, owner)

    async def retry(self, task_id: str, *, owner: str | None = None) -> list[str]:
        """See `TaskStore`."""
        return self.call(requesting.retry, task_id, owner)

    async def purge(self, ttl_ms: Mapping[State, int], *, limit: int = 1000) -> int:
        """See `TaskStore`."""
        return self.call(requesting.purge, ttl_ms, limit)

    # Work

    async def claim(self, worker: str, wants: Sequence[Want], limit: int) -> list[Claim]:
        """See `TaskStore`."""
        return self.call(working.claim, worker, wants, limit)

    async def load(self, lease: Lease) -> tuple[list[StoredCheckpoint], list[StoredWait]]:
        """See `TaskStore`."""
        return self.call(working.load, lease)

    async def checkpoint(self, lease: Lease, key: str, ordinal: int, input_hash: str, value: str) -> StoredCheckpoint:
        """See `TaskStore`."""
        return self.call(working.checkpoint, lease, key, ordinal, input_hash, value)

    async def spawn(
        self, lease: Lease, key: str, children: Sequence[NewTask], *, wait: NewWait | None, limit: int = 0
    ) -> list[Placed]:
        """See `TaskStore`."""
        return self.call(working.spawn, lease, key, children, wait, limit)

    async def children(self, parent_id: str, key: str) -> list[ChildOutcome]:
        """See `TaskStore`."""
        return self.call(working.children, parent_id, key)

    async def wait(self, lease: Lease, waits: Sequence[NewWait]) -> list[StoredWait]:
        """See `TaskStore`."""
        return self.call(working.wait, lease, waits)

    async def suspend(self, lease: Lease, keys: Sequence[str], reason: str, *, hold: bool = False) -> list[StoredWait]:
        """See `TaskStore`."""
        return self.call(working.suspend, lease, keys, reason, hold=hold)

    async def finish(self, lease: Lease, ending: Ending) -> State:
        """See `TaskStore`."""
        return self.call(ends.finish, lease, ending)

    async def late(self, lease: Lease, ending: Ending) -> bool:
        """See `TaskStore`."""
        return self.call(ends.late, lease, ending)

    async def publish(self, lease: Lease, key: str, value: str) -> int:
        """See `TaskStore`."""
        return self.call(working.publish, lease, key, value)

    async def current(self, lease: Lease) -> None:
        """See `TaskStore`."""
        self.call(working.current, lease)

    # Upkeep

    async def dispatch(self, limit: int = 100) -> Dispatched:
        """See `TaskStore`."""
        return self.call(upkeep.dispatch, limit)

    async def sweep(self, limit: int = 100) -> Swept:
        """See `TaskStore`."""
        return self.call(upkeep.sweep, limit)

    # Inboxes

    async def take(self, conversation: str, *, owner: str | None, limit: int, offer_ms: int) -> list[StoredEvent]:
        """See `TaskStore`."""
        return self.call(looking.take, conversation, owner, limit, offer_ms)

    async def acknowledge(self, conversation: str, delivery_ids: Sequence[int], *, owner: str | None = None) -> int:
        """See `TaskStore`."""
        return self.call(looking.acknowledge, conversation, delivery_ids, owner)

    async def generation(self, conversation: str, *, owner: str | None = None) -> int | None:
        """See `TaskStore`."""
        return self.call(looking.generation, conversation, owner)

    # Looking

    async def get(self, ids: Sequence[str], *, owner: str | None = None) -> Rows:
        """See `TaskStore`."""
        return self.call(looking.get, ids, owner)

    async def ended(self, ids: Sequence[str]) -> list[str]:
        """See `TaskStore`."""
        return self.call(looking.ended, ids)

    async def waits(self, task_id: str, *, below: bool = False) -> list[StoredWait]:
        """See `TaskStore`."""
        return self.call(looking.waits, task_id, below=below)

    async def history(self, task_id: str) -> History:
        """See `TaskStore`."""
        return self.call(looking.history, task_id)

    async def list(self, filter: Filter) -> Rows:
        """See `TaskStore`."""
        return self.call(looking.tasks, filter)
