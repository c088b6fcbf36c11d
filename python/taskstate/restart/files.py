"""Looking at the files below a folder without leaving it: the blocking half of the probes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from ..core.limits import BLANKS
from ..errors import StorageError
from .observed import SeenFile

_CHUNK: Final = 1 << 20
_ATTEMPTS: Final = 3  # at a file that changes while it is read
_LINKS: Final = 40  # along one location, as the system itself allows
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
OPEN: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""How anything is opened to read: no link is followed, and no pipe waited for."""


class Found(NamedTuple):
    """A file as it is now, and its location without the links along it."""

    seen: SeenFile
    real: str


class _Stopped(Exception):
    """Whoever asked was cancelled; nobody hears of it."""


def is_url(location: str) -> bool:
    """Whether a location is a URL, so that it names nothing below a root."""
    return _URL.match(location) is not None


def names_along(location: str) -> tuple[str, ...]:
    """The names along a location; ValueError, with the reason, where it can't be one below a root."""
    names = location.split("/")
    if is_url(location):
        raise ValueError("is a URL")
    if location.startswith("/"):
        raise ValueError("is an absolute path, not one below the root")
    if ".." in names:
        raise ValueError("leaves the root")
    if "\0" in location or not is_text(location):
        raise ValueError("holds what can't stand in a name")
    along = tuple(name for name in names if name not in ("", "."))
    if not along:
        raise ValueError("names no file")
    return along


class Root:
    """An open folder, of which only what lies below is ever opened. Everything is taken relative to its handle.

    StorageError where it isn't there: a disk that isn't mounted must not look like lost work.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        try:
            self.handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise StorageError(path.name, f"the root can't be opened: {told(error)}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)

    def look(self, location: str, stop: threading.Event) -> Found | None:
        """The file at a location; None where there is none.

        StorageError where that can't be told: what is there can't be read, is no ordinary file, lies behind a link
        out of the root, or keeps changing.
        """
        for _ in range(_ATTEMPTS):
            try:
                names = names_along(location)
                found = self._hashed(names, stop)
                if found is None or _identity(self._status(names)) == found[1]:
                    return None if found is None else found[0]
            except OSError as error:
                raise StorageError(location, f"can't be read: {told(error)}") from None
            except ValueError as error:
                raise StorageError(location, str(error)) from None
        raise StorageError(location, "keeps changing while it is read")

    def read(self, location: str) -> bytes | None:
        """The bytes at a location; None where there is no file. StorageError as with `look`."""
        try:
            opened = self._open(names_along(location))
            if opened is None:
                return None
            with os.fdopen(opened[0], "rb") as file:
                return file.read()
        except OSError as error:
            raise StorageError(location, f"can't be read: {told(error)}") from None
        except ValueError as error:
            raise StorageError(location, str(error)) from None

    def _hashed(self, names: Sequence[str], stop: threading.Event) -> tuple[Found, tuple[int, ...] | None] | None:
        opened = self._open(names)
        if opened is None:
            return None
        handle, real = opened
        try:
            status = os.fstat(handle)
            sha256, size = _digest(handle, status.st_size, stop)
        finally:
            os.close(handle)
        whole = size == status.st_size  # the times of a file may be too coarse to tell that it grew
        return Found(SeenFile(sha256=sha256, size=size), real), _identity(status) if whole else None

    def _status(self, names: Sequence[str]) -> os.stat_result | None:
        opened = self._open(names)
        if opened is None:
            return None
        try:
            return os.fstat(opened[0])
        finally:
            os.close(opened[0])

    def _open(self, names: Sequence[str]) -> tuple[int, str] | None:
        """A handle of an ordinary file, and its location without links; ValueError for what isn't one below the root.

        Each name is opened relative to the folder before it, so that no link that is put there meanwhile leads out.
        """
        ahead = list(reversed(names))
        behind: list[tuple[str, int]] = []  # the folders that were entered
        links = 0
        try:
            while ahead:
                name = ahead.pop()
                if name == "..":
                    if not behind:
                        raise ValueError("lies behind a link out of the root")
                    os.close(behind.pop()[1])
                    continue
                folder = behind[-1][1] if behind else self.handle
                try:
                    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                    if stat.S_ISLNK(mode):
                        links += 1
                        if links > _LINKS:
                            raise ValueError("lies behind too many links")
                        target = os.readlink(name, dir_fd=folder)
                        if target.startswith("/"):
                            target = self._below(target)
                            _close(behind)
                        ahead += [part for part in reversed(target.split("/")) if part not in ("", ".")]
                    elif stat.S_ISDIR(mode):
                        behind.append((name, os.open(name, OPEN | os.O_DIRECTORY, dir_fd=folder)))
                    elif ahead:
                        return None  # what is there is no folder, so that nothing is below it
                    elif not stat.S_ISREG(mode):
                        break
                    else:
                        return _ordinary(name, folder), "/".join([*(entered for entered, _ in behind), name])
                except FileNotFoundError:
                    return None
            raise ValueError("isn't an ordinary file")
        finally:
            _close(behind)

    def _below(self, target: str) -> str:
        """An absolute path as one below the root."""
        for base in (str(self.path), os.path.realpath(self.path)):
            if target == base or target.startswith(base.rstrip("/") + "/"):
                return target[len(base) :]
        raise ValueError("lies behind a link out of the root")


def _ordinary(name: str, folder: int) -> int:
    handle = os.open(name, OPEN, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):  # it was put there a moment ago
        os.close(handle)
        raise ValueError("isn't an ordinary file")
    return handle


def _close(behind: list[tuple[str, int]]) -> None:
    while behind:
        os.close(behind.pop()[1])


def _digest(handle: int, size: int, stop: threading.Event) -> tuple[str, int]:
    """The hash and the length of a file that had `size` bytes; of one that grows meanwhile no more than a bit."""
    digest = hashlib.sha256()
    buffer = bytearray(min(_CHUNK, size + 1))
    view = memoryview(buffer)
    taken = 0
    while taken <= size and (count := os.readv(handle, [buffer])):
        if stop.is_set():
            raise _Stopped
        digest.update(view[:count])
        taken += count
    return digest.hexdigest(), taken


def _identity(status: os.stat_result | None) -> tuple[int, ...]:
    """What is another one when a file was replaced or written to."""
    if status is None:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_text(location: str) -> bool:
    """Whether a record can hold it: a name that isn't UTF-8 comes as a text with lone surrogates, which is no JSON."""
    return bool(location.strip(BLANKS)) and not any(0xD800 <= ord(char) < 0xE000 for char in location)


def told(error: OSError) -> str:
    """What went wrong, without a path."""
    return error.strerror or type(error).__name__
