"""Writers that are killed, disks that are full: what is left is the old value or the new one."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postgres import servers
from taskstate.errors import CorruptRecordError

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.mark.parametrize("start_with", ["first", "later"])
def test_a_writer_killed_at_any_line_leaves_the_old_or_the_new_value(
    finish: Callable[..., str], start_with: str
) -> None:
    found = json.loads(finish("kill_at_each_line.py", start_with))
    assert found["steps"] > 80
    assert found["old"] > 20
    assert found["new"] > 5


@pytest.mark.parametrize("storage", ["file", "sqlite", *servers()], indirect=True)
def test_a_writer_killed_at_any_moment_has_lost_nothing_that_it_reported(
    start: Start, open_storage: Callable[..., Any]
) -> None:
    async def left() -> Any:
        async with open_storage() as storage:
            return await storage.get("k")

    number = 0
    for attempt in range(8):
        writer = start("write_until_killed.py", str(number))
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.02 + 0.013 * attempt)
        writer.kill()
        reported = [int(line) for line in writer.communicate()[0].splitlines()]
        value = asyncio.run(left())
        assert value == {"number": value["number"], "text": f"{value['number']}," * 3000}
        assert value["number"] >= max(reported, default=number)
        number = value["number"] + 1


def test_a_full_disk_fails_the_write_and_nothing_else(finish: Callable[..., str]) -> None:
    # Reported of other libraries as can1357/oh-my-pi#8596, aaif-goose/goose#2529 and github/copilot-cli#4098.
    assert finish("disk_full.py") == "survived\n"


def test_a_value_that_cannot_be_stored_leaves_the_files_as_they_were(
    open_storage: Callable[..., Any], tmp_path: Path
) -> None:
    # Reported of another library as microsoft/autogen#6793: the good file was cut off at the first datetime.
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (tmp_path / "state").iterdir()}

    async def scenario() -> None:
        async with open_storage() as storage:
            value: dict[str, Any] = {"rows": [{"text": "x" * 1000} for _ in range(1000)]}
            await storage.set("k", value)
            before = files()
            value["rows"][-1]["when"] = object()
            with pytest.raises(ValueError, match=r"^value\.rows\[999\]\.when: object is not a JSON value$"):
                await storage.set("k", value)
            assert files() == before

    asyncio.run(scenario())


def test_one_damaged_record_leaves_the_others_usable(
    open_storage: Callable[..., Any], storage: str, damage: Any
) -> None:
    # Reported of other libraries as cline/cline#9631.
    async def scenario() -> None:
        keys = [f"k{number}" for number in range(10)]
        async with open_storage() as opened:
            for key in keys:
                await opened.set(key, {"key": key})
        damage("k3")
        async with open_storage() as opened:
            assert sorted(await opened.list("k")) == keys
            for key in keys:
                if key != "k3":
                    assert await opened.get(key) == {"key": key}
            for call in (opened.get("k3"), opened.get_many(keys), opened.get_versioned("k3")):
                with pytest.raises(CorruptRecordError, match=r"^k3: ") as caught:
                    await call
                assert caught.value.key == "k3"
            await opened.set("k4", "still writable")
            await opened.set("k3", "repaired")
            assert await opened.get("k3") == "repaired"

    asyncio.run(scenario())


@pytest.fixture(params=["empty", "cut", "not text", "not JSON", "NaN", "large integer"])
def damage(request: pytest.FixtureRequest, storage: str, tmp_path: Path) -> Callable[[str], None]:
    """Damages a record behind the storage's back."""
    texts = {
        "empty": b"",
        "cut": b'{"key": "k',
        "not text": b"\x80\x04K\x01.",
        "not JSON": b"{'key': 1}",
        "NaN": b"NaN",
        "large integer": b"[18446744073709551616]",
    }
    text = texts[request.param]

    def damage_file(key: str) -> None:
        file = tmp_path / "state" / f"k-{key}.json"
        written = file.read_bytes()
        file.write_bytes(written[: len(written) // 2] if request.param == "cut" else text)

    def damage_row(key: str) -> None:
        connection = sqlite3.connect(tmp_path / "state" / "agent.db")
        with connection:
            done = connection.execute("UPDATE taskstate_storage SET value = ? WHERE key = ?", (text, key.encode()))
        assert done.rowcount == 1
        connection.close()

    return damage_file if storage == "file" else damage_row
