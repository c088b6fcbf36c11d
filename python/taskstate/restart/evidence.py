"""Where the findings of verifiers are kept: a file for each, never changed."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import Final

from ..errors import StorageError
from ..ids import random_id
from ..storage.disk import FILE_MODE, FOLDER_MODE, sync, write_all
from .files import OPEN, Root, told

EVIDENCE: Final = "evidence"
"""The folder below a root."""


def write_evidence(root: Root, text: bytes) -> str:
    """Keep a finding as a file named after its hash, whole or not at all; its location. Raises StorageError."""
    name = f"{hashlib.sha256(text).hexdigest()}.json"
    location = f"{EVIDENCE}/{name}"
    try:
        with suppress(FileExistsError):
            os.mkdir(EVIDENCE, FOLDER_MODE, dir_fd=root.handle)
            sync(root.handle)
        folder = os.open(EVIDENCE, OPEN | os.O_DIRECTORY, dir_fd=root.handle)  # no link: it could lead out
        try:
            _write(folder, f".new-{random_id()}", name, text)
        finally:
            os.close(folder)
    except OSError as error:
        raise StorageError(location, f"can't be written: {told(error)}") from None
    return location


def _write(folder: int, temporary: str, name: str, text: bytes) -> None:
    file = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE, dir_fd=folder
    )
    try:
        try:
            write_all(file, text)
            sync(file)
        finally:
            os.close(file)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    sync(folder)
