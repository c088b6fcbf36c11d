"""Records in a folder of files: the blocking half of `FileStorage`."""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from ..errors import ConflictError, StorageError
from ..ids import random_id
from .disk import FILE_MODE, make_folder, sync, write_all
from .engine import ANY, Expected, Record
from .filenames import file_name, is_hashed, key_of
from .lock import folder_lock
from .recordfile import pack, unpack, unpack_any, unpack_head
from .worker import Outcome, attempt

_log = logging.getLogger(__name__)

_TEMPORARY: Final = ".new-"


class Folder:
    """Names are taken relative to an open handle of the folder, so that it can't be swapped meanwhile."""

    def __init__(self, path: Path, busy_timeout: int) -> None:
        self._path = path
        self._timeout = busy_timeout / 1000
        self._handle = -1  # of the folder, during write_group only
        self._cleaned = False

    def load(self, keys: Sequence[str]) -> list[Record | None]:
        """The record of each of `keys`; each is whole, but they need not be of the same moment."""
        with self._reading() as handle:
            return [None if handle is None else _load(handle, key) for key in keys]

    def names(self, prefix: str) -> list[str]:
        """The keys that start with `prefix`.

        A damaged record that alone knew its key is left out, and the log names its file.
        """
        with self._reading() as handle:
            keys = [] if handle is None else [_key_in(handle, name) for name in os.listdir(handle)]
        return [key for key in keys if key is not None and key.startswith(prefix)]

    def put(self, key: str, text: bytes, expected: Expected) -> str:
        """Replace the file of `key` as a whole, within `write_group`; the new version."""
        self._expect(key, expected)
        record = Record(text, random_id())
        temporary = _TEMPORARY + random_id()
        with _reporting(key):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(temporary, flags, FILE_MODE, dir_fd=self._handle)
            try:
                try:
                    write_all(file, pack(key, record))
                    sync(file)
                finally:
                    os.close(file)
                os.rename(temporary, file_name(key), src_dir_fd=self._handle, dst_dir_fd=self._handle)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=self._handle)
                raise
        return record.version

    def drop(self, key: str, expected: Expected) -> None:
        """Remove the file of `key`, within `write_group`."""
        if expected is not ANY:
            self._expect(key, expected)
        with _reporting(key), suppress(FileNotFoundError):
            os.unlink(file_name(key), dir_fd=self._handle)

    def write_group(self, works: Sequence[Callable[[], Any]]) -> list[Outcome]:
        """Do all `works` while other writers wait, then make the new names last together."""
        with _reporting(self._path.name):
            make_folder(self._path)
            self._handle = _open_folder(self._path)
            try:
                with folder_lock(self._handle, self._path.name, self._timeout):
                    self._clean()
                    outcomes = [attempt(work) for work in works]
                    sync(self._handle)
            finally:
                os.close(self._handle)
                self._handle = -1
        return outcomes

    def close(self) -> None:
        """Nothing stays open between two calls."""
        self._cleaned = False

    @contextmanager
    def _reading(self) -> Iterator[int | None]:
        """A handle of the folder; None if there is no folder yet."""
        with _reporting(self._path.name):
            try:
                handle = _open_folder(self._path)
            except FileNotFoundError:
                yield None
                return
            try:
                yield handle
            finally:
                os.close(handle)

    def _clean(self) -> None:
        """Remove what killed writers left: with the lock held, no temporary file is in use."""
        if not self._cleaned:
            for name in os.listdir(self._handle):
                if name.startswith(_TEMPORARY):
                    os.unlink(name, dir_fd=self._handle)
                    _log.info("removed the unfinished file of a writer that was killed")
            self._cleaned = True

    def _expect(self, key: str, expected: Expected) -> None:
        """Raise ConflictError unless the record is at `expected`, and StorageError if it is no ordinary file."""
        with _reporting(key):
            file = _open_record(self._handle, key)
            if file is None:
                version = None
            else:
                with file:
                    if expected is ANY:
                        return
                    head = unpack_head(line := file.readline())
                    version = head[1] if head and head[0] == key else unpack(line + file.read(), key).version
        if expected not in (ANY, version):
            raise ConflictError(key, "is not at the expected version")


def _open_folder(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _open_record(folder: int, key: str, name: str | None = None) -> BinaryIO | None:
    """The file of a record, to read; None if there is none. Only an ordinary file is opened: no link, no pipe."""
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(name or file_name(key), flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StorageError(key, "the file of the record is a symbolic link") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise StorageError(key, "the record is not an ordinary file")
    return os.fdopen(handle, "rb")


def _load(folder: int, key: str) -> Record | None:
    with _reporting(key):
        file = _open_record(folder, key)
        if file is None:
            return None
        with file:
            return unpack(file.read(), key)


def _key_in(folder: int, name: str) -> str | None:
    """The key of the record in the file `name`; None if that is no record."""
    if not is_hashed(name):
        return key_of(name)
    try:
        file = _open_record(folder, name, name)
        if file is None:
            return None
        with file:
            head = unpack_head(line := file.readline())
            key = head[0] if head else unpack_any(line + file.read(), name)[0]
    except (StorageError, OSError) as error:
        _log.warning("%s holds no readable record: %s", name, type(error).__name__)
        return None
    return key if file_name(key) == name else None


@contextmanager
def _reporting(label: str) -> Iterator[None]:
    """Turn the errors of the system into StorageError, without paths in them."""
    try:
        yield
    except OSError as error:
        raise StorageError(label, error.strerror or type(error).__name__) from error
