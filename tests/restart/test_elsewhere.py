"""A task is found under its own id, by whatever process looks for it, wherever and whenever it is."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskstate.restart import Notes, RecordStore, change
from taskstate.storage import FileStorage

from .support import review

pytestmark = pytest.mark.once

_LOOK = """
import asyncio, sys
from taskstate.restart import RecordStore
from taskstate.storage import FileStorage
async def main():
    record = await RecordStore(FileStorage(sys.argv[1])).resume("supplier-review-22")
    print(record.phase, record.generation, record.state_version, record.sources["P1"].seen_at)
asyncio.run(main())
"""


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
def test_another_process_in_another_folder_and_time_zone_finds_the_task_as_it_was(tmp_path: Path, zone: str) -> None:
    seen_at = 1_762_063_200_000  # an hour that New York has twice
    sources = {**review().to_data()["sources"], "P1": {"version": 1, "seen_at": seen_at}}

    async def save() -> None:
        async with FileStorage(tmp_path / "states") as storage:
            store = RecordStore(storage)
            record = await store.create(review(sources=sources))
            await store.save(change(record, Notes(phase="reading")))

    asyncio.run(save())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    told = subprocess.run(
        [sys.executable, "-c", _LOOK, str(tmp_path / "states")],
        cwd=elsewhere,
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout.split() == ["reading", "2", "10", str(seen_at)]


def test_of_two_saves_at_one_time_the_version_tells_which_is_newer(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with FileStorage(tmp_path) as storage:
            store = RecordStore(storage, clock=lambda: 5)
            record = await store.create(review())
            for phase in ("first", "second"):
                record = await store.save(change(record, Notes(phase=phase)))
            assert ((await store.load(record.task_id)).phase, record.state_version) == ("second", 10)
            assert (await store.load_version(record.task_id, 9)).phase == "first"

    asyncio.run(scenario())
