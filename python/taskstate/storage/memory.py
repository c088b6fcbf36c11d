"""State in this process only, for tests and for runs that need no durability."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Self

from .. import core
from ..errors import ConflictError
from ..ids import random_id
from ..types import JSON
from .codec import check_limit
from .keys import check_key
from .protocol import KeyList


class _Record(NamedTuple):
    value: JSON
    version: str


class MemoryStorage:
    """Keeps copies in a dict; `list` gives the order in which keys were first set.

    Values are lost when the object goes; `close` keeps them. Safe to use from several threads and
    event loops. `max_bytes` limits one value.
    """

    def __init__(self, *, max_bytes: int = core.DEFAULT_MAX_BYTES) -> None:
        self.max_bytes = check_limit(max_bytes)
        """The largest value taken, in bytes as `core.measure` counts them."""
        self._records: dict[str, _Record] = {}
        self._lock = threading.Lock()  # held only for a few dict operations, never across an await

    async def get(self, key: str) -> JSON:
        """A copy of the value at `key`; None when there is none."""
        return (await self.get_versioned(key))[0]

    async def set(self, key: str, value: JSON) -> None:
        """Keep a copy of `value`; InvalidValueError or StateTooLargeError changes nothing."""
        check_key(key)
        record = self._record(value)
        with self._lock:
            self._records[key] = record

    async def delete(self, key: str) -> None:
        """Remove `key`; an absent key is no error."""
        check_key(key)
        with self._lock:
            self._records.pop(key, None)

    async def list(self, prefix: str) -> KeyList:
        """The keys that start with `prefix`, in the order in which they were first set."""
        check_key(prefix, "prefix")
        with self._lock:
            return [key for key in self._records if key.startswith(prefix)]

    async def get_many(self, keys: Sequence[str]) -> dict[str, JSON]:
        """Copies of the values of those `keys` that have one, all read at the same moment."""
        for key in keys:
            check_key(key)
        with self._lock:
            found = {key: self._records[key].value for key in keys if key in self._records}
        return {key: core.clone(value, max_bytes=self.max_bytes) for key, value in found.items() if value is not None}

    async def get_versioned(self, key: str) -> tuple[JSON, str | None]:
        """A copy of the value at `key` with its version; `(None, None)` when there is no record."""
        check_key(key)
        with self._lock:
            record = self._records.get(key)
        # Cloned outside the lock: a stored value is replaced, never changed.
        return (core.clone(record.value, max_bytes=self.max_bytes), record.version) if record else (None, None)

    async def compare_and_set(self, key: str, value: JSON, expected: str | None) -> str:
        """Set `key` if its version is `expected`, and give the new version; else ConflictError."""
        check_key(key)
        record = self._record(value)
        with self._lock:
            self._expect(key, expected)
            self._records[key] = record
        return record.version

    async def compare_and_delete(self, key: str, expected: str | None) -> None:
        """Remove `key` if its version is `expected`; else ConflictError."""
        check_key(key)
        with self._lock:
            self._expect(key, expected)
            self._records.pop(key, None)

    async def close(self) -> None:
        """Does nothing: there is nothing to let go of, and the values stay."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _record(self, value: JSON) -> _Record:
        return _Record(core.clone(value, max_bytes=self.max_bytes), random_id())

    def _expect(self, key: str, expected: str | None) -> None:
        record = self._records.get(key)
        if (record.version if record else None) != expected:
            raise ConflictError(key, "is not at the expected version")
