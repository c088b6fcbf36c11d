"""One leg of a task: from a claim to the next suspension or to the end."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from ..errors import (
    FanOutError,
    LeaseLostError,
    NondeterminismError,
    PayloadError,
    StorageError,
    TaskFailure,
    TaskUnsuccessfulError,
    WaitTimeoutError,
)
from ..storage.worker import Outcome, attempt
from .backoff import delay_ms
from .context import TaskContext
from .definition import Definition
from .protocol import TaskStore
from .records import Claim, Ending
from .steps import current
from .sync_context import SyncTaskContext
from .telemetry import Spans
from .waiting import Suspended

_log = logging.getLogger(__name__)

# What these say is recorded: another attempt would come to the same.
_RECORDED: Final = (PayloadError, NondeterminismError, TaskUnsuccessfulError, FanOutError, WaitTimeoutError)
_PATIENCE: Final = 1.0  # seconds that a function has to end once it was cancelled
_MESSAGE: Final = 2000  # characters of an error's text that are kept
_RETRY: Final = 0.2  # seconds between attempts to record an end

Stop: TypeAlias = Literal["timeout", "lost", "cancelled", "released"]


class Leg:
    """Runs the function of a claimed task, and records how that went."""

    def __init__(
        self,
        claim: Claim,
        definition: Definition[Any, Any],
        store: TaskStore,
        find: Callable[[Definition[Any, Any] | str], Definition[Any, Any]],
        spans: Spans,
        deadline: Callable[[], float],
        leaving: Callable[[], None],
    ) -> None:
        self.claim = claim
        self.definition = definition
        self.outcome = "running"
        """What the leg came to: a state, `suspended`, `lost` or `released`."""
        self._store = store
        self._find = find
        self._spans = spans
        self._deadline = deadline
        self._leaving = leaving
        self._context: TaskContext | None = None
        self._stop: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()
        self._grace: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Run to the end of the leg; raises nothing that a function or a store may have caused."""
        with self._spans.leg(self.claim) as span:
            try:
                self.outcome = await self._run()
            except LeaseLostError as error:
                self.outcome = "lost"
                _log.info("task %s: fence %d is lost (%s)", self.claim.id, self.claim.fence, error.reason)
            except StorageError as error:
                self.outcome = "lost"
                _log.warning("task %s: its store failed, the lease will expire: %s", self.claim.id, error.reason)
            finally:
                if self._grace is not None:
                    self._grace.cancel()
            span(self.outcome)
        claim = self.claim
        facts = {"task_id": claim.id, "task_name": claim.name, "fence": claim.fence, "outcome": self.outcome}
        _log.debug("task %s of %s: %s", claim.id, claim.name, self.outcome, extra=facts)

    def stop(self, why: Stop) -> None:
        """End the leg soon: the lease is lost, or is to be given back."""
        if not self._stop.done():
            self._stop.set_result(why)

    def cancel(self) -> None:
        """The task was asked to cancel: its function may end in order within the grace period."""
        if self._grace is None:
            if self._context is not None:
                self._context.ask_to_stop()
            loop = asyncio.get_running_loop()
            self._grace = loop.call_later(self.definition.limits.cancel_grace_s, self.stop, "cancelled")

    def look(self) -> None:
        """Some wait of the task may have ended."""
        if self._context is not None:
            self._context.waits.look()

    async def _run(self) -> str:
        claim, store = self.claim, self._store
        checkpoints, waits = ([], []) if claim.fresh else await store.load(claim.lease)
        context = TaskContext(claim, self.definition, store, self._find, checkpoints, waits, self._deadline)
        self._context = context
        if self._grace is not None:
            context.ask_to_stop()
        try:
            input = self.definition.input.decode(claim.input, f"{claim.name}.input")
        except PayloadError as error:
            return await self._finish(Ending("failed", code=error.code, message=error.reason))
        body = self._begin(context, input)
        suspension = asyncio.create_task(context.waits.suspended.wait())
        try:
            return await self._follow(context, body, suspension)
        finally:
            suspension.cancel()
            context.leave()
            await context.waits.close()

    def _begin(self, context: TaskContext, input: Any) -> asyncio.Future[Outcome]:
        function = self.definition.function
        token = current.set(context)
        try:
            if self.definition.is_async:
                return asyncio.create_task(_outcome_of(function(context, input)))
            blocking = SyncTaskContext(context, asyncio.get_running_loop())
            return _in_thread(lambda: function(blocking, input))
        finally:
            current.reset(token)

    async def _follow(self, context: TaskContext, body: asyncio.Future[Outcome], suspension: asyncio.Task[bool]) -> str:
        limit = self.definition.limits.timeout_s
        left = None if limit is None else max(0.0, limit - self.claim.spent_ms / 1000)
        ends: set[asyncio.Future[Any]] = {body, suspension, self._stop}
        await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        suspended = context.waits.suspended.is_set()
        if body.done() and not suspended:
            return await self._finish(self._ending(body.result(), context))
        if suspended:
            await self._abandon(context, body, "suspended")
            return "suspended"
        why: Stop = self._stop.result() if self._stop.done() else "timeout"
        return await self._cut_off(context, body, why)

    async def _cut_off(self, context: TaskContext, body: asyncio.Future[Outcome], why: Stop) -> str:
        """End a function that may not go on, and record that; what it still gives is kept for audit only."""
        in_flight = tuple(context.in_flight)
        await self._abandon(context, body, why)
        if why == "lost":
            return "lost"
        if why == "cancelled":
            ended = body.result() if body.done() else None
            result = None if ended is None or ended.error is not None else self._ending(ended, context).result
            return await self._finish(Ending("cancelled", result=result, in_flight=in_flight))
        if why == "released":
            return await self._finish(Ending("released", in_flight=in_flight))
        message = f"ran longer than {self.definition.limits.timeout_s:g} s"
        retry = delay_ms(self.definition.limits, self.claim.failures)
        return await self._finish(
            Ending("failed", code="timeout", message=message, retry_ms=retry, in_flight=in_flight)
        )

    async def _abandon(self, context: TaskContext, body: asyncio.Future[Outcome], why: str) -> None:
        """Have a function end, and wait for it a little; if it doesn't, its outcome is noted when it comes."""
        context.leave()
        if self.definition.is_async:
            body.cancel()
        if not body.done():
            await asyncio.wait({body}, timeout=_PATIENCE if self.definition.is_async or why == "suspended" else 0.05)
        if body.done():
            if why == "lost":
                await self._note(body)
        elif why != "suspended":
            body.add_done_callback(self._note_later)

    def _note_later(self, body: asyncio.Future[Outcome]) -> None:
        task = asyncio.ensure_future(self._note(body))
        _noting.add(task)
        task.add_done_callback(_noting.discard)

    async def _note(self, body: asyncio.Future[Outcome]) -> None:
        """Keep what came too late with the attempt, for audit."""
        ended = None if body.cancelled() else body.result()
        if ended is None or isinstance(ended.error, Suspended | LeaseLostError | asyncio.CancelledError):
            return
        try:
            await self._store.late(self.claim.lease, self._ending(ended, self._context))
        except StorageError as error:
            _log.warning("task %s: a late outcome could not be kept: %s", self.claim.id, error.reason)

    def _ending(self, ended: Outcome, context: TaskContext | None) -> Ending:
        error = ended.error
        waited = context is None or context.waits.opened or not self.claim.fresh
        if error is None:
            limit = self.definition.limits.max_result_bytes
            try:
                text = self.definition.result.encode(ended.value, f"{self.claim.name}.result", limit)
            except PayloadError as fault:
                return Ending("failed", code=fault.code, message=fault.reason, waited=waited)
            return Ending("succeeded", result=text, waited=waited)
        if isinstance(error, LeaseLostError):
            if error.reason != "cancelled":
                raise error
            return Ending("cancelled", waited=waited)
        retry: int | None = delay_ms(self.definition.limits, self.claim.failures)
        code, message = "error", f"{type(error).__name__}: {_text_of(error)}"
        if isinstance(error, TaskFailure):
            code, message, retry = str(error.code), str(error.message), retry if error.retry else None
        elif isinstance(error, _RECORDED):
            code, message, retry = error.code, str(error), None
        elif isinstance(error, asyncio.CancelledError):
            code, message = "cancelled_itself", "its function was cancelled from within"
        in_flight = () if context is None else tuple(context.in_flight)
        return Ending("failed", None, storable(code)[:200], storable(message)[:_MESSAGE], retry, in_flight, waited)

    async def _finish(self, ending: Ending) -> str:
        """Record the end; while the store is out of reach, until the lease is over."""
        self._leaving()
        # What ends in the same round of the loop, and the claim that follows from it, share a transaction.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        while True:
            try:
                return await self._store.finish(self.claim.lease, ending)
            except StorageError:
                if time.monotonic() > self._deadline():
                    raise
                await asyncio.sleep(_RETRY)
            except LeaseLostError:
                await self._store.late(self.claim.lease, ending)
                raise


_noting: set[asyncio.Future[None]] = set()


def storable(text: str) -> str:
    """A text that every store can keep."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001 - it is an error's own code
        return f"<{type(fault).__name__} where its text was made>"


async def _outcome_of(work: Any) -> Outcome:
    try:
        return Outcome(await work)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it becomes the task's failure, and ends no worker
        return Outcome(None, error)


def _in_thread(work: Callable[[], Any]) -> asyncio.Future[Outcome]:
    """The outcome of `work`, done in a thread of its own: one that never ends takes no other's place."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def serve() -> None:
        outcome = attempt(lambda: context.run(work))
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if done.done() else done.set_result(outcome))

    threading.Thread(target=serve, name="taskstate-task", daemon=True).start()
    return done
