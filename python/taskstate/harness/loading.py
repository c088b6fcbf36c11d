"""What a layer sees of the storage while it loads its state."""

from __future__ import annotations

from collections.abc import Sequence

from .. import core
from ..ids import random_id
from ..layer.context import ContextLayer, ExecutionContext
from ..storage import GLOBAL_SCOPE, STATE, ScopedStorage, state_key
from ..types import JSON
from .records import Record, Records
from .redact import Fixed, Redact, redact_value

_SET_ASIDE = "set-aside"


def scope_key_of(layer: ContextLayer, ctx: ExecutionContext) -> str:
    """Whose state a layer keeps in this execution: the id of a thread, resource or execution, or `__global__`."""
    match layer.scope:
        case "thread":
            return ctx.thread_id
        case "resource":
            return ctx.thread_id if ctx.resource_id is None else ctx.resource_id
        case "global":
            return GLOBAL_SCOPE
        case _:
            return ctx.execution_id


class InitStorage(ScopedStorage):
    """The scope of a layer, where reading and writing the state itself keeps track of its version."""

    def __init__(
        self, records: Records, layer: ContextLayer, ctx: ExecutionContext, redact: Redact | None = None
    ) -> None:
        self.scope_key = scope_key_of(layer, ctx)
        super().__init__(records.storage, layer.id, self.scope_key, scope=layer.scope)
        self.record = Record(state_key(layer.id, self.scope_key, scope=layer.scope))
        self._records = records
        self._redact = redact
        self._fixed = Fixed.of(layer)

    async def get(self, key: str) -> JSON:
        """The value at `key`; None when there is none."""
        return await self._records.read(self.record) if key == STATE else await super().get(key)

    async def set(self, key: str, value: JSON) -> None:
        """Keep a copy of `value` at `key`, redacted; durable when this returns."""
        if self._redact is not None:
            value = redact_value(core.clone(value), self._redact, self._fixed)
        if key == STATE:
            await self._records.submit(self.record, value)
        else:
            await super().set(key, value)

    async def delete(self, key: str) -> None:
        """Remove `key`; an absent key is no error."""
        if key == STATE:
            await self._records.submit(self.record, None)
        else:
            await super().delete(key)

    async def get_many(self, keys: Sequence[str]) -> dict[str, JSON]:
        """The values of those `keys` that have one."""
        found = await super().get_many([key for key in keys if key != STATE])
        if STATE in keys and (state := await self.get(STATE)) is not None:
            found[STATE] = state
        return found


async def set_aside(storage: InitStorage) -> None:
    """Move a stored state that can't be used to `set-aside/<id>`, so that nothing of it is lost."""
    await storage.set(f"{_SET_ASIDE}/{random_id()}", await storage.get(STATE))
    await storage.delete(STATE)
