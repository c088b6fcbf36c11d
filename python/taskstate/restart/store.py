"""Where restart records are kept: one for each task, with its earlier versions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol, cast
from weakref import WeakValueDictionary

from ..clock import Clock, system_clock
from ..errors import ConfigurationError, ConflictError, CorruptRecordError, StorageError, TransitionError
from ..ids import IdFactory, random_id
from ..storage.keys import decode_part, encode_part
from ..storage.protocol import StorageAdapter, SupportsVersions
from .apply import updated
from .facts import Fact, Facts
from .record import RestartRecord
from .secrets import Mode, SecretError, guard

__all__ = ["Fact", "Facts", "RecordStore", "VersionedStorage"]

_RECORDS = "restart/records/"
_VERSIONS = "restart/versions/"
# Each conflict means that somebody else's save got through, so this many in a row are no ordinary contention.
_ATTEMPTS: Final = 1000


class VersionedStorage(StorageAdapter, SupportsVersions, Protocol):
    """A storage that writes only if nobody else wrote since."""


class RecordStore:
    """Restart records by task id, each written only over the version that it was made from.

    Takes any storage with compare-and-set; ConfigurationError for another one. A save is one step to everybody else:
    the version that is about to be replaced is first kept as an earlier one, and then the record is replaced, if it is
    still that version. So a save that lost, or was cut off, leaves nothing that could be taken for a saved version.
    One that is cancelled may have taken place: load the record to see.

    What looks like a secret is refused with SecretError; with `secrets="redact"` a mark is stored in its place, and
    the record that a save gives has it too. `clock` gives the times that are recorded; `ids` tells a task from one that
    had its id before and was deleted.
    Keys are `restart/records/<task>` and `restart/versions/<task>/<ids>/<state version>`.
    """

    def __init__(
        self,
        storage: StorageAdapter,
        *,
        secrets: Mode = "refuse",
        clock: Clock = system_clock,
        ids: IdFactory = random_id,
    ) -> None:
        if not isinstance(storage, SupportsVersions):
            name = type(storage).__name__
            raise ConfigurationError(f"a record store needs a storage with compare-and-set; {name} has none")
        self._storage = cast(VersionedStorage, storage)
        guard({}, secrets)  # an unknown mode is refused at once
        self.secrets: Mode = secrets
        self._ids = ids
        self._turns: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock] = WeakValueDictionary()
        self.clock = clock

    async def create(self, record: RestartRecord) -> RestartRecord:
        """Keep a new task's record, with its `state_version` as it is. ConflictError if there is a task of this id."""
        created = self._checked(record)
        envelope = {"incarnation": self._ids(), "record": created.to_data()}
        try:
            await self._storage.compare_and_set(_key(created.task_id), envelope, None)
        except ConflictError:
            raise ConflictError(created.task_id, "there is such a task already") from None
        return created

    async def load(self, task_id: str) -> RestartRecord:
        """The record as it was last saved. StorageError if there is no such task, InvalidRecordError for a damaged one.

        An interrupted task is taken up by `resume`.
        """
        return (await self._stored(task_id)).record

    async def save(self, record: RestartRecord) -> RestartRecord:
        """Keep a changed record and give it with its new `state_version`, which is one higher.

        ConflictError, and nothing is overwritten, where the stored record isn't the one that this was made from:
        somebody else saved since, or took the task over.
        """
        async with self._turn(record.task_id):
            stored = await self._stored(record.task_id)
            if (record.state_version, record.generation) != (stored.record.state_version, stored.record.generation):
                raise _moved_on(record)
            return await self._replace(stored, record)

    async def update(self, task_id: str, changed: Callable[[RestartRecord], RestartRecord]) -> RestartRecord:
        """Save a change of whatever the record is now, and again of what it is then if somebody else saved first.

        For what is true whoever works on the task, such as a receipt: a worker that was replaced isn't refused here.
        What gives back the record that it was given saves nothing.
        """
        for _ in range(_ATTEMPTS):
            async with self._turn(task_id):
                stored = await self._stored(task_id)
                record = changed(stored.record)
                if record is stored.record:
                    return record
                with suppress(ConflictError):
                    return await self._replace(stored, record)
        raise ConflictError(task_id, f"somebody else saved first {_ATTEMPTS} times")

    async def resume(self, task_id: str, *, at: int | None = None) -> RestartRecord:
        """Take a task over: the saved record, of the next generation, and open if it was paused.

        Work that an older generation began counts as nobody's, and its saves are refused from now on: who takes a
        task over last has it. `at` is the `state_version` that the caller saw: ConflictError where the task moved on
        since, or moves on meanwhile. TransitionError for an abandoned task.
        """
        async with self._turn(task_id):
            stored = await self._stored(task_id)
            record = stored.record
            if at is not None and record.state_version != at:
                raise ConflictError(task_id, f"isn't at state version {at}: another worker took it over or saved it")
            if record.status == "abandoned":
                raise TransitionError(f"resume:{task_id}", "the task is abandoned")
            status = "open" if record.status == "paused" else record.status
            return await self._replace(stored, updated(record, generation=record.generation + 1, status=status))

    async def history(self, task_id: str) -> list[int]:
        """The state versions that can be loaded, oldest first; none for a task that isn't there."""
        stored = await self._find(task_id)
        if stored is None:
            return []
        entries = await self._entries(task_id, stored.incarnation)
        # The version that a lost save kept is the current one; a version above it was saved after the record was read.
        return sorted({entry.version for entry in entries if entry.version <= stored.version} | {stored.version})

    async def load_version(self, task_id: str, version: int) -> RestartRecord:
        """The record as it was saved with this `state_version`. StorageError if that is not, or no longer, there."""
        stored = await self._stored(task_id)
        if version == stored.version:
            return stored.record
        value = await self._storage.get(_entry_key(task_id, stored.incarnation, version))
        if value is None:
            raise StorageError(task_id, f"there is no state version {version}")
        return _opened(task_id, value)[1]

    async def prune(self, task_id: str, *, keep: int) -> list[int]:
        """Forget all but the newest `keep` versions, the current one included; the versions that were forgotten."""
        if type(keep) is not int or keep < 1:
            raise ConfigurationError("keep is the number of versions to keep, at least 1")
        # In this order: a task that was begun anew between the two steps has no entry in the list.
        entries = await self._entries(task_id)
        stored = await self._stored(task_id)
        foreign = [entry for entry in entries if entry.incarnation != stored.incarnation]
        old = [
            entry
            for entry in entries
            if entry.incarnation == stored.incarnation and entry.version <= stored.version - keep
        ]
        await self._forget([*old, *foreign])
        return sorted(entry.version for entry in old)

    async def tasks(self) -> list[str]:
        """The ids of all tasks, sorted."""
        return sorted(decode_part(key.removeprefix(_RECORDS)) for key in await self._storage.list(_RECORDS))

    async def delete(self, task_id: str) -> None:
        """Remove a task with all its versions; one that isn't there is no error, and leftovers of it go too."""
        entries = await self._entries(task_id)
        while True:
            value, version = await self._storage.get_versioned(_key(task_id))
            if version is None:
                break
            try:
                await self._storage.compare_and_delete(_key(task_id), version)
            except ConflictError:
                continue  # a worker saved meanwhile
            if isinstance(value, dict) and type(value.get("incarnation")) is str:
                entries += await self._entries(task_id, cast(str, value["incarnation"]))
            break
        await self._forget(entries)

    def _turn(self, task_id: str) -> asyncio.Lock:
        """Held for a save: those of one event loop take turns, so that they don't write what is bound to lose."""
        return self._turns.setdefault((asyncio.get_running_loop(), task_id), asyncio.Lock())

    async def _find(self, task_id: str) -> _Stored | None:
        value, version = await self._storage.get_versioned(_key(task_id))
        if version is None:
            return None
        incarnation, record = _opened(task_id, value)
        return _Stored(value, version, incarnation, record)

    async def _stored(self, task_id: str) -> _Stored:
        stored = await self._find(task_id)
        if stored is None:
            raise StorageError(task_id, "there is no such task")
        return stored

    async def _replace(self, stored: _Stored, record: RestartRecord) -> RestartRecord:
        saved = self._checked(record.model_copy(update={"state_version": stored.version + 1}))
        task_id = record.task_id
        entry = _entry_key(task_id, stored.incarnation, stored.version)
        envelope = {"incarnation": stored.incarnation, "record": saved.to_data()}
        with suppress(ConflictError):  # kept already, by a save that lost or is about to win
            await self._storage.compare_and_set(entry, stored.value, None)
        try:
            await self._storage.compare_and_set(_key(task_id), envelope, stored.token)
        except ConflictError:
            now = await self._find(task_id)
            if now is None or now.incarnation != stored.incarnation:
                await self._storage.delete(entry)  # what was deleted meanwhile stays deleted
            raise _moved_on(stored.record) from None
        return saved

    def _checked(self, record: RestartRecord) -> RestartRecord:
        """The record as it will be read back. InvalidRecordError for one that was never checked."""
        checked = RestartRecord.from_data(guard(record.to_data(), self.secrets))
        if checked.task_id != record.task_id:
            raise SecretError(["task_id"])  # it is a part of keys, and redacted it would be another task's
        return checked

    async def _entries(self, task_id: str, incarnation: str | None = None) -> list[_Entry]:
        prefix = f"{_VERSIONS}{encode_part(task_id)}/"
        if incarnation is not None:
            prefix += f"{encode_part(incarnation)}/"
        return [_Entry.of(key) for key in await self._storage.list(prefix)]

    async def _forget(self, entries: Iterable[_Entry]) -> None:
        await asyncio.gather(*(self._storage.delete(entry.key) for entry in set(entries)))


