from __future__ import annotations

import os
import stat
from pathlib import Path

from taskstate.storage.disk import make_folder, write_all


def test_missing_folders_are_made_for_their_owner_only_and_others_keep_their_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    for path, mode in ((tmp_path, 0o755), (tmp_path / "a", 0o700), (tmp_path / "a" / "b", 0o700)):
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_every_byte_is_written_to_a_file_that_takes_few_at_a_time() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    assert os.fpathconf(writing, "PC_PIPE_BUF") < 10_000
    os.set_blocking(writing, True)
    import threading

    received = bytearray()

    def read() -> None:
        while some := os.read(reading, 1000):
            received.extend(some)

    reader = threading.Thread(target=read)
    reader.start()
    data = bytes(range(256)) * 4000
    write_all(writing, data)
    os.close(writing)
    reader.join()
    os.close(reading)
    assert received == data
