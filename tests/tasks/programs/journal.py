"""What happened in all processes, one JSON line each, appended to one file; and gates that hold them up."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

_folders: list[Path] = []  # the one in use is the last


def begin(folder: Path) -> None:
    """Write to this folder from now on."""
    _folders.append(folder)


def note(what: str, **facts: Any) -> None:
    """Append a line; it is there, and whole, when this returns."""
    line = json.dumps({"what": what, "pid": os.getpid(), "at": time.monotonic(), **facts}) + "\n"
    file = os.open(_folders[-1] / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def read(folder: Path) -> list[dict[str, Any]]:
    """All lines."""
    path = folder / "journal"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_open(gate: str) -> bool:
    """Whether a gate was opened."""
    return (_folders[-1] / f"gate-{gate}").exists()


def open_gate(folder: Path, gate: str) -> None:
    """Let those pass who wait at a gate."""
    (folder / f"gate-{gate}").touch()


async def passed(gate: str) -> None:
    """Wait at a gate."""
    while not is_open(gate):  # noqa: ASYNC110 - another process opens it
        await asyncio.sleep(0.005)


def passed_by_thread(gate: str) -> None:
    """Wait at a gate, in a thread."""
    while not is_open(gate):
        time.sleep(0.005)
