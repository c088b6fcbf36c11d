from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postgres.fixtures import Place
from taskstate.storage import FileStorage, PostgresStorage, SQLiteStorage

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(params=["file", "sqlite"])
def storage(request: pytest.FixtureRequest) -> str:
    """The name of each storage that keeps its records in files. Some tests take the servers as well."""
    return str(request.param)


@pytest.fixture
def storage_place(storage: str, place_on: Callable[..., Place]) -> Place | None:
    """Where the records are, for a storage on a server."""
    return place_on(storage) if storage.startswith("postgres") else None


@pytest.fixture
def open_storage(storage: str, storage_place: Place | None, tmp_path: Path) -> Callable[..., Any]:
    """Opens that storage; each call gives another object on the same records."""

    def opened(**options: int) -> FileStorage | SQLiteStorage | PostgresStorage:
        if storage_place is not None:
            return PostgresStorage(storage_place.conninfo, schema=storage_place.schema, **options)  # type: ignore[arg-type]
        if storage == "file":
            return FileStorage(tmp_path / "state", **options)
        return SQLiteStorage(tmp_path / "state" / "agent.db", **options)

    return opened


@pytest.fixture
def start(storage: str, storage_place: Place | None, tmp_path: Path) -> Any:
    """Starts a program of this folder on that storage; the processes that still run are killed at the end."""
    started: list[subprocess.Popen[str]] = []
    env = dict(os.environ)
    if storage_place is not None:
        env |= {"TEST_CONNINFO": storage_place.conninfo, "TEST_SCHEMA": storage_place.schema}

    def run(program: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(PROGRAMS / program), storage, str(tmp_path), *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env)
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

    def run(program: str, *arguments: str, timeout: float = 120) -> str:
        process = start(program, *arguments)
        printed, errors = process.communicate(timeout=timeout)
        assert process.returncode == 0, errors
        return printed

    return run


@pytest.fixture
def hold_lock(storage: str, storage_place: Place | None, tmp_path: Path) -> Any:
    """Keeps other writers out for some seconds, as a process that is slow would; the block goes on at once."""

    @contextmanager
    def hold(seconds: float) -> Iterator[None]:
        taken = threading.Event()

        def work() -> None:
            with _locked(storage, storage_place, tmp_path / "state"):
                taken.set()
                time.sleep(seconds)

        thread = threading.Thread(target=work)
        thread.start()
        taken.wait()
        yield
        thread.join()

    return hold


@contextmanager
def _locked(storage: str, place: Place | None, folder: Path) -> Iterator[None]:
    if place is not None:
        with psycopg.connect(place.conninfo) as server:
            server.execute(f"LOCK TABLE {place.schema}.taskstate_storage IN EXCLUSIVE MODE")
            yield
    elif storage == "file":
        with (folder / ".lock").open("r+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
    else:
        connection = sqlite3.connect(folder / "agent.db", isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
        connection.close()
