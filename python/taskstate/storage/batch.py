"""Reading many keys from any adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..types import JSON
from .protocol import StorageAdapter, SupportsGetMany


async def storage_get_many(storage: StorageAdapter, keys: Sequence[str]) -> dict[str, JSON]:
    """The values of those `keys` that have one, in one round trip where the adapter can do that.

    Without `get_many`, all keys are read at the same time with `get`. Either way an absent key and a
    stored null are left out, and falsy values (0, "", False) are kept. If a read fails, its error is
    raised once all reads have ended.
    """
    keys = list(keys)
    if not keys:
        return {}
    if isinstance(storage, SupportsGetMany):
        found = await storage.get_many(keys)
        return {key: value for key, value in found.items() if value is not None}
    results = await asyncio.gather(*map(storage.get, keys), return_exceptions=True)
    values: dict[str, JSON] = {}
    for key, value in zip(keys, results, strict=True):
        if isinstance(value, BaseException):
            raise value
        if value is not None:
            values[key] = value
    return values
