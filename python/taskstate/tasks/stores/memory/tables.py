"""The data of a memory store with its indexes, as one call sees them under the lock."""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from ....errors import LeaseLostError, NotFoundError
from ...records import ENDED, STATES, Lease, NewTask, State, Topic
from .rows import Conversation, Delivery, Event, Subscription, Target, Task

Kind: TypeAlias = tuple[str, int]
"""The name and version of a definition."""


class Tables:
    """Nothing here checks anything: the rules do, all of it before they change something."""

    def __init__(self) -> None:
        self.now = 0
        """The time of the call in hand."""
        self.topics: set[Topic] = set()
        """What subscribers are told once the call is done."""
        self.tasks: dict[str, Task] = {}
        self.conversations: dict[str, Conversation] = {}
        self.outbox: dict[int, Delivery] = {}
        """Pending deliveries in order."""
        self.outbox_of: defaultdict[tuple[Target, str], dict[int, Delivery]] = defaultdict(dict)
        """The same by target."""
        self._in_state: dict[State, dict[str, Task]] = {state: {} for state in STATES}
        self._flights: dict[tuple[str, str, str], Task] = {}
        # Entries of a heap stay when a task leaves `ready` other than by a claim: they are passed over later.
        self._ready: defaultdict[Kind, list[tuple[int, int, str]]] = defaultdict(list)
        self._seq = itertools.count(1)
        self._delivery_ids = itertools.count(1)

    def touch(self, *topics: Topic) -> None:
        """Have subscribers told."""
        self.topics.update(topics)

    # Finding

    def task(self, task_id: str, owner: str | None = None) -> Task:
        """A task; NotFoundError if it isn't there or is another owner's."""
        task = self.tasks.get(task_id)
        if task is None or owner not in (None, task.owner):
            raise NotFoundError("task", task_id)
        return task

    def held(self, lease: Lease) -> Task:
        """The task of a lease that holds; else LeaseLostError."""
        task = self.tasks.get(lease.id)
        if task is None or not task.holds(lease):
            raise self.lost(lease)
        return task

    def lost(self, lease: Lease) -> LeaseLostError:
        """Why a lease doesn't hold."""
        task = self.tasks.get(lease.id)
        told = task is not None and task.state in ("cancelled", "superseded")
        return LeaseLostError(lease.id, lease.fence, task.state if task is not None and told else "lost")

    def in_state(self, state: State) -> list[Task]:
        """All tasks in that state."""
        return list(self._in_state[state].values())

    def unended(self) -> Iterator[Task]:
        """All tasks that haven't ended."""
        for state in STATES:
            if state not in ENDED:
                yield from self.in_state(state)

    def first_ready(self, kind: Kind) -> Task | None:
        """The ready task of a kind that is to be claimed first."""
        heap = self._ready[kind]
        while heap:
            _, seq, task_id = heap[0]
            task = self.tasks.get(task_id)
            if task is not None and task.seq == seq and task.state == "ready":
                return task
            heapq.heappop(heap)
        return None

    def holder(self, owner: str, name: str, key: str) -> Task | None:
        """The task that holds a single-flight key: one that is asked to cancel doesn't."""
        task = self._flights.get((owner, name, key))
        return None if task is None or task.cancel_requested_at is not None else task

    def subscribed(self, task: Task) -> list[Subscription]:
        """The subscriptions of a task whose conversation is still at their generation."""
        live = [one for one in task.subscriptions if self.conversations[one.conversation].generation == one.generation]
        return sorted(live, key=lambda one: (one.conversation, one.generation))

    # Changing

    def add(self, new: NewTask) -> Task:
        """Keep a task that is in no state yet: `move` has to follow."""
        task = self.tasks[new.id] = Task.born(new, next(self._seq), self.now)
        if new.notify and new.conversation is not None:
            task.subscriptions.add(Subscription(new.generation, new.conversation))
        return task

    def move(self, task: Task, state: State) -> None:
        """Put a task into a state; the only way into one."""
        self._in_state[task.state].pop(task.id, None)
        self._in_state[state][task.id] = task
        task.state = state
        task.available_at = None
        if state != "running":
            task.worker = task.lease_expires_at = None
        flight = None if task.single_flight is None else (task.owner, task.name, task.single_flight)
        if state in ENDED:
            task.finished_at = self.now
            if flight is not None and self._flights.get(flight) is task:
                del self._flights[flight]
            return
        task.finished_at = None
        if flight is not None and task.cancel_requested_at is None:
            self._flights[flight] = task
        if state == "ready":
            heapq.heappush(self._ready[task.name, task.version], (-task.priority, task.seq, task.id))
            self.touch("ready")
        elif state != "running":
            self.touch("due")

    def put_up(
        self, task: Task, event: Event, target: Target, target_id: str, generation: int = 0, unheard: str | None = None
    ) -> None:
        """Put an event up for delivery, or only on record if there is a reason why it isn't to be heard."""
        delivery = Delivery(next(self._delivery_ids), task, target, target_id, event, generation)
        task.deliveries.append(delivery)
        if unheard is not None:
            delivery.state, delivery.reason = "suppressed", unheard
            return
        self.outbox[delivery.id] = self.outbox_of[target, target_id][delivery.id] = delivery
        self.touch("outbox")

    def settle(self, delivery: Delivery, suppressed: str | None = None) -> None:
        """A pending delivery was tried: it has arrived, or is suppressed for a reason."""
        delivery.state, delivery.reason = ("delivered", None) if suppressed is None else ("suppressed", suppressed)
        delivery.attempts += 1
        self._drop_pending(delivery)

    def withhold(self, delivery: Delivery, reason: str) -> None:
        """A pending delivery isn't tried any more."""
        delivery.state, delivery.reason = "suppressed", reason
        self._drop_pending(delivery)

    def remove(self, task: Task) -> None:
        """Forget a task and all that belongs to it."""
        del self.tasks[task.id]
        self._in_state[task.state].pop(task.id, None)
        for delivery in task.deliveries:
            self._drop_pending(delivery)
            if delivery.target == "conversation":
                self.conversations[delivery.target_id].inbox.pop(delivery.id, None)

    def _drop_pending(self, delivery: Delivery) -> None:
        target = (delivery.target, delivery.target_id)
        self.outbox.pop(delivery.id, None)
        if pending := self.outbox_of.get(target):
            pending.pop(delivery.id, None)
            if not pending:
                del self.outbox_of[target]
