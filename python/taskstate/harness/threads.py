"""The threads that have state, seen from outside of any execution."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from .. import core
from ..errors import ConfigurationError, ConflictError, InvalidValueError, StorageError
from ..layer.context import ContextLayer
from ..storage import (
    LAYERS_PREFIX,
    STATE,
    StorageAdapter,
    SupportsVersions,
    parse_key,
    scope_prefix,
    storage_get_many,
)
from ..types import JSON
from .redact import NOTHING_FIXED, Fixed, Redact, redact_value

FORMAT = "taskstate.thread"
SCHEMA_VERSION = 1
_BATCH = 256
"""How many threads are read in one round trip."""


@dataclass(frozen=True)
class ThreadInfo:
    """A thread that has state.

    `layers` are the ids of the layers that keep some; `checkpoints` counts those of all its task
    states and `last_active` is the newest one's timestamp, in milliseconds, None without any.
    `problems` names each record that can't be read and why; it is left as it is.
    """

    thread_id: str
    layers: tuple[str, ...]
    checkpoints: int
    last_active: float | None
    problems: tuple[str, ...] = ()


ThreadInfos: TypeAlias = list[ThreadInfo]
Ids: TypeAlias = list[str]
Times: TypeAlias = list[float]


class _Entry(NamedTuple):
    """One record of a thread."""

    key: str
    layer_id: str
    name: str


_Entries: TypeAlias = list[_Entry]


class Threads:
    """Look at threads, carry them elsewhere, and clean up. Works while executions run, too."""

    def __init__(
        self,
        storage: StorageAdapter,
        layers: Sequence[ContextLayer],
        *,
        redact: Redact | None = None,
        max_bytes: int = core.DEFAULT_MAX_BYTES,
    ) -> None:
        self._storage = storage
        self._redact = redact
        self._max_bytes = max_bytes
        self._layers = {layer.id: layer for layer in layers}
        self._others = {layer.id for layer in layers if layer.scope != "thread"}

    async def list(self) -> ThreadInfos:
        """All threads that have state, by id."""
        grouped = sorted((await self._by_thread()).items())
        infos: ThreadInfos = []
        for start in range(0, len(grouped), _BATCH):
            batch = grouped[start : start + _BATCH]
            found = await self._states([entry.key for _, entries in batch for entry in entries if entry.name == STATE])
            infos.extend(_info(thread_id, entries, found) for thread_id, entries in batch)
        return infos

    async def read(self, thread_id: str) -> dict[str, JSON]:
        """The stored state of each layer, without running anything; empty for an unknown thread."""
        entries = await self._entries(thread_id)
        return {entry.layer_id: await self._read(entry) for entry in entries if entry.name == STATE}

    async def export(self, thread_id: str) -> dict[str, JSON]:
        """Everything stored for a thread as one JSON document, for `import_`.

        `{"format": "taskstate.thread", "schemaVersion": 1, "threadId": ..., "layers": {layer: {name: value}}}`
        """
        layers: dict[str, dict[str, JSON]] = {}
        for entry in await self._entries(thread_id):
            layers.setdefault(entry.layer_id, {})[entry.name] = await self._read(entry)
        return {"format": FORMAT, "schemaVersion": SCHEMA_VERSION, "threadId": thread_id, "layers": layers}

    async def import_(self, document: JSON, *, thread_id: str | None = None, overwrite: bool = False) -> str:
        """Store an exported thread, under another id if one is given; gives the id.

        The document is checked as a whole first. A thread that has state is refused with
        ConflictError; with `overwrite`, it is replaced and what the document doesn't have is deleted.
        """
        target, layers = check_document(document, thread_id, self._max_bytes)
        for layer_id, names in layers.items():
            for name in names:
                names[name] = self._admitted(layer_id, name, names[name])
        present = await self._entries(target)
        if present and not overwrite:
            raise ConflictError(present[0].key, "the thread has state already")
        records = {
            scope_prefix(layer_id, target, scope="thread") + name: value
            for layer_id, names in layers.items()
            for name, value in names.items()
            if value is not None
        }
        try:
            for key, value in records.items():
                await self._storage.set(key, value)
        except BaseException:
            if not present:  # so that it can be tried again
                with suppress(StorageError):
                    for key in records:
                        await self._storage.delete(key)
            raise
        for entry in present:
            if entry.key not in records:
                await self._storage.delete(entry.key)
        return target

    async def delete(self, thread_id: str) -> int:
        """Delete a thread with everything that layers keep under it; gives the number of records."""
        entries = await self._entries(thread_id)
        for entry in entries:
            await self._storage.delete(entry.key)
        return len(entries)

    async def prune(self, *, older_than: float) -> Ids:
        """Delete the threads whose newest checkpoint is older than a time, in milliseconds since the epoch.

        A thread without a checkpoint, or with a record that can't be read, is kept. One that becomes
        active meanwhile is kept too, where the storage knows versions. Gives the ids of the deleted.
        """
        if isinstance(older_than, bool) or not isinstance(older_than, int | float) or older_than != older_than:
            raise ConfigurationError("older_than is no time in milliseconds since the epoch")
        grouped = sorted((await self._by_thread()).items())
        return [thread_id for thread_id, entries in grouped if await self._prune(thread_id, entries, older_than)]

    async def _prune(self, thread_id: str, entries: _Entries, older_than: float) -> bool:
        versioned = self._storage if isinstance(self._storage, SupportsVersions) else None
        states = [entry.key for entry in entries if entry.name == STATE]
        try:
            if versioned is None:
                found, versions = await self._states(states), {}
            else:
                read = {key: await versioned.get_versioned(key) for key in states}
                found = {key: value for key, (value, _) in read.items()}
                versions = {key: version for key, (_, version) in read.items()}
            info = _info(thread_id, entries, found)
            if info.problems or info.last_active is None or info.last_active >= older_than:
                return False
            for key, version in versions.items():
                if versioned is not None:
                    await versioned.compare_and_delete(key, version)
        except StorageError:
            return False
        for entry in entries:
            if entry.key not in versions:
                await self._storage.delete(entry.key)
        return True

    async def _states(self, keys: Ids) -> dict[str, JSON | StorageError]:
        """What is stored under some keys; of a record that can't be read the error."""
        found: dict[str, JSON | StorageError] = {}
        try:
            found.update(await storage_get_many(self._storage, keys))
        except StorageError:
            for key in keys:
                try:
                    found[key] = await self._storage.get(key)
                except StorageError as error:
                    found[key] = error
        return found

    async def _read(self, entry: _Entry) -> JSON:
        return self._redacted(entry.layer_id, await self._storage.get(entry.key))

    def _redacted(self, layer_id: str, value: JSON) -> JSON:
        if self._redact is None:
            return value
        layer = self._layers.get(layer_id)
        return redact_value(value, self._redact, NOTHING_FIXED if layer is None else Fixed.of(layer))

    def _admitted(self, layer_id: str, name: str, value: JSON) -> JSON:
        """What is to be stored of an imported record; a state that its layer couldn't load is refused."""
        layer = self._layers.get(layer_id)
        redacted = self._redacted(layer_id, value)
        if layer is not None and name == STATE and value is not None:
            place = core.format_path("document.layers", [layer_id, name])
            layer.check(value, place)
            if self._redact is not None:
                layer.check(redacted, place)
        return redacted

    async def _entries(self, thread_id: str) -> _Entries:
        return (await self._by_thread()).get(thread_id, [])

    async def _by_thread(self) -> dict[str, _Entries]:
        """The records of every thread. A layer that this harness doesn't have is taken to be one of threads."""
        grouped: dict[str, _Entries] = {}
        for key in sorted(await self._storage.list(LAYERS_PREFIX)):
            parsed = parse_key(key)
            if parsed is not None and not parsed.is_global and parsed.layer_id not in self._others:
                grouped.setdefault(parsed.scope_key, []).append(_Entry(key, parsed.layer_id, parsed.name))
        return grouped


