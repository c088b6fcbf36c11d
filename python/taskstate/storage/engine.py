"""What the adapters that keep records on disk have in common: an engine behind a worker thread."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self, TypeAlias

from ..types import JSON
from .codec import check_limit, decode, encode
from .keys import check_key
from .protocol import KeyList
from .worker import Resource, Worker


class AnyVersion(enum.Enum):
    """The expectation of a write that doesn't care what was there."""

    ANY = "any"


ANY: Final = AnyVersion.ANY
Expected: TypeAlias = str | AnyVersion | None


class Record(NamedTuple):
    """A record as it is kept: JSON text and version."""

    text: bytes
    version: str


class Engine(Resource, Protocol):
    """Blocking operations, called from one thread at a time; `put` and `drop` only within `write_group`.

    `put` and `drop` raise ConflictError, having changed nothing, if the record isn't at the expected version.
    """

    def load(self, keys: Sequence[str]) -> list[Record | None]:
        """The record of each of `keys`, in that order; None for an absent one."""
        ...

    def names(self, prefix: str) -> list[str]:
        """The keys that start with `prefix`."""
        ...

    def put(self, key: str, text: bytes, expected: Expected) -> str:
        """Keep `text`; the new version."""
        ...

    def drop(self, key: str, expected: Expected) -> None:
        """Remove the record."""
        ...


class EngineStorage:
    """A storage adapter over an engine: values are checked and encoded first, and then the thread works.

    Nothing is touched if a value is refused. Safe to use from several threads and event loops, across
    forks, and by several processes at once.
    """

    def __init__(self, engine: Engine, name: str, max_bytes: int) -> None:
        self._engine = engine
        self.max_bytes = check_limit(max_bytes)
        """The largest value taken, in bytes as `core.measure` counts them."""
        self._worker = Worker(f"taskstate-{name}", engine)
        weakref.finalize(self, self._worker.abandon).atexit = False

    async def get(self, key: str) -> JSON:
        """The value at `key`; None when there is none. CorruptRecordError if it can't be read back."""
        return (await self.get_versioned(key))[0]

    async def set(self, key: str, value: JSON) -> None:
        """Keep `value` at `key`, durable when this returns.

        Raises InvalidValueError or StateTooLargeError where the value can't be kept, and StorageError
        where it could not be written; the record is then what it was.
        """
        await self._put(key, value, ANY)

    async def delete(self, key: str) -> None:
        """Remove `key`, durably; an absent key is no error."""
        check_key(key)
        await self._worker.write(partial(self._engine.drop, key, ANY))

    async def list(self, prefix: str) -> KeyList:
        """The keys that start with `prefix`, in no promised order."""
        check_key(prefix, "prefix")
        return await self._worker.read(partial(self._engine.names, prefix))

    async def get_many(self, keys: Sequence[str]) -> dict[str, JSON]:
        """The values of those `keys` that have one, in the order asked for; one round trip.

        Raises CorruptRecordError if any of the records can't be read back.
        """
        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            check_key(key)
        return await self._worker.read(partial(self._load_many, wanted)) if wanted else {}

    async def get_versioned(self, key: str) -> tuple[JSON, str | None]:
        """The value at `key` with its version; `(None, None)` when there is no record."""
        check_key(key)
        return await self._worker.read(partial(self._load_one, key))

    async def compare_and_set(self, key: str, value: JSON, expected: str | None) -> str:
        """Set `key` if its version is `expected` (None: absent), and give the new version; else ConflictError."""
        return await self._put(key, value, expected)

    async def compare_and_delete(self, key: str, expected: str | None) -> None:
        """Remove `key` if its version is `expected`; else ConflictError."""
        check_key(key)
        await self._worker.write(partial(self._engine.drop, key, expected))

    async def close(self) -> None:
        """Finish what was asked for and let go of files and the thread; the next call opens them again."""
        await self._worker.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _put(self, key: str, value: Any, expected: Expected) -> str:
        check_key(key)
        text = encode(value, max_bytes=self.max_bytes)
        return await self._worker.write(partial(self._engine.put, key, text, expected))

    def _load_one(self, key: str) -> tuple[JSON, str | None]:
        (record,) = self._engine.load([key])
        return (decode(record.text, key), record.version) if record else (None, None)

    def _load_many(self, keys: Sequence[str]) -> dict[str, JSON]:
        values = {
            key: decode(record.text, key) for key, record in zip(keys, self._engine.load(keys), strict=True) if record
        }
        return {key: value for key, value in values.items() if value is not None}
