"""What a task's function is given to work with."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, TypeVar, cast, overload

import orjson

from ..errors import FanOutError, NondeterminismError, WaitTimeoutError
from ..ids import derived_id, random_id
from .children import Outcome, new_task, outcome_of
from .definition import Definition, check_name, check_seconds, check_whole
from .payload import hash_of_arguments, text_of
from .protocol import TaskStore
from .records import Claim, Mode, NewWait, StoredCheckpoint, StoredWait
from .steps import called, returned, wants_key
from .telemetry import Spans
from .waiting import Suspended, Waits

T = TypeVar("T")

_MAX_KEY = 500


class TaskContext:
    """The way through which a task does what is to survive it.

    The function is run again from its start after a crash and after each wait. What was done through the context
    before is not done again: its recorded result is given. Each thing is known by its key: the name, with `#2`, `#3`
    and so on if a name comes again, in the order of the calls.
    """

    def __init__(
        self,
        claim: Claim,
        definition: Definition[Any, Any],
        store: TaskStore,
        find: Callable[[Definition[Any, Any] | str], Definition[Any, Any]],
        checkpoints: Sequence[StoredCheckpoint],
        waits: Sequence[StoredWait],
        deadline: Callable[[], float],
    ) -> None:
        self._claim = claim
        self._definition = definition
        self._store = store
        self._find = find
        self._checkpoints = {one.key: one for one in checkpoints}
        self._stored_waits = {one.key: one for one in waits}
        self._keys: Counter[str] = Counter()
        self._ordinal = 0
        self._stop = asyncio.Event()
        self.waits = Waits(store, claim.lease, deadline)
        self.in_flight: dict[str, None] = {}
        self.left = asyncio.Event()
        """Set by `leave`."""

    @property
    def task_id(self) -> str:
        """The id of this task."""
        return self._claim.id

    @property
    def name(self) -> str:
        """The name of its definition."""
        return self._claim.name

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._claim.failures + 1

    @property
    def owner(self) -> str:
        """Whose task it is."""
        return self._claim.owner

    @property
    def conversation(self) -> str | None:
        """The conversation that it belongs to."""
        return self._claim.conversation

    @property
    def generation(self) -> int:
        """The generation of the conversation under which it was started."""
        return self._claim.generation

    @property
    def parent_id(self) -> str | None:
        """The task that started it."""
        return self._claim.parent_id

    @property
    def root_id(self) -> str:
        """The task at the top."""
        return self._claim.root_id

    @property
    def cancelled(self) -> bool:
        """Whether the task was asked to stop; its function may still end in order, for a while."""
        return self._stop.is_set()

    async def wait_cancelled(self) -> None:
        """Return once the task is asked to stop."""
        await self._stop.wait()

    def idempotency_key(self, key: str) -> str:
        """What tells this step of this task from any other one, the same at every attempt."""
        return f"{self.task_id}:{key}"

    async def checkpoint(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """What `function(*args, **kwargs)` gives, async or not; once that is recorded, it is never called again.

        It may be called again if the process dies before the result is recorded: if it has a parameter
        `idempotency_key`, it is given one that stays the same. The result must be JSON data, or what the function is
        annotated to return. Raises NondeterminismError if the step is recorded with other arguments.
        """
        key, ordinal = self._key(name), self._next()
        input_hash = hash_of_arguments(args, kwargs)
        place = f"{self.name}.{key}"
        contract = returned(function)
        with self.waits.step():
            stored = self._recorded(key, input_hash)
            if stored is None:
                self.in_flight[key] = None
                if wants_key(function):
                    kwargs["idempotency_key"] = self.idempotency_key(key)
                try:
                    value = await called(function, args, kwargs)
                except Exception:
                    self.in_flight.pop(key, None)  # it has ended, if badly
                    raise
                text = contract.encode(value, place, self._definition.limits.max_checkpoint_bytes)
                stored = await self._store.checkpoint(self._claim.lease, key, ordinal, input_hash, text)
                self.in_flight.pop(key, None)
                self._checkpoints[key] = stored
                self._recorded(key, input_hash)
            return contract.decode(stored.value, place)

    async def run(self, definition: Definition[Any, T] | str, input: Any, *, key: str | None = None) -> T:
        """Run a task below this one and wait for its result, without holding a worker meanwhile.

        Raises TaskUnsuccessfulError if it doesn't succeed.
        """
        found = self._find(definition)
        (outcome,) = await self._children(found, [input], key or found.name, 0, "child")
        return cast("T", outcome.value())

    @overload
    async def fan_out(
        self,
        definition: Definition[Any, T] | str,
        inputs: Sequence[Any],
        *,
        limit: int | None = None,
        settle: Literal[False] = False,
        key: str | None = None,
    ) -> list[T]: ...

    @overload
    async def fan_out(
        self,
        definition: Definition[Any, T] | str,
        inputs: Sequence[Any],
        *,
        limit: int | None = None,
        settle: Literal[True],
        key: str | None = None,
    ) -> list[Outcome]: ...

    @overload
    async def fan_out(
        self,
        definition: Definition[Any, T] | str,
        inputs: Sequence[Any],
        *,
        limit: int | None = None,
        settle: bool,
        key: str | None = None,
    ) -> list[Any]: ...

    async def fan_out(
        self,
        definition: Definition[Any, T] | str,
        inputs: Sequence[Any],
        *,
        limit: int | None = None,
        settle: bool = False,
        key: str | None = None,
    ) -> list[Any]:
        """Run a task for each input, at most `limit` at once, and wait for all; the results in the order of `inputs`.

        If any doesn't succeed FanOutError is raised when all have ended, with every outcome; with `settle` the
        outcomes are given instead.
        """
        found = self._find(definition)
        if limit is not None:
            check_whole("limit", limit, 1)
        outcomes = await self._children(found, list(inputs), key or found.name, limit or 0, "fan_out")
        if settle:
            return list(outcomes)
        if any(outcome.state != "succeeded" for outcome in outcomes):
            raise FanOutError(found.name, outcomes)
        return [outcome.result for outcome in outcomes]

    async def start(
        self, definition: Definition[Any, Any] | str, input: Any, *, notify: bool = True, key: str | None = None
    ) -> str:
        """Start a task below this one that goes on by itself; its id.

        Its events go to the conversation of this one, if there is one and `notify` says so.
        """
        found = self._find(definition)
        (id,) = await self._spawn(found, [input], self._key(key or found.name), 0, awaited=False, notify=notify)
        return id

    async def sleep(self, seconds: float, *, key: str | None = None) -> None:
        """Wait for that long, without holding a worker."""
        check_seconds("seconds", seconds, -(10**9))  # a time that has passed is no wait
        await self._wait(self._key(key or "sleep"), "sleep", None, seconds, "sleep")

    async def wait_for(self, name: str, timeout: float | None = None, *, key: str | None = None) -> Any:
        """The payload of a signal of this name, without holding a worker; WaitTimeoutError after `timeout` seconds."""
        check_name("signal", name)
        if timeout is not None:
            check_seconds("timeout", timeout, -(10**9))
        wait = await self._wait(self._key(key or f"signal:{name}"), "signal", name, timeout, f"signal:{name}")
        if wait.outcome == "timeout":
            raise WaitTimeoutError(name)
        return None if wait.value is None else orjson.loads(wait.value)

    async def publish(self, value: Any, *, key: str | None = None) -> int:
        """Send a partial result to the conversation, once; its number among the events of this task."""
        name = self._key(key or "publish")
        text = text_of(value, "result", f"{self.name}.{name}", self._definition.limits.max_result_bytes)
        with self.waits.step():
            return await self._store.publish(self._claim.lease, name, text)

    async def ensure_current(self) -> None:
        """Return if what this task does may still be seen by its user; LeaseLostError, which says why, if not."""
        with self.waits.step():
            await self._store.current(self._claim.lease)

    async def guarded(self, work: Coroutine[Any, Any, T]) -> T:
        """For a function in a thread: `work`, or Suspended as soon as the task is, since no one can cancel a thread."""
        if self.left.is_set():
            work.close()
            raise Suspended
        running = asyncio.ensure_future(work)
        left = asyncio.ensure_future(self.left.wait())
        try:
            await asyncio.wait({running, left}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise Suspended
            return running.result()
        finally:
            for one in (running, left):
                one.cancel()

    def own_ids(self, name: str, count: int) -> list[str]:
        """Ids for tasks that this function starts beside itself: the same ones when it runs again."""
        key = self._key(f"start:{name}")
        return [derived_id(self.task_id, f"{key}/{number}") for number in range(count)]

    def leave(self) -> None:
        """For the worker: the task is no longer this function's, and nothing that it still does through this is done.

        A function that ignores that it was cancelled would do steps beside another worker.
        """
        self.left.set()
        self.waits.over = True

    def ask_to_stop(self) -> None:
        """For the worker: the task was cancelled."""
        self._stop.set()

    def _key(self, name: str) -> str:
        check_name("key", name, _MAX_KEY)
        self._keys[name] += 1
        count = self._keys[name]
        return name if count == 1 else f"{name}#{count}"

    def _next(self) -> int:
        self._ordinal += 1
        return self._ordinal

    def _recorded(self, key: str, input_hash: str) -> StoredCheckpoint | None:
        stored = self._checkpoints.get(key)
        if stored is not None and stored.input_hash != input_hash:
            raise NondeterminismError(self.task_id, key)
        return stored

    async def _wait(self, key: str, kind: str, name: str | None, timeout: float | None, reason: str) -> StoredWait:
        self.waits.opened = True
        stored = self._stored_waits.get(key)
        if stored is None:
            milliseconds = None if timeout is None else max(0, round(timeout * 1000))
            new = NewWait(random_id(), key, "sleep" if kind == "sleep" else "signal", name, milliseconds)
            with self.waits.step():
                (stored,) = await self._store.wait(self._claim.lease, [new])
        elif (stored.kind, stored.name) != (kind, name):
            raise NondeterminismError(self.task_id, key)
        return stored if stored.outcome is not None else await self.waits.until(key, reason)

    async def _children(
        self, definition: Definition[Any, Any], inputs: Sequence[Any], name: str, places: int, reason: str
    ) -> list[Outcome]:
        key = self._key(name)
        if not inputs:
            return []
        await self._spawn(definition, inputs, key, places, awaited=True, notify=False)
        wait = self._stored_waits.get(key)
        if wait is None or wait.outcome is None:
            await self.waits.until(key, f"{reason}:{definition.name}")
        with self.waits.step():
            return [outcome_of(child, definition) for child in await self._store.children(self.task_id, key)]

    async def _spawn(
        self,
        definition: Definition[Any, Any],
        inputs: Sequence[Any],
        key: str,
        places: int,
        *,
        awaited: bool,
        notify: bool,
    ) -> list[str]:
        """Start children unless they are recorded; their ids."""
        ordinal = self._next()
        mode: Mode = "foreground" if awaited else "background"
        carrier = Spans.carrier()
        children = [new_task(definition, input, mode, notify=notify, traceparent=carrier) for input in inputs]
        input_hash = hash_of_arguments([definition.name, *(child.input_hash for child in children)], {})
        self.waits.opened |= awaited
        stored = self._recorded(key, input_hash)
        if stored is None:
            wait = NewWait(random_id(), key, "children") if awaited else None
            with self.waits.step():
                lease = self._claim.lease
                placed = await self._store.spawn(lease, key, children, wait=wait, limit=places)
                ids = orjson.dumps([one.id for one in placed]).decode()
                stored = await self._store.checkpoint(lease, key, ordinal, input_hash, ids)
                self._checkpoints[key] = stored
                self._recorded(key, input_hash)
        found: list[str] = orjson.loads(stored.value)
        return found