def _info(thread_id: str, entries: _Entries, found: dict[str, JSON | StorageError]) -> ThreadInfo:
    states = [found.get(entry.key) for entry in entries]
    problems = tuple(str(state) for state in states if isinstance(state, StorageError))
    times = [time for state in states for time in _timestamps(state)]
    layers = tuple(sorted({entry.layer_id for entry in entries}))
    return ThreadInfo(thread_id, layers, len(times), max(times, default=None), problems)


def _timestamps(state: JSON) -> Times:
    checkpoints = state.get("checkpoints") if type(state) is dict else None
    entries = checkpoints if type(checkpoints) is list else []
    times = [entry.get("timestamp") for entry in entries if type(entry) is dict]
    return [time for time in times if type(time) is int or type(time) is float]


def check_document(document: Any, thread_id: str | None, max_bytes: int) -> tuple[str, dict[str, dict[str, JSON]]]:
    """The thread id and copies of the records of an exported thread; InvalidValueError names what is wrong.

    `max_bytes` limits each record.
    """

    def refuse(path: str, reason: str) -> InvalidValueError:
        return InvalidValueError(f"document{path}", reason)

    if type(document) is not dict:
        raise refuse("", "not an exported thread")
    if document.get("format") != FORMAT:
        raise refuse(".format", f"not {FORMAT!r}")
    if type(document.get("schemaVersion")) is not int or document["schemaVersion"] != SCHEMA_VERSION:
        raise refuse(".schemaVersion", f"not {SCHEMA_VERSION}, the only version known")
    target = document.get("threadId") if thread_id is None else thread_id
    if type(target) is not str:
        raise refuse(".threadId", "not a str")
    core.validate(target, "document.threadId")
    layers = document.get("layers")
    if type(layers) is not dict or any(type(names) is not dict for names in layers.values()):
        raise refuse(".layers", "not a dict of dicts")
    copied: dict[str, dict[str, JSON]] = {}
    for layer_id, names in layers.items():
        core.validate(layer_id, "document.layers")
        if not layer_id:
            raise refuse(".layers", "a layer's id is empty")
        copied[layer_id] = {}
        for name, value in names.items():
            core.validate(name, "document.layers")
            place = core.format_path("document.layers", [layer_id, name])
            copied[layer_id][name] = core.clone(value, place, max_bytes=max_bytes)
    return target, copied
