"""What the tests of probes and verifiers share: records whose artifacts are real files."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from taskstate.restart import RestartRecord, SeenFile
from taskstate.restart.probes import FileProbe, SeenFiles

NOBODY = 65_534


def seen(data: bytes) -> SeenFile:
    return SeenFile(sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def artifact(location: str, data: bytes = b"text", **fields: Any) -> dict[str, Any]:
    return {"location": location, **seen(data).model_dump(), **fields}


def record_of(*locations: str, data: bytes = b"text", verifier: str | None = None, **fields: Any) -> RestartRecord:
    """A record with a present unit u0, u1, ... and artifact a0, a1, ... for each location."""
    units = {
        f"u{index}": {"artifact": f"a{index}", "state": "present", **({"verifier": verifier} if verifier else {})}
        for index in range(len(locations))
    }
    given = {
        "task_id": "task",
        "objective": {"text": "Compare"},
        "artifacts": {f"a{index}": artifact(location, data) for index, location in enumerate(locations)},
        "completion_rule": {"units": units},
    }
    return RestartRecord.from_data({**given, **fields})


def put(root: Path, location: str, data: bytes = b"text") -> Path:
    path = root / location
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@contextmanager
def readable_by_all() -> Iterator[Path]:
    """A folder that any user may enter, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def without_privileges() -> Iterator[None]:
    """As a user whom file permissions hold back, which they don't the superuser."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def open_handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def look(root: Path, record: RestartRecord, **options: Any) -> SeenFiles:
    return asyncio.run(FileProbe(root, **options).look(record))
