"""Making files and folders that only their owner can read, and making them last."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def sync(handle: int) -> None:
    """Wait until a file or folder is on the disk itself."""
    if sys.platform == "darwin":
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # there, fsync only hands the data to the drive
    else:
        os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    if sys.platform == "win32":
        return  # folders have no handle to sync there
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, as far as they are missing; an existing one keeps its mode."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(FOLDER_MODE, exist_ok=True)
        sync_folder(new.parent)


def write_all(handle: int, data: bytes) -> None:
    """Write every byte: the system may take fewer at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
