from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from postgres.fixtures import Place
from taskstate.storage import FileStorage, MemoryStorage, PostgresStorage, SQLiteStorage, StorageAdapter

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(params=["memory", "file", "sqlite"])
def storage(request: pytest.FixtureRequest) -> str:
    """The name of each built-in storage that needs no server; some tests take a server as well."""
    return str(request.param)


@pytest.fixture
def open_storage(storage: str, place_on: Callable[..., Place], tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Opens that storage; each call gives another object on the same records (the same one in memory)."""
    memory = MemoryStorage()
    place = place_on(storage) if storage.startswith("postgres") else None
    connected: list[PostgresStorage] = []

    def opened() -> StorageAdapter:
        if place is not None:
            connected.append(PostgresStorage(place.conninfo, schema=place.schema))
            return connected[-1]
        if storage == "memory":
            return memory
        return FileStorage(tmp_path / "state") if storage == "file" else SQLiteStorage(tmp_path / "state" / "agent.db")

    yield opened
    for one in connected:  # a test may leave that to the garbage collector, and the server's fixture looks at once
        asyncio.run(one.close())


@pytest.fixture
def raw_bytes(storage: str, open_storage: Callable[[], Any], tmp_path: Path) -> Callable[[], bytes]:
    """All that the storage holds, as it is kept."""

    def read() -> bytes:
        if storage == "memory":
            return repr(open_storage()._records).encode()
        return b"".join(path.read_bytes() for path in sorted((tmp_path / "state").iterdir()) if path.is_file())

    return read


@pytest.fixture
def start() -> Any:
    """Starts a program of this folder; what still runs is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def run(program: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, str(PROGRAMS / program), *map(str, arguments)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **options)
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def finish(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., str]:
    """Runs a program to its end, and gives what it printed; it must succeed."""

    def run(program: str, *arguments: object, **options: Any) -> str:
        process = start(program, *arguments, **options)
        printed, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        return printed

    return run
