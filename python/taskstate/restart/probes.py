"""Probes: what is there now, of files, sources and effects."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from ..clock import Clock, system_clock
from ..errors import ConfigurationError, InvalidRecordError, StorageError
from .evidence import EVIDENCE
from .files import Found, Root, is_url, names_along
from .observed import Observed, SeenEffect, SeenFile, SeenSource
from .parts import Effect
from .record import RestartRecord
from .search import Search
from .threads import called, in_thread

_log = logging.getLogger(__name__)

_Seen = TypeVar("_Seen")

SourceCall: TypeAlias = Callable[[], SeenSource | Awaitable[SeenSource | None] | None]
"""Gives what a source says of itself now; None where it is gone."""
EffectCall: TypeAlias = Callable[[str, Effect], SeenEffect | Awaitable[SeenEffect]]
"""Gives what the system that an effect writes to says became of it, by the effect's id and what is recorded of it."""

_AT_ONCE: Final = 8


class SeenFiles(NamedTuple):
    """The files that a record names, by location (None: not there), and those that it doesn't."""

    files: dict[str, SeenFile | None]
    unindexed: dict[str, SeenFile]


class SeenOutside(NamedTuple):
    """Sources (None: gone) and effects, by id."""

    sources: dict[str, SeenSource | None]
    effects: dict[str, SeenEffect]


class Probe(Protocol):
    """Whatever looks at what a record names. What it couldn't look at it leaves out."""

    async def look(self, record: RestartRecord) -> SeenFiles | SeenOutside:
        """What is there now."""
        ...


