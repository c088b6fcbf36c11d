"""Search a folder for files."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator

from ..errors import StorageError
from .files import OPEN, Root, is_text, told

_log = logging.getLogger(__name__)


class Search:
    """The locations of all ordinary files below a root that aren't `ignored`, sorted; no link is followed.

    StorageError where there is more than the bounds allow: a search that was cut short would find nothing amiss.
    """

    def __init__(self, root: Root, ignored: Callable[[str], bool], max_entries: int, max_depth: int) -> None:
        self._root = root
        self._ignored = ignored
        self._max_entries = max_entries
        self._max_depth = max_depth
        self._counted = 0

    def __iter__(self) -> Iterator[str]:
        self._counted = 0
        return self._walk(self._root.handle, "", 1)

    def _walk(self, folder: int, above: str, depth: int) -> Iterator[str]:
        for name, is_folder in self._entries(folder, above):
            if not is_folder:
                yield above + name
                continue
            if depth == self._max_depth:
                raise StorageError(
                    self._root.path.name, f"more than {self._max_depth} folders deep: ignore some, or allow more"
                )
            try:
                below = os.open(name, OPEN | os.O_DIRECTORY, dir_fd=folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                _log.warning("a folder can't be searched: %s", told(error))
                continue
            try:
                yield from self._walk(below, f"{above}{name}/", depth + 1)
            finally:
                os.close(below)

    def _entries(self, folder: int, above: str) -> list[tuple[str, bool]]:
        """The files and folders in a folder, and which of them are folders."""
        entries = []
        with os.scandir(folder) as scanned:
            for entry in scanned:
                location = above + entry.name
                if self._ignored(location):
                    continue
                if not is_text(location):
                    _log.warning("a file or folder isn't looked at: its name can't stand in a record")
                    continue
                self._counted += 1
                if self._counted > self._max_entries:
                    raise StorageError(
                        self._root.path.name, f"more than {self._max_entries} entries: ignore some, or allow more"
                    )
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder or entry.is_file(follow_symlinks=False):
                    entries.append((entry.name, is_folder))
        return sorted(entries)
