"""One scope of a layer, seen as a storage of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import JSON, Scope
from .batch import storage_get_many
from .keys import scope_prefix
from .protocol import KeyList, StorageAdapter


class ScopedStorage:
    """What a layer keeps for one thread, resource or execution, or for all.

    Keys are relative: `state` here is `layers/<layer>/<scope>/state` in the adapter, and no key leads
    out of the scope. A scope key that reads `__global__` means the global scope unless `scope` says
    what it is. Has no `get_many` of the adapter's: `get_many` here works with every adapter.
    """

    def __init__(self, storage: StorageAdapter, layer_id: str, scope_key: str, *, scope: Scope | None = None) -> None:
        self._storage = storage
        self.prefix = scope_prefix(layer_id, scope_key, scope=scope)

    async def get(self, key: str) -> JSON:
        """The value at `key`; None when there is none."""
        return await self._storage.get(self.prefix + key)

    async def set(self, key: str, value: JSON) -> None:
        """Keep a copy of `value` at `key`; durable when this returns."""
        await self._storage.set(self.prefix + key, value)

    async def delete(self, key: str) -> None:
        """Remove `key`; an absent key is no error."""
        await self._storage.delete(self.prefix + key)

    async def list(self, prefix: str = "") -> KeyList:
        """The keys of this scope that start with `prefix`."""
        found = await self._storage.list(self.prefix + prefix)
        return [key[len(self.prefix) :] for key in found if key.startswith(self.prefix)]

    async def get_many(self, keys: Sequence[str]) -> dict[str, JSON]:
        """The values of those `keys` that have one."""
        found = await storage_get_many(self._storage, [self.prefix + key for key in keys])
        return {key[len(self.prefix) :]: value for key, value in found.items()}

    def __repr__(self) -> str:
        return f"ScopedStorage({self.prefix!r})"
