"""Versions for an adapter that has none, as far as this process can know."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from ..errors import ConflictError
from ..storage import StorageAdapter
from ..types import JSON


class _Stamp(str):
    """A version; two are the same only if they are one object. It is forgotten when nobody holds it."""

    __slots__ = ("__weakref__",)


class WatchedStorage:
    """An adapter seen through stamps: every write through this object gives its record a new one.

    Writes that go past it, by another process say, aren't seen. Whoever holds the stamp of a record
    that was written since can't write it any more. An absent record has a stamp, too, so that two
    writers can't both create it.
    """

    def __init__(self, adapter: StorageAdapter) -> None:
        self.adapter = adapter
        self._stamps: WeakValueDictionary[str, _Stamp] = WeakValueDictionary()
        self._being_written: set[str] = set()

    async def get(self, key: str) -> JSON:
        """The value at `key`; None when there is none."""
        return await self.adapter.get(key)

    async def set(self, key: str, value: JSON) -> None:
        """Keep a copy of `value` at `key`, whatever is there."""
        await self.adapter.set(key, value)
        self._stamps.pop(key, None)

    async def delete(self, key: str) -> None:
        """Remove `key`, whatever is there."""
        await self.adapter.delete(key)
        self._stamps.pop(key, None)

    async def list(self, prefix: str) -> Keys:
        """The keys that start with `prefix`."""
        return await self.adapter.list(prefix)

    async def get_versioned(self, key: str) -> tuple[JSON, str | None]:
        """The value at `key` with its stamp. What is read while somebody writes has one that nobody can write with."""
        stamp = _Stamp(key) if key in self._being_written else self._stamp(key)
        return await self.adapter.get(key), stamp

    async def compare_and_set(self, key: str, value: JSON, expected: str | None) -> str:
        """Set `key` if its stamp is `expected`; else ConflictError."""
        with self._write(key, expected):
            await self.adapter.set(key, value)
        return self._stamp(key)

    async def compare_and_delete(self, key: str, expected: str | None) -> str:
        """Remove `key` if its stamp is `expected`, and give the stamp of its absence; else ConflictError."""
        with self._write(key, expected):
            await self.adapter.delete(key)
        return self._stamp(key)

    def _stamp(self, key: str) -> _Stamp:
        stamp = self._stamps.get(key)
        if stamp is None:
            stamp = self._stamps[key] = _Stamp(key)
        return stamp

    @contextmanager
    def _write(self, key: str, expected: str | None) -> Iterator[None]:
        """Take the stamp away from everybody who has it; a write that fails gives it back."""
        present = self._stamps.get(key)
        if present is None or present is not expected or key in self._being_written:
            raise ConflictError(key, "another execution wrote this record")
        self._being_written.add(key)
        try:
            yield
        except BaseException:
            self._being_written.remove(key)
            raise
        self._being_written.remove(key)
        self._stamps.pop(key, None)


Keys = list[str]

_watched: WeakValueDictionary[int, WatchedStorage] = WeakValueDictionary()


def watched(adapter: StorageAdapter) -> WatchedStorage:
    """The one watch over an adapter, which all harnesses that use the adapter share."""
    watch = _watched.get(id(adapter))
    if watch is None:
        watch = _watched[id(adapter)] = WatchedStorage(adapter)
    return watch
