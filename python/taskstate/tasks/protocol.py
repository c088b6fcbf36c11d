"""What a task store is.

A store keeps tasks with their checkpoints, waits, signals, attempts, deliveries and inboxes, and decides who
owns a task. It knows nothing of the code that runs. Three rules hold for every method:

* Each call is one transaction: it happens whole, or not at all, and is durable when it returns.
* A write in the name of a `Lease` happens only if the task is running under that very fence when the row is
  locked; else LeaseLostError, and nothing was changed.
* Each call may be made again with the same arguments after a lost connection: the ids come from the caller,
  and a second time changes nothing and gives the same answer.

Every change of ownership (claim, reclaim, suspend, resume, cancel, supersede) raises the fence by one. Time is
the store's own clock; no method takes a time of day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol, runtime_checkable

from .records import (
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
    Topic,
    Want,
)


class Pulse(Protocol):
    """Heartbeats on a connection of their own; called from one OS thread, never from an event loop."""

    def beat(self, leases: Sequence[Lease], *, extend: bool = True) -> list[Beat]:
        """Extend each lease that still holds by the task's own lease time, and tell of each how it stands.

        Without `extend` it only looks.
        """
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


@runtime_checkable
class TaskStore(Protocol):
    """See the module. Methods are safe to call from several tasks of an event loop, and from several loops."""

    # Life

    async def open(self, *, verify_only: bool = False) -> None:
        """Bring the schema up to date, or with `verify_only` only check that it is.

        SchemaError where it isn't, or is newer.
        """
        ...

    async def close(self) -> None:
        """Finish what was asked for and let go of everything; idempotent."""
        ...

    def pulse(self) -> Pulse:
        """A new line for heartbeats."""
        ...

    def subscribe(self, hear: Callable[[AbstractSet[Topic]], None]) -> Callable[[], None]:
        """Have `hear` called, from any thread, when something may have changed; the result ends that.

        A hint and no more: it may come late, twice or never, so whoever waits also looks from time to time.
        `ready`: there may be work to claim; `due`: there is something new for `sweep`, at some time; `outbox`:
        deliveries to dispatch; `ended`: a task ended; `inbox`: an event arrived; `waits`: a wait ended; `leases`: a
        cancel or supersede reached a running task.
        """
        ...

    # Requests

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Placed]:
        """Store all of them or none, in that order; where each went.

        * An id that is there: the same name, owner and input hash gives it with `created` False; else TaskExistsError.
        * A single-flight key that a task of the same owner and name holds, which hasn't ended and isn't asked to
          cancel: the same input hash gives that task with `created` False, and this request's conversation gets its
          events too, under this request's generation; another one raises SingleFlightError. Equal keys within one
          call meet likewise.
        * A conversation is created by its first task, and belongs to that owner: for another one it is
          NotFoundError. An older generation than the conversation's raises StaleGenerationError, a newer one
          advances it (see `advance`).
        * `delay_ms` > 0 makes it `scheduled`, else it is `ready`.
        """
        ...

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
        """Answer a wait of kind `signal`; the id of the wait that it ended, None if it was kept for a later one.

        With `wait_id` that open wait of this task is answered (whatever its name is; SignalError if it isn't open).
        Without: the only open wait of this name; SignalError lists the ids if several are open, and also if this task
        has none while tasks below it have. With none at all the signal is kept, and ends the next wait of that name
        as soon as it is opened; kept ones are taken in the order in which they came. A task that has ended:
        TaskEndedError. A `signal_id` that the task has had already changes nothing.
        """
        ...

    async def cancel(self, task_id: str, *, owner: str | None = None, grace_ms: int = 0) -> Cancelled:
        """Cancel a task and all below it, in one transaction. NotFoundError for an unknown id.

        What isn't running ends as `cancelled`. What is running is asked to stop (its next beat tells), and ends by
        `sweep` once `grace_ms` are over. What has ended stays as it is. Asked again, the earlier request stands,
        with the shorter grace.
        """
        ...

    async def advance(self, conversation: str, generation: int, *, owner: str | None) -> list[str]:
        """Make this the generation of the conversation; the ids of the tasks that are superseded by that.

        A conversation that isn't there is created (with `owner` None: for the owner `""`). The same generation
        changes nothing; an older one raises StaleGenerationError; another owner's is NotFoundError. In one
        transaction: subscriptions of an older generation end. A task of an older generation that hasn't ended is
        bound to the newest remaining subscription of it or of its root if there is one, else it ends as `superseded`
        at once, running or not.
        """
        ...

    async def retry(self, task_id: str, *, owner: str | None = None) -> list[str]:
        """Make a root task that failed or was cancelled ready again, with all attempts; the ids of what was made so.

        Its completed checkpoints stand. Tasks below it that failed or were cancelled and for which a parent waited are
        made ready too, and the waits for them are open again. TaskEndedError for any other task; StaleGenerationError
        if its conversation has gone on.
        """
        ...

    async def purge(self, ttl_ms: Mapping[State, int], *, limit: int = 1000) -> int:
        """Remove up to `limit` root tasks that ended longer ago than their state's time, with all that belongs to them.

        Belonging: tasks below, checkpoints, waits, signals, attempts, deliveries and inbox rows. A tree in which
        anything hasn't ended stays. The number of tasks removed (all of the trees).
        """
        ...

    # Work

    async def claim(self, worker: str, wants: Sequence[Want], limit: int) -> list[Claim]:
        """Own up to `limit` ready tasks, of each name and version no more than is wanted.

        By priority (higher first), then in the order in which they were stored. `worker` is for people to read.
        """
        ...

    async def load(self, lease: Lease) -> tuple[list[StoredCheckpoint], list[StoredWait]]:
        """All checkpoints and waits of a task that is owned."""
        ...

    async def checkpoint(self, lease: Lease, key: str, ordinal: int, input_hash: str, value: str) -> StoredCheckpoint:
        """Keep a step's result unless there is one under that key; what is kept now."""
        ...

    async def spawn(
        self, lease: Lease, key: str, children: Sequence[NewTask], *, wait: NewWait | None, limit: int = 0
    ) -> list[Placed]:
        """Store the children of one step, all or none, in that order, and the wait for their end (None: nobody waits).

        A child is known by the parent, `key` and its ordinal in `children`: a second time gives those that are there,
        whatever ids are offered. With `limit` > 0 only so many are ready at once; the others are `scheduled`, and get
        the place of one that ended by `dispatch`, in order. A parent that is asked to cancel has its children born
        `cancelled`.
        """
        ...

    async def children(self, parent_id: str, key: str) -> list[ChildOutcome]:
        """The children of one step by ordinal."""
        ...

    async def wait(self, lease: Lease, waits: Sequence[NewWait]) -> list[StoredWait]:
        """Open waits unless their keys are there; as they stand.

        One for which a signal is kept takes it and is ended.
        """
        ...

    async def suspend(self, lease: Lease, keys: Sequence[str], reason: str, *, hold: bool = False) -> list[StoredWait]:
        """Suspend a task until one of these waits has ended.

        Waits whose time is over end here (a kept signal goes first: `signal`, else `elapsed` for a sleep and `timeout`
        for a signal). If any of `keys` has ended, those are given and the task stays running under the same fence;
        else it is `suspended`, its lease is given up, and the list is empty. With `hold` it stays running anyway.
        """
        ...

    async def finish(self, lease: Lease, ending: Ending) -> State:
        """Leave a task; the state that it has now.

        One transaction ends the attempt, sets the state, and puts the outcome up for delivery. If it was asked to
        cancel it is `cancelled` whatever the ending is, and a result is kept with the attempt only.
        A `failed` one with `retry_ms` is `scheduled` again while `failures + 1 < max_attempts`. `released`: `ready`.
        A task that ends while it had open waits for children: those are cancelled by `dispatch`.
        """
        ...

    async def late(self, lease: Lease, ending: Ending) -> bool:
        """Keep what came too late with the attempt of that fence, for audit only.

        Whether there was one that had not succeeded by `finish`, without such a note.
        """
        ...

    async def publish(self, lease: Lease, key: str, value: str) -> int:
        """Put up a partial result for the conversations that get this task's events; its number among those events.

        Once for each key: a second time gives the number that it has.
        """
        ...

    async def current(self, lease: Lease) -> None:
        """Return if the lease holds, nothing asks to cancel and the conversation is still of the task's generation.

        LeaseLostError otherwise, whose `reason` is `cancelled`, `superseded` or `lost`.
        """
        ...

    # Upkeep: any worker may do it, in bounded batches

    async def dispatch(self, limit: int = 100) -> Dispatched:
        """Deliver what is up for delivery, to each target in order and once.

        To a parent: under its lock, the wait whose children have all ended ends; places of a bounded fan-out are handed
        on; a suspended parent one of whose waits has ended is made ready. To a conversation: under its lock, a
        delivery of another generation than the conversation's is `suppressed`, else it is put into the inbox.
        """
        ...

    async def sweep(self, limit: int = 100) -> Swept:
        """Do what is due: scheduled tasks become ready, sleeps and time-outs wake, expired leases are reclaimed
        (a failure: `ready` again, or `failed` with code `poisoned` at the last attempt), and running tasks whose
        grace is over end as `cancelled`."""
        ...

    # Inboxes

    async def take(self, conversation: str, *, owner: str | None, limit: int, offer_ms: int) -> list[StoredEvent]:
        """The next events of the conversation's generation that nobody acknowledged, in order.

        They are not offered to anybody else for `offer_ms`. NotFoundError where the owner is another.
        """
        ...

    async def acknowledge(self, conversation: str, delivery_ids: Sequence[int], *, owner: str | None = None) -> int:
        """Offer these never again; how many of them were not acknowledged yet."""
        ...

    async def generation(self, conversation: str, *, owner: str | None = None) -> int | None:
        """The generation of a conversation; None if there is none (or it is another owner's)."""
        ...

    # Looking

    async def get(self, ids: Sequence[str], *, owner: str | None = None) -> list[TaskRow]:
        """Those of the tasks that are there (and are this owner's), in the order asked for."""
        ...

    async def ended(self, ids: Sequence[str]) -> list[str]:
        """Those of the ids whose tasks have ended, or are not there."""
        ...

    async def waits(self, task_id: str, *, below: bool = False) -> list[StoredWait]:
        """The open waits of a task, with `below` also of the tasks below it, oldest first."""
        ...

    async def history(self, task_id: str) -> History:
        """All that is recorded of a task."""
        ...

    async def list(self, filter: Filter) -> list[TaskRow]:
        """Tasks, newest first."""
        ...
