"""A task store over SQL: the operations on lanes of their own, each a thread with a connection."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ....storage.worker import Resource, Worker
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
from . import looking, requesting, upkeep, working
from .ending import finish, late
from .session import Session

P = ParamSpec("P")
T = TypeVar("T")

Operation = Callable[Concatenate[Session, P], T]

_log = logging.getLogger(__name__)

_DELIVERIES = 8  # how often one is tried before it is given up as dead
_DELIVERY_PAUSE_MS = 1000


class Engine(Resource, Protocol):
    """A connection on which operations are done, one thread at a time."""

    @property
    def session(self) -> Session:
        """Within a transaction."""
        ...

    def look(self, work: Callable[[], T]) -> T:
        """Do what only reads, at one moment."""
        ...

    def migrate(self, *, verify_only: bool) -> None:
        """See `TaskStore.open`."""
        ...


class SqlPulse:
    """See `Pulse`. `extend` is the operation that beats."""

    def __init__(self, engine: Engine, extend: Operation[[Sequence[Lease]], list[Beat]] = working.beat) -> None:
        self._engine = engine
        self._extend = extend

    def beat(self, leases: Sequence[Lease], *, extend: bool = True) -> list[Beat]:
        """See `Pulse`."""
        if not extend:
            return self._engine.look(partial(working.look, self._engine.session, leases))
        (outcome,) = self._engine.write_group([partial(self._extend, self._engine.session, leases)])
        if outcome.error is not None:
            raise outcome.error
        beats: list[Beat] = outcome.value
        return beats

    def close(self) -> None:
        """See `Pulse`."""
        self._engine.close()


class Lane:
    """Operations on one connection, in the order in which they are asked for."""

    def __init__(self, name: str, engine: Engine) -> None:
        self.engine = engine
        self.worker = Worker(f"taskstate-tasks-{name}", engine)
        weakref.finalize(self, self.worker.abandon).atexit = False

    async def write(self, operation: Operation[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What an operation gives, once it is durable."""
        return await self.worker.write(partial(operation, self.engine.session, *args, **kwargs))

    async def look(self, operation: Operation[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What an operation gives that only reads."""
        work = partial(operation, self.engine.session, *args, **kwargs)
        return await self.worker.read(partial(self.engine.look, work))


class SqlTaskStore(Hints):
    """What SQLite and PostgreSQL have in common; see `TaskStore` for each method.

    `work` is the lane of what workers write, `ask` that of requests and upkeep, `see` that of reading.
    """

    def __init__(self, work: Lane, ask: Lane, see: Lane) -> None:
        super().__init__()
        self.work, self.ask, self.see = work, ask, see

    async def open(self, *, verify_only: bool = False) -> None:
        """See `TaskStore`."""
        await self.ask.worker.read(partial(self.ask.engine.migrate, verify_only=verify_only))

    async def close(self) -> None:
        """See `TaskStore`."""
        self.hush()
        for lane in {self.work, self.ask, self.see}:
            await lane.worker.close()

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Placed]:
        """See `TaskStore`."""
        return await self.ask.write(requesting.enqueue, tasks)

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
        return await self.ask.write(requesting.signal, task_id, name, payload, signal_id, wait_id, owner)

    async def cancel(self, task_id: str, *, owner: str | None = None, grace_ms: int = 0) -> Cancelled:
        """See `TaskStore`."""
        return await self.ask.write(requesting.cancel, task_id, owner, grace_ms)

    async def advance(self, conversation: str, generation: int, *, owner: str | None) -> list[str]:
        """See `TaskStore`."""
        return await self.ask.write(requesting.enter, conversation, generation, owner)

    async def retry(self, task_id: str, *, owner: str | None = None) -> list[str]:
        """See `TaskStore`."""
        return await self.ask.write(requesting.retry, task_id, owner)

    async def purge(self, ttl_ms: Mapping[State, int], *, limit: int = 1000) -> int:
        """See `TaskStore`."""
        return await self.ask.write(requesting.purge, ttl_ms, limit)

    async def claim(self, worker: str, wants: Sequence[Want], limit: int) -> list[Claim]:
        """See `TaskStore`."""
        return await self.work.write(working.claim, worker, wants, limit)

    async def load(self, lease: Lease) -> tuple[list[StoredCheckpoint], list[StoredWait]]:
        """See `TaskStore`."""
        return await self.work.write(working.load, lease)

    async def checkpoint(self, lease: Lease, key: str, ordinal: int, input_hash: str, value: str) -> StoredCheckpoint:
        """See `TaskStore`."""
        return await self.work.write(working.checkpoint, lease, key, ordinal, input_hash, value)

    async def spawn(
        self, lease: Lease, key: str, children: Sequence[NewTask], *, wait: NewWait | None, limit: int = 0
    ) -> list[Placed]:
        """See `TaskStore`."""
        return await self.work.write(working.spawn, lease, key, children, wait, limit)

    async def children(self, parent_id: str, key: str) -> list[ChildOutcome]:
        """See `TaskStore`."""
        return await self.see.look(working.children, parent_id, key)

    async def wait(self, lease: Lease, waits: Sequence[NewWait]) -> list[StoredWait]:
        """See `TaskStore`."""
        return await self.work.write(working.wait, lease, waits)

    async def suspend(self, lease: Lease, keys: Sequence[str], reason: str, *, hold: bool = False) -> list[StoredWait]:
        """See `TaskStore`."""
        return await self.work.write(working.suspend, lease, keys, reason, hold=hold)

    async def finish(self, lease: Lease, ending: Ending) -> State:
        """See `TaskStore`."""
        return await self.work.write(finish, lease, ending)

    async def late(self, lease: Lease, ending: Ending) -> bool:
        """See `TaskStore`."""
        return await self.work.write(late, lease, ending)

    async def publish(self, lease: Lease, key: str, value: str) -> int:
        """See `TaskStore`."""
        return await self.work.write(working.publish, lease, key, value)

    async def current(self, lease: Lease) -> None:
        """See `TaskStore`."""
        await self.work.write(working.current, lease)

    async def dispatch(self, limit: int = 100) -> Dispatched:
        """See `TaskStore`."""
        targets = await self.see.look(upkeep.targets, limit)
        done = await asyncio.gather(*(self._deliver(target, limit) for target in targets))
        due = await self.see.look(upkeep.due_deliveries)
        return Dispatched(
            resumed=sum(one.resumed for one in done),
            delivered=sum(one.delivered for one in done),
            suppressed=sum(one.suppressed for one in done),
            failed=sum(one.failed for one in done),
            more=len(targets) >= limit or any(one.delivered + one.suppressed >= limit for one in done),
            next_due_ms=due,
        )

    async def _deliver(self, target: tuple[str, str], limit: int) -> Dispatched:
        """Deliver to one target; what goes wrong there is noted with its deliveries, and harms no other."""
        try:
            return await self.ask.write(upkeep.deliver, *target, limit)
        except Exception as error:  # noqa: BLE001 - whatever it is, the task's own state doesn't hang on it
            reason = type(error).__name__
        _log.warning("a delivery to a %s failed: %s", target[0], reason)
        await self.ask.write(upkeep.postpone, *target, reason, _DELIVERY_PAUSE_MS, _DELIVERIES)
        return Dispatched(failed=1)

    async def sweep(self, limit: int = 100) -> Swept:
        """See `TaskStore`."""
        return await self.ask.write(upkeep.sweep, limit)

    async def take(self, conversation: str, *, owner: str | None, limit: int, offer_ms: int) -> list[StoredEvent]:
        """See `TaskStore`."""
        return await self.ask.write(looking.take, conversation, owner, limit, offer_ms)

    async def acknowledge(self, conversation: str, delivery_ids: Sequence[int], *, owner: str | None = None) -> int:
        """See `TaskStore`."""
        return await self.ask.write(looking.acknowledge, conversation, delivery_ids, owner)

    async def generation(self, conversation: str, *, owner: str | None = None) -> int | None:
        """See `TaskStore`."""
        return await self.see.look(looking.generation, conversation, owner)

    async def get(self, ids: Sequence[str], *, owner: str | None = None) -> list[TaskRow]:
        """See `TaskStore`."""
        return await self.see.look(looking.get, ids, owner)

    async def ended(self, ids: Sequence[str]) -> list[str]:
        """See `TaskStore`."""
        return await self.see.look(looking.ended, ids)

    async def waits(self, task_id: str, *, below: bool = False) -> list[StoredWait]:
        """See `TaskStore`."""
        return await self.see.look(looking.waits, task_id, below=below)

    async def history(self, task_id: str) -> History:
        """See `TaskStore`."""
        return await self.see.look(looking.history, task_id)

    async def list(self, filter: Filter) -> list[TaskRow]:
        """See `TaskStore`."""
        return await self.see.look(looking.tasks, filter)
