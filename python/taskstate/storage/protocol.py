"""What a storage is: the methods that an adapter has, and those that it may have.

An adapter keeps JSON values under string keys. Any object with the four methods of
`StorageAdapter` is one; the other two protocols are optional and found by looking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from ..types import JSON

KeyList: TypeAlias = list[str]
"""A list of keys. Inside a class that has a method `list`, the bare name means the method."""


@runtime_checkable
class StorageAdapter(Protocol):
    """JSON values under string keys; every call may be made while others are waiting.

    A key is any exact `str` without lone surrogates; anything else is refused with InvalidValueError (`check_key`).
    """

    async def get(self, key: str) -> JSON:
        """The value at `key`, as a copy; None when there is none (or null is stored)."""
        ...

    async def set(self, key: str, value: JSON) -> None:
        """Keep a copy of `value` at `key`. It is durable when this returns, or the old value is untouched."""
        ...

    async def delete(self, key: str) -> None:
        """Remove `key`; an absent key is no error."""
        ...

    async def list(self, prefix: str) -> KeyList:
        """The keys that start with `prefix`, character by character, in no promised order."""
        ...


@runtime_checkable
class SupportsGetMany(Protocol):
    """An adapter that reads any number of keys in one round trip."""

    async def get_many(self, keys: Sequence[str]) -> dict[str, JSON]:
        """The values of those `keys` that have one; an absent key, or one that holds null, is left out."""
        ...


@runtime_checkable
class SupportsVersions(Protocol):
    """An adapter that writes only if nobody else wrote since.

    A version is an opaque string that every write makes anew and no later record of the same key
    ever has again. None is the version of an absent record.
    """

    async def get_versioned(self, key: str) -> tuple[JSON, str | None]:
        """The value at `key` with its version; `(None, None)` when there is no record."""
        ...

    async def compare_and_set(self, key: str, value: JSON, expected: str | None) -> str:
        """Set `key` if its version is `expected`, and give the new version; else ConflictError."""
        ...

    async def compare_and_delete(self, key: str, expected: str | None) -> str | None:
        """Remove `key` if its version is `expected`, and give the version of its absence: None; else ConflictError."""
        ...