class FileProbe:
    """Looks at the files below `root`, which a record names by relative POSIX paths.

    A file that can't be read, is no ordinary file, lies behind a link out of the root or keeps changing is left out:
    it isn't said to be missing. So is a location that is a URL. Files that no record names are searched for in the
    whole root but for what `ignore` matches: patterns as of a shell, for a name or (with a "/") a whole location,
    where a folder stands for all below it. `max_entries` and `max_depth` bound the search.

    `look` raises InvalidRecordError for a location that leaves the root, and StorageError for a root that isn't
    there and for one that holds more than the bounds allow.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        ignore: Iterable[str] = (),
        max_entries: int = 10_000,
        max_depth: int = 32,
    ) -> None:
        if isinstance(ignore, str):
            raise ConfigurationError("ignore is a collection of patterns, not one of them")
        if max_entries < 1 or max_depth < 1:
            raise ConfigurationError("max_entries and max_depth are at least 1")
        self._root = Path(root)
        self._ignore = tuple(ignore)
        self._max_entries = max_entries
        self._max_depth = max_depth

    async def look(self, record: RestartRecord) -> SeenFiles:
        """The recorded artifacts, and the files that no record names; hashed in a thread."""
        return await in_thread(partial(self._look, record))

    def _look(self, record: RestartRecord, stop: threading.Event) -> SeenFiles:
        named = dict(_artifact_locations(record))
        expected = dict(_expected_locations(record))
        _check(named | expected)
        known = {_plain(location) for location in named} | set(_mentioned(record))
        files: dict[str, SeenFile | None] = {}
        unindexed: dict[str, SeenFile] = {}
        with Root(self._root) as root:
            for location in named:
                told, found = _looked(root, location, stop)
                if told:
                    files[location] = None if found is None else found.seen
                if found is not None:
                    known.add(found.real)
            for location in expected:
                found = _looked(root, location, stop)[1]
                if found is not None and found.real not in known:
                    unindexed[location] = found.seen
                    known.add(found.real)
            for location in Search(root, self._ignored, self._max_entries, self._max_depth):
                if location not in known and (found := _looked(root, location, stop)[1]) is not None:
                    unindexed[location] = found.seen
        return SeenFiles(files, unindexed)

    def _ignored(self, location: str) -> bool:
        if location == EVIDENCE:
            return True
        name = location.rpartition("/")[2]
        return any(fnmatchcase(location if "/" in pattern else name, pattern) for pattern in self._ignore)


def _looked(root: Root, location: str, stop: threading.Event) -> tuple[bool, Found | None]:
    """Whether it could be told what is at a location, and the file there."""
    try:
        return True, root.look(location, stop)
    except StorageError as error:
        _log.warning("a file isn't seen: %s", error.reason)
        return False, None


def _check(places: Mapping[str, str]) -> None:
    faults = []
    for location, place in places.items():
        try:
            _plain(location)
        except ValueError as error:
            faults.append((place, str(error)))
    if faults:
        raise InvalidRecordError(faults)


def _plain(location: str) -> str:
    """A location as the search gives it; ValueError where it leaves the root."""
    return "/".join(names_along(location))


def _artifact_locations(record: RestartRecord) -> Iterator[tuple[str, str]]:
    """The location of each artifact, earlier ones too, with its place in the record."""
    for artifact_id, artifact in record.artifacts.items():
        if not is_url(artifact.location):
            yield artifact.location, f"artifacts.{artifact_id}.location"
    for index, entry in enumerate(record.superseded):
        if not is_url(entry.artifact.location):
            yield entry.artifact.location, f"superseded.{index}.artifact.location"


def _expected_locations(record: RestartRecord) -> Iterator[tuple[str, str]]:
    """Where the artifact of a unit is expected, and no artifact is recorded."""
    recorded = {location for location, _ in _artifact_locations(record)}
    for unit_id, unit in record.completion_rule.units.items():
        if unit.location is not None and unit.location not in recorded and not is_url(unit.location):
            yield unit.location, f"completion_rule.units.{unit_id}.location"


def _mentioned(record: RestartRecord) -> Iterator[str]:
    """What a record refers to otherwise, and so is no orphan where it is a file."""
    references = [source.location for source in record.sources.values()]
    artifacts = [*record.artifacts.values(), *(entry.artifact for entry in record.superseded)]
    references += [artifact.verification.evidence or "" for artifact in artifacts]
    references += [effect.evidence or "" for effect in record.pending_effects.values()]
    references += [attempt.result or "" for attempt in record.failed_attempts]
    for reference in references:
        with suppress(ValueError):  # a reference may be anything
            yield _plain(reference)


class CallableProbe:
    """Asks the application's own callables, plain or async, for current sources and for unsettled effects, by kind.

    A callable that raises, gives something else, or takes longer than `timeout` seconds leaves its id out; the log
    says which, and nothing of the error's text. A plain one runs in a thread, where it isn't ended when it takes too
    long. `settled` asks for settled effects too, so that a contradiction shows.
    """

    def __init__(
        self,
        *,
        sources: Mapping[str, SourceCall] | None = None,
        effects: Mapping[str, EffectCall] | None = None,
        timeout: float = 30.0,
        settled: bool = False,
    ) -> None:
        if not (timeout > 0 and math.isfinite(timeout)):
            raise ConfigurationError("timeout is a number of seconds above 0")
        self._sources = dict(sources or {})
        self._effects = dict(effects or {})
        self._timeout = timeout
        self._settled = settled

    async def look(self, record: RestartRecord) -> SeenOutside:
        """What the callables say now, of what the record names."""
        gate = asyncio.Semaphore(_AT_ONCE)
        sources: dict[str, SeenSource | None] = {}
        effects: dict[str, SeenEffect] = {}

        async def ask(
            kind: str,
            id: str,
            call: Callable[..., Any],
            arguments: tuple[Any, ...],
            types: tuple[type, ...],
            into: dict[str, Any],
        ) -> None:
            async with gate:
                try:
                    async with asyncio.timeout(self._timeout):
                        answer = await called(call, *arguments)
                except (Exception, asyncio.CancelledError) as error:  # what fails must not hide what the others see
                    task = asyncio.current_task()
                    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                        raise
                    _log.warning("%s %s isn't seen: its callable raised %s", kind, id, type(error).__name__)
                    return
            if type(answer) not in types:
                _log.warning("%s %s isn't seen: its callable gave %s", kind, id, type(answer).__name__)
                return
            into[id] = answer

        asked = [
            ask("source", source_id, self._sources[source_id], (), (SeenSource, type(None)), sources)
            for source_id, source in record.sources.items()
            if source.nature == "current" and source_id in self._sources
        ]
        asked += [
            ask("effect", effect_id, self._effects[effect.kind], (effect_id, effect), (SeenEffect,), effects)
            for effect_id, effect in record.pending_effects.items()
            if effect.kind in self._effects and (self._settled or not effect.settled)
        ]
        await asyncio.gather(*asked)
        return SeenOutside(_in_order(sources, record.sources), _in_order(effects, record.pending_effects))


async def observe(record: RestartRecord, *probes: Probe, clock: Clock = system_clock) -> Observed:
    """What all probes see of what a record names; the time is that after the last look.

    Raises ConfigurationError where two probes don't see the same of one thing: neither of them decides.
    """
    seen: dict[str, dict[str, Any]] = {"files": {}, "unindexed": {}, "sources": {}, "effects": {}}
    for probe in probes:
        for kind, found in (await probe.look(record))._asdict().items():
            for name, what in found.items():
                if seen[kind].setdefault(name, what) != what:
                    raise ConfigurationError(f"two probes see different {kind} under {name}")
    return Observed(now=clock(), **seen)


def _in_order(seen: Mapping[str, _Seen], ids: Iterable[str]) -> dict[str, _Seen]:
    """In the record's order, whichever callable was the quickest."""
    return {name: seen[name] for name in ids if name in seen}
