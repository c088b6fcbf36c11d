"""A lock on a folder that holds between processes, and dies with the one that has it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..errors import StorageError
from .disk import FILE_MODE

if sys.platform != "win32":
    import fcntl

LOCK_FILE: Final = ".lock"

_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02  # seconds


@contextmanager
def folder_lock(folder: int, label: str, timeout: float) -> Iterator[None]:
    """Hold the lock of the folder with the handle `folder`.

    Waits up to `timeout` seconds, then raises StorageError. Two holders exclude each other also within one process.
    """
    handle = _acquire(folder, label, time.monotonic() + timeout)
    try:
        yield
    finally:
        # Unlocked by name: a forked child may have a copy of the handle, and closing ours would leave it locked.
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _acquire(folder: int, label: str, deadline: float) -> int:
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(LOCK_FILE, flags, FILE_MODE, dir_fd=folder)
        try:
            _wait(handle, label, deadline)
            if _is_named(folder, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # someone removed the file meanwhile: whoever comes now locks another one


def _wait(handle: int, label: str, deadline: float) -> None:
    # Asking again and again rather than waiting in the kernel, where nothing could end the wait.
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StorageError(label, "the folder is locked by another process") from None
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            return


def _is_named(folder: int, handle: int) -> bool:
    try:
        named = os.stat(LOCK_FILE, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(handle))