class _Stored(NamedTuple):
    """A record with what its storage says of it."""

    value: Any
    token: str
    incarnation: str
    record: RestartRecord

    @property
    def version(self) -> int:
        return self.record.state_version


class _Entry(NamedTuple):
    """Where an earlier version is kept."""

    key: str
    incarnation: str
    version: int

    @classmethod
    def of(cls, key: str) -> _Entry:
        *_, incarnation, version = key.split("/")
        return cls(key, decode_part(incarnation), int(version))


def _key(task_id: str) -> str:
    return _RECORDS + encode_part(task_id)


def _entry_key(task_id: str, incarnation: str, version: int) -> str:
    return f"{_VERSIONS}{encode_part(task_id)}/{encode_part(incarnation)}/{version}"


def _moved_on(record: RestartRecord) -> ConflictError:
    made_from = f"state version {record.state_version} of generation {record.generation}"
    return ConflictError(record.task_id, f"isn't at {made_from}; nothing was overwritten")


def _opened(task_id: str, value: Any) -> tuple[str, RestartRecord]:
    match value:
        case {"incarnation": str(incarnation), "record": dict(data)}:
            record = RestartRecord.from_data(data)
        case _:
            raise CorruptRecordError(task_id, "what is stored is no restart record")
    if record.task_id != task_id:
        raise CorruptRecordError(task_id, "what is stored is the record of another task")
    return incarnation, record
