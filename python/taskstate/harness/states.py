"""The live states of executions: the one door through which a state enters."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from .. import core
from ..layer.context import ContextLayer, ExecutionContext
from ..types import JSON
from .diagnostics import Reporter
from .records import Record, Records
from .redact import Fixed, Redact, redact_value

_Writes: TypeAlias = set[asyncio.Future[None]]


class States:
    """Holds, for each execution and layer, a state that nobody outside has a reference to.

    A state is checked, redacted, copied (unless its layer is pure) and, where the execution has a
    stored record, handed on to be written. A state that is refused changes nothing, and neither does one that
    can't be written, unless failed writes are only reported (`strict` off).
    """

    def __init__(
        self, records: Records, reporter: Reporter, *, strict: bool, redact: Redact | None, max_bytes: int
    ) -> None:
        self._records = records
        self._reporter = reporter
        self._strict = strict
        self._redact = redact
        self._max_bytes = max_bytes
        self._live: dict[str, dict[str, JSON]] = {}
        self._inherited: dict[str, dict[str, JSON]] = {}
        self._bound: dict[str, dict[str, Record]] = {}
        self._writes: dict[str, _Writes] = {}

    def get(self, execution_id: str, layer_id: str) -> JSON:
        """The live state itself; never change it in place."""
        return self._live.get(execution_id, {}).get(layer_id)

    def lend(self, execution_id: str, layer: ContextLayer) -> JSON:
        """The live state for a hook: a copy, unless the layer promised not to change it."""
        return self._lent(layer, self.get(execution_id, layer.id))

    def inherit(self, child: ExecutionContext, layer: ContextLayer, state: JSON) -> None:
        """Set a child's first state, and remember what it began with."""
        self.set(child, layer, state)
        # A live state is never changed in place, so this reference is as good as a copy.
        self._inherited.setdefault(child.execution_id, {})[layer.id] = self.get(child.execution_id, layer.id)

    def inherited(self, execution_id: str, layer: ContextLayer) -> JSON:
        """What a child began with, for a hook; None where it inherited nothing."""
        return self._lent(layer, self._inherited.get(execution_id, {}).get(layer.id))

    def set(self, ctx: ExecutionContext, layer: ContextLayer, state: JSON) -> asyncio.Future[None] | None:
        """Replace a state; None clears it. Gives the future of its durable write, where there is one."""
        if state is not None:
            state = self._admit(layer, state)
        self._live.setdefault(ctx.execution_id, {})[layer.id] = state
        record = self._bound.get(ctx.execution_id, {}).get(layer.id)
        if record is None:
            return None
        future = self._records.submit(record, state)
        writes = self._writes.setdefault(ctx.execution_id, set())
        writes.add(future)
        future.add_done_callback(lambda done: self._written(ctx, layer, writes, done))
        return future

    def under_way(self, ctx: ExecutionContext, layer: ContextLayer) -> asyncio.Future[None] | None:
        """The write asked for last, where it hasn't ended; the state isn't durable before it has."""
        record = self._bound.get(ctx.execution_id, {}).get(layer.id)
        latest = None if record is None else record.latest
        return None if latest is None or latest.done() else latest

    def bind(self, ctx: ExecutionContext, layer: ContextLayer, record: Record) -> None:
        """From now on write every state of this layer and execution to `record`."""
        record.durable = self.get(ctx.execution_id, layer.id)
        if self._strict:
            record.revert = lambda durable: self._revert(ctx, layer, durable)
        self._bound.setdefault(ctx.execution_id, {})[layer.id] = record

    async def flush(self, ctx: ExecutionContext) -> None:
        """Wait until what was set so far is durable; in strict mode raise what prevented it."""
        writes = self._writes.get(ctx.execution_id)
        while writes:
            pending = list(writes)
            await asyncio.wait(pending)
            self._settle(writes, pending)

    async def ended(self, ctx: ExecutionContext, write: asyncio.Future[None]) -> None:
        """Wait until one write is durable; in strict mode raise what prevented it."""
        await asyncio.wait([write])
        self._settle(self._writes.get(ctx.execution_id, set()), [write])

    def _settle(self, writes: _Writes, ended: list[asyncio.Future[None]]) -> None:
        """Let go of writes that have ended: their errors are raised once."""
        writes.difference_update(ended)
        errors = [error for future in ended if (error := future.exception()) is not None]
        if errors and self._strict:
            raise errors[0]

    def forget(self, ctx: ExecutionContext) -> None:
        """Drop everything that belongs to an execution."""
        self._live.pop(ctx.execution_id, None)
        self._inherited.pop(ctx.execution_id, None)
        self._bound.pop(ctx.execution_id, None)
        self._writes.pop(ctx.execution_id, None)

    def live(self) -> dict[str, dict[str, JSON]]:
        """Every live state, by execution and layer, as copies."""
        return {
            execution_id: {
                layer_id: core.clone(state, "", max_bytes=self._max_bytes) for layer_id, state in states.items()
            }
            for execution_id, states in self._live.items()
        }

    def _lent(self, layer: ContextLayer, state: JSON) -> JSON:
        return state if layer.pure or state is None else core.clone(state, "", max_bytes=self._max_bytes)

    def _admit(self, layer: ContextLayer, state: JSON) -> JSON:
        if self._redact is not None:
            state = redact_value(core.clone(state, "", max_bytes=self._max_bytes), self._redact, Fixed.of(layer))
            layer.check(state)
        elif not layer.pure:
            return core.clone(state, "", max_bytes=self._max_bytes)
        core.validate(state, "", max_bytes=self._max_bytes)
        return state

    def _revert(self, ctx: ExecutionContext, layer: ContextLayer, durable: JSON) -> None:
        """Let a call that raises have changed nothing: what couldn't be stored isn't the state either."""
        if ctx.execution_id in self._live:
            self._live[ctx.execution_id][layer.id] = durable

    def _written(
        self,
        ctx: ExecutionContext,
        layer: ContextLayer,
        writes: _Writes,
        future: asyncio.Future[None],
    ) -> None:
        error = None if future.cancelled() else future.exception()
        if error is None:
            writes.discard(future)
        else:
            self._reporter.report(layer.id, "persist", ctx.execution_id, error)
