"""Durable tasks: the way in for applications."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import TracebackType
from typing import Any, Self, TypeVar

from ..errors import ConfigurationError, LifecycleError
from ..ids import random_id
from .binding import checked_binding, checked_generation, definitions_by_name, given_id
from .children import new_task
from .definition import Definition, check_known, check_name, check_seconds, check_whole
from .ends import Ends
from .handle import TaskHandle
from .inbox import Bell
from .keeper import Keeper
from .payload import text_of
from .protocol import TaskStore
from .reading import Reading
from .records import ENDED, State, Topic
from .steps import current
from .stores import open_store
from .telemetry import Spans
from .tools import TaskTools
from .worker import Stopped, Worker

O = TypeVar("O")  # noqa: E741 - output

_MAX_SIGNAL = 1_000_000
_GRACE_S = 10.0


class DurableTasks(Reading):
    """Tasks that outlive the process that started them.

    `types` are the definitions that this process knows; `store` is a TaskStore, the path of a SQLite file, a URL
    `postgresql://...`, or `memory:`. As an async context manager it brings the store's tables up to date and, unless
    `worker=False`, runs a worker in this process with `concurrency` tasks at once. `poll_s` is how often it looks even
    if nothing was heard. On leaving, what still runs has `grace_s` to end; then it is given back.
    Belongs to the event loop in which it was entered.
    """

    def __init__(
        self,
        *,
        types: Sequence[Definition[Any, Any]],
        store: TaskStore | str | os.PathLike[str],
        worker: bool = True,
        concurrency: int = 10,
        poll_s: float = 1.0,
        grace_s: float = _GRACE_S,
        name: str | None = None,
        migrate: bool = True,
    ) -> None:
        self._types = definitions_by_name(types)
        if isinstance(poll_s, bool) or not isinstance(poll_s, int | float) or not 0 < poll_s <= 3600:
            raise ConfigurationError("poll_s must be a number of seconds above 0, up to 3600")
        self.store: TaskStore = store if isinstance(store, TaskStore) else open_store(store)
        check_seconds("grace_s", grace_s, 0)
        if name is not None:
            check_name("name", name)
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{random_id()[:6]}"
        self._poll = poll_s
        self._grace = grace_s
        self._migrate = migrate
        self._spans = Spans()
        self._concurrency = _concurrency(concurrency)
        self._works = worker
        self._worker: Worker | None = None
        self._keeper: Keeper | None = None
        self._ends = Ends(self.store, poll_s)
        self._bell = Bell()
        self._unsubscribe: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        if self._loop is not None:
            raise LifecycleError("these durable tasks are open already")
        self._loop = asyncio.get_running_loop()
        try:
            await self.store.open(verify_only=not self._migrate)
            self._unsubscribe = self.store.subscribe(self._heard)
            if self._works:
                self._start_worker()
        except BaseException:
            self._loop = None
            await self.store.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self, grace_s: float | None = None) -> Stopped:
        """Stop the worker and let go of the store; what became of the tasks that it held. Idempotent.

        If this call is cancelled, what still runs is given back at once.
        """
        if grace_s is not None:
            check_seconds("grace_s", grace_s, 0)
        if self._loop is None:
            return Stopped()
        closing = asyncio.create_task(self._close(self._grace if grace_s is None else grace_s))
        cancelled: asyncio.CancelledError | None = None
        while not closing.done():
            try:
                await asyncio.wait({closing})
            except asyncio.CancelledError as error:
                cancelled = error
                if self._worker is not None:
                    self._worker.hurry()
        stopped = closing.result()
        if cancelled is not None:
            raise cancelled
        return stopped

    async def _close(self, grace_s: float) -> Stopped:
        stopped = Stopped()
        try:
            if self._worker is not None:
                stopped = await self._worker.stop(grace_s)
        finally:
            if self._keeper is not None:
                await self._keeper.stop()
            await self._ends.stop()
            self._unsubscribe()
            self._worker = self._keeper = self._loop = None
            await self.store.close()
        return stopped

    async def serve(
        self, until: asyncio.Event, *, concurrency: int | None = None, grace_s: float | None = None
    ) -> Stopped:
        """Open these durable tasks, run a worker until the event is set, close; what became of the tasks that it held.

        A worker runs even with `worker=False`.
        """
        if concurrency is not None:
            self._concurrency = _concurrency(concurrency)
        works, self._works = self._works, True
        try:
            await self.__aenter__()
        finally:
            self._works = works
        try:
            await until.wait()
        finally:
            stopped = await self.close(grace_s)
        return stopped

    def _start_worker(self) -> None:
        types = list(self._types.values())
        options = {"concurrency": self._concurrency, "poll_s": self._poll}
        self._worker = Worker(self.name, self.store, types, self.definition, **options)  # type: ignore[arg-type]
        self._keeper = Keeper(self.store, self._poll)
        self._worker.start()
        self._keeper.start()

    def _heard(self, topics: AbstractSet[Topic]) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._hear, set(topics))

    def _hear(self, topics: AbstractSet[Topic]) -> None:
        for part in (self._worker, self._keeper, self._ends, self._bell):
            if part is not None:
                part.hear(topics)

    def definition(self, of: Definition[Any, Any] | str) -> Definition[Any, Any]:
        """The definition of this name; ConfigurationError if it isn't one of `types`."""
        name = of if isinstance(of, str) else of.name
        found = self._types.get(name)
        if found is None or (isinstance(of, Definition) and found is not of):
            raise ConfigurationError(f"{name[:100]!r} is not one of the types of these durable tasks")
        return found

    # Requests

    async def run(
        self,
        definition: Definition[Any, O] | str,
        input: Any,
        *,
        owner: str = "",
        conversation: str | None = None,
        generation: int = 0,
        single_flight: str | None = None,
        task_id: str | None = None,
        priority: int = 0,
        timeout: float | None = None,
    ) -> O:
        """Run a task in the foreground: its result, once it has ended.

        Raises what `result` raises. Cancelling this call, or its `timeout`, doesn't cancel the task. Within a task
        this is the context's `run`: the task is suspended meanwhile, and bound as its parent is.
        """
        inside = current.get()
        if inside is not None:
            return await inside.run(definition, input)
        found = self.definition(definition)
        binding = checked_binding(owner, conversation, generation, single_flight, priority, 0.0)
        traceparent = self._spans.carrier()
        new = new_task(found, input, "foreground", id=given_id(task_id), traceparent=traceparent, **binding)
        (placed,) = await self._open().enqueue([new])
        result: O = await self.result(placed.id, timeout=timeout)
        return result

    async def start(
        self,
        definition: Definition[Any, O] | str,
        input: Any,
        *,
        owner: str = "",
        conversation: str | None = None,
        generation: int = 0,
        single_flight: str | None = None,
        task_id: str | None = None,
        priority: int = 0,
        delay_s: float = 0.0,
    ) -> TaskHandle[O]:
        """Start a task in the background; it is stored when this returns.

        Its events go to the inbox of the conversation. `single_flight`: a live task of the same owner, name and key is
        shared (`created` is False); with another input SingleFlightError. `task_id`: a second start with the same id,
        name, owner and input gives the first task. Raises PayloadError, StaleGenerationError, NotFoundError (another
        owner's conversation) or TaskExistsError; nothing is stored then.

        Within a task's function it starts a task that isn't below that one (for those see the context's `start`), and
        not again when the function runs again.
        """
        options = {"owner": owner, "conversation": conversation, "generation": generation, "priority": priority}
        ids = None if task_id is None else [task_id]
        (handle,) = await self.start_many(
            definition,
            [input],
            single_flight=single_flight,
            task_ids=ids,
            delay_s=delay_s,
            **options,  # type: ignore[arg-type]
        )
        return handle

    async def start_many(
        self,
        definition: Definition[Any, O] | str,
        inputs: Iterable[Any],
        *,
        owner: str = "",
        conversation: str | None = None,
        generation: int = 0,
        single_flight: str | None = None,
        task_ids: Sequence[str] | None = None,
        priority: int = 0,
        delay_s: float = 0.0,
    ) -> list[TaskHandle[O]]:
        """Start a task for each input, all or none; see `start`."""
        found = self.definition(definition)
        binding = checked_binding(owner, conversation, generation, single_flight, priority, delay_s)
        values = list(inputs)
        inside = current.get()
        if task_ids is None and single_flight is None and inside is not None:
            task_ids = inside.own_ids(found.name, len(values))
        ids = [None] * len(values) if task_ids is None else [given_id(id) for id in task_ids]
        if len(ids) != len(values):
            raise ConfigurationError("task_ids must be as many as the inputs")
        traceparent = self._spans.carrier()
        new = [
            new_task(
                found, value, "background", id=id, notify=conversation is not None, traceparent=traceparent, **binding
            )
            for id, value in zip(ids, values, strict=True)
        ]
        placed = await self._open().enqueue(new) if new else []
        return [TaskHandle(self, one.id, created=one.created) for one in placed]

    async def signal(
        self,
        task_id: str,
        name: str,
        payload: Any = None,
        *,
        wait_id: str | None = None,
        owner: str | None = None,
        signal_id: str | None = None,
    ) -> str | None:
        """Answer a wait of a task; the id of the wait that this ended, None if it is kept until one is opened.

        `wait_id` says which, if several are open (SignalError lists them otherwise); see `waits`. The same `signal_id`
        again changes nothing. Raises NotFoundError, and TaskEndedError if the task has ended.
        """
        text = text_of(payload, "input", "signal", _MAX_SIGNAL)
        id = random_id() if signal_id is None else check_name("signal_id", signal_id)
        check_known("task", task_id, owner)
        return await self._open().signal(
            task_id, check_name("signal", name), text, signal_id=id, wait_id=wait_id, owner=owner
        )

    async def cancel(self, task_id: str, *, owner: str | None = None) -> dict[str, list[str]]:
        """Cancel a task and all below it: the ids that `ended` at once, and those that were `asked` to stop.

        A running function sees `ctx.cancelled`, and is cancelled after its grace period. NotFoundError.
        """
        row = await self._row(task_id, owner)
        known = self._types.get(row.name)
        grace = _GRACE_S if known is None else known.limits.cancel_grace_s
        # The worker ends the function after the grace period, and then has a moment to record that.
        done = await self._open().cancel(task_id, owner=owner, grace_ms=round((grace + 5) * 1000))
        return {"ended": list(done.ended), "asked": list(done.asked)}

    async def retry(self, task_id: str, *, owner: str | None = None) -> list[str]:
        """Make a task that failed or was cancelled ready again, with what is below it; the ids of what was.

        Steps that were completed are not repeated. Raises NotFoundError, TaskEndedError, StaleGenerationError.
        """
        return await self._open().retry(check_known("task", task_id, owner), owner=owner)

    async def advance_generation(self, conversation: str, generation: int, *, owner: str | None = None) -> list[str]:
        """The conversation has gone on: what older generations started is superseded; its ids.

        Raises StaleGenerationError for an older generation than the conversation's, NotFoundError for another owner.
        """
        check_name("conversation", conversation)
        return await self._open().advance(conversation, checked_generation(generation), owner=owner)

    async def purge(self, ttl_s: Mapping[State, float], *, limit: int = 1000) -> int:
        """Remove tasks that ended longer ago than the seconds given for their state, with all that belongs to them.

        In batches of `limit` until nothing is left to remove; how many tasks were removed.
        """
        unknown = sorted(set(ttl_s) - set(ENDED))
        if unknown:
            raise ConfigurationError(f"only tasks that ended are removed, not {', '.join(unknown)}")
        check_whole("limit", limit, 1)
        for state, seconds in ttl_s.items():
            check_seconds(state, seconds, 0)
        ttl_ms = {state: round(seconds * 1000) for state, seconds in ttl_s.items()}
        total = 0
        while removed := await self._open().purge(ttl_ms, limit=limit):
            total += removed
        return total

    def tools(self, definitions: Sequence[Definition[Any, Any] | str] | None = None, **binding: Any) -> TaskTools:
        """Definitions as tools for a model; see `TaskTools`."""
        chosen = list(self._types.values()) if definitions is None else [self.definition(one) for one in definitions]
        return TaskTools(self, chosen, **binding)

    def _open(self) -> TaskStore:
        if self._loop is None:
            raise LifecycleError("these durable tasks are not open: use them within `async with`")
        return self.store


def _concurrency(value: int) -> int:
    check_whole("concurrency", value, 1)
    return value
