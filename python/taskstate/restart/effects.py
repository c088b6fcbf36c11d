"""Writes to the outside: recorded before they are tried, and settled by their receipt or by nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from pydantic import ValidationError

from ..errors import ConflictError, ContradictionError, LifecycleError, TransitionError
from .apply import apply
from .change import change
from .parts import Effect
from .record import RestartRecord, invalid
from .secrets import guard
from .store import RecordStore
from .transitions import BeginEffect, LoseEffect, SettledEffect, Transition

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


def effect(
    store: RecordStore,
    record: RestartRecord,
    effect_id: str,
    *,
    kind: str,
    target: str,
    idempotency_key: str,
    request_hash: str,
) -> Write:
    """A write to the outside, for `async with`: its body makes the call and says what the receipt says.

        async with effect(store, record, "book", kind="booking", target="room 4", ...) as write:
            receipt = await provider.book(idempotency_key=...)
            write.applied(f"receipt:{receipt.id}")
        record = write.record

    `record` is the saved record. The effect is stored as pending before the body runs. When the body is left, the
    effect is stored as what it was told to be; without a word of that, and after an exception or a cancellation, as
    `unknown`, and the error goes on. A process that dies in between leaves it pending. Both need a reconciliation:
    until then nothing is tried again under this id or key.

    Entering raises TransitionError where the write isn't authorized, or may have been tried already under this id or
    with this idempotency key, and ConflictError where the stored record isn't `record`; the body doesn't run then.
    InvalidRecordError for arguments that can't be recorded, and SecretError for those that look like a secret.
    """
    try:
        begun = Effect(
            kind=kind,
            target=target,
            idempotency_key=idempotency_key,
            request_hash=request_hash,
            since=store.clock(),
        )
        begin = BeginEffect(effect_id=effect_id, effect=begun)
    except ValidationError as error:
        raise invalid(error) from None
    return Write(store, record, begin)


async def settle(store: RecordStore, task_id: str, effect_id: str, settled: SettledEffect) -> RestartRecord:
    """Record what an authoritative source says became of an effect, over whatever else was saved meanwhile.

    For a receipt that comes late, and for a reconciliation. Raises ContradictionError, and overwrites nothing, where
    the effect is recorded as having ended otherwise.
    """
    return await store.update(task_id, lambda record: _reconciled(record, effect_id, settled))


class Write:
    """A write to the outside, in the body of its `async with`."""

    def __init__(self, store: RecordStore, record: RestartRecord, begin: BeginEffect) -> None:
        self._store = store
        self._begin = begin
        self._told: SettledEffect | None = None
        self._open = False
        self.effect_id = begin.effect_id
        self.record = record
        """The task's record: in the body the one with the pending effect, after it the one that says how it ended."""

    def applied(self, evidence: str) -> None:
        """The receipt says that the write took place; `evidence` refers to it."""
        self._tell("applied", evidence)

    def not_applied(self, evidence: str) -> None:
        """The system that was written to says that the write did not take place; `evidence` refers to its answer."""
        self._tell("not_applied", evidence)

    async def __aenter__(self) -> Self:
        # Whatever the store's mode: an effect whose key or target was redacted could never be reconciled.
        guard({"effect_id": self.effect_id, **dict(self._begin.effect)})
        _check_first(self.record, self.effect_id, self._begin.effect)
        self.record = await self._store.save(change(self.record, self._begin))
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        try:
            await _to_the_end(self._settle())
        except Exception as failure:
            if error is None:
                raise
            # The body's error says more. What is stored needs a reconciliation, or is known by somebody's evidence.
            _log.warning("how an effect ended was not recorded as it should be: %s", type(failure).__name__)
            error.add_note(str(failure))

    def _tell(self, state: Literal["applied", "not_applied"], evidence: str) -> None:
        if not self._open:
            raise LifecycleError("an effect is told how it ended within its block; later on, use settle()")
        if self._told is not None and self._told.state != state:
            raise ContradictionError(f"reconcile:{self.effect_id}", f"told as {self._told.state}, now as {state}")
        try:
            self._told = self._told or SettledEffect(state=state, evidence=guard(evidence, self._store.secrets))
        except ValidationError as error:
            raise invalid(error) from None

    async def _settle(self) -> None:
        saved = await self._store.update(self.record.task_id, self._ended)
        if saved.generation != self.record.generation:
            # This worker must not go on with the record of the one that took over.
            raise ConflictError(saved.task_id, "another worker took the task over; how the effect ended is recorded")
        self.record = saved

    def _ended(self, record: RestartRecord) -> RestartRecord:
        if self._told is not None:
            return _reconciled(record, self.effect_id, self._told)
        now = record.pending_effects.get(self.effect_id)
        if now is not None and now.state != "pending":
            return record  # reconciled by somebody else, or lost already
        return change(record, LoseEffect(effect_id=self.effect_id))


def _check_first(record: RestartRecord, effect_id: str, begun: Effect) -> None:
    """Refuse what an earlier effect may have done already: one idempotency key is one write."""
    for other_id, other in record.pending_effects.items():
        same = (other.kind, other.target, other.idempotency_key) == (begun.kind, begun.target, begun.idempotency_key)
        if same and other_id != effect_id and other.state != "not_applied":
            raise TransitionError(f"BeginEffect:{effect_id}", f"effect {other_id} is the same write: {other.state}")


def _reconciled(record: RestartRecord, effect_id: str, settled: SettledEffect) -> RestartRecord:
    return apply(record, Transition(op="reconcile", subject=effect_id), settled)


async def _to_the_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Do `work` to its end; a cancellation that comes meanwhile is raised after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled() and (failure := task.exception()) is not None:
        _log.warning("how an effect ended was not recorded as it should be: %s", type(failure).__name__)
    raise cancelled
