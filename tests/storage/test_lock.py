from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskstate.errors import StorageError
from taskstate.storage.lock import LOCK_FILE, folder_lock


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    handle = os.open(tmp_path, os.O_RDONLY)
    yield handle
    os.close(handle)


def test_two_holders_exclude_each_other_within_one_process(folder: int) -> None:
    with folder_lock(folder, "f", 1):
        began = time.monotonic()
        with pytest.raises(StorageError, match="locked by another process"), folder_lock(folder, "f", 0.05):
            pass
        assert 0.05 <= time.monotonic() - began < 1
    with folder_lock(folder, "f", 0):
        pass


def test_it_is_free_again_after_an_error(folder: int) -> None:
    with pytest.raises(KeyError), folder_lock(folder, "f", 0):
        raise KeyError
    with folder_lock(folder, "f", 0):
        pass


def test_a_lock_on_a_file_that_was_removed_is_not_taken_for_the_lock(folder: int, tmp_path: Path) -> None:
    held, freed = threading.Event(), threading.Event()

    def hold_a_removed_file() -> None:
        with folder_lock(folder, "f", 1):
            held.set()
            freed.wait()

    thread = threading.Thread(target=hold_a_removed_file)
    thread.start()
    held.wait()
    waited: list[bool] = []

    def wait() -> None:
        with folder_lock(folder, "f", 5):
            waited.append((tmp_path / LOCK_FILE).exists())
            with pytest.raises(StorageError), folder_lock(folder, "f", 0):
                waited.append(False)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.05)
    (tmp_path / LOCK_FILE).unlink()
    (tmp_path / LOCK_FILE).touch()
    freed.set()
    thread.join()
    waiting.join()
    assert waited == [True]


def test_a_lock_file_that_is_a_link_is_refused(folder: int, tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), folder_lock(folder, "f", 0):
        pass
    assert not (tmp_path / "elsewhere").exists()
