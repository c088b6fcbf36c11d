"""State in a folder of JSON files, one a record, for those who want to see and copy them."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from .. import core
from ..errors import ConfigurationError
from .engine import EngineStorage
from .folder import Folder


class FileStorage(EngineStorage):
    """One file a record in `folder`, each replaced as a whole, so that a crash leaves the old or the new one.

    Folder and files are created when first needed, readable by their owner only; a write is on the disk
    when it returns. Any string is a key, whatever the file system makes of names. A file that is no
    record is left alone; a record that is a symbolic link is refused. Writers of all processes take
    turns through the file `.lock`; one that waits longer than `busy_timeout` milliseconds raises
    StorageError. `max_bytes` limits one value. Safe to use from several threads, event loops and
    processes, and across forks; a pickle of it is a storage on the same folder. Needs POSIX file locks.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        busy_timeout: int = 10_000,
        max_bytes: int = core.DEFAULT_MAX_BYTES,
    ) -> None:
        if sys.platform == "win32":
            raise ConfigurationError("FileStorage needs POSIX file locks; use SQLiteStorage on Windows")
        self.folder = Path(folder).absolute()
        self._options = {"busy_timeout": busy_timeout, "max_bytes": max_bytes}
        super().__init__(Folder(self.folder, busy_timeout), "file", max_bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.folder, **self._options), ()

    def __repr__(self) -> str:
        return f"FileStorage({str(self.folder)!r})"
