"""What the tests of the store and of effects share: storages, programs in processes of their own, a task."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from taskstate.errors import ConflictError
from taskstate.restart import RestartRecord, change
from taskstate.restart.effects import Write, effect
from taskstate.restart.store import RecordStore
from taskstate.restart.transitions import Notes
from taskstate.storage import FileStorage, MemoryStorage, SQLiteStorage

PROGRAMS = Path(__file__).parent / "programs"
ALL = ["memory", "file", "sqlite"]
DISKS = ["file", "sqlite"]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


HASH = sha("e")


def open_storage(kind: str, root: Path) -> Any:
    """A storage of this kind; those on disk have the same records whenever they are opened with one root."""
    match kind:
        case "memory":
            return MemoryStorage()
        case "file":
            return FileStorage(root / "state")
        case _:
            return SQLiteStorage(root / "state" / "agent.db")


def task(task_id: str = "t", **fields: Any) -> RestartRecord:
    """A task that may send mail."""
    data = {"task_id": task_id, "objective": {"text": "Tell the firm"}, "authorized": [{"kind": "mail"}], **fields}
    return RestartRecord.from_data(data)


def noted(record: RestartRecord, phase: str) -> RestartRecord:
    return change(record, Notes(phase=phase))


def mail(store: RecordStore, record: RestartRecord, effect_id: str = "e", **fields: str) -> Write:
    """A mail, as an effect."""
    told = {
        "kind": "mail",
        "target": "firm",
        "idempotency_key": f"key-{effect_id}",
        "request_hash": sha(effect_id),
        **fields,
    }
    return effect(store, record, effect_id, **told)


async def until_saved(store: RecordStore, task_id: str, work: Callable[[RestartRecord], Awaitable[Any]]) -> None:
    """Do `work` with the stored record, again whenever somebody else saved first."""
    while True:
        try:
            await work(await store.load(task_id))
            return
        except ConflictError:
            continue


def keeps_earlier_version(method: str, key: str) -> bool:
    """Whether this call is the first of the two writes of a save."""
    return method == "compare_and_set" and key.startswith("restart/versions/")


class Wrapped:
    """A storage that calls `before` with the name of a method and its key; what that raises is raised."""

    def __init__(self, inner: Any, before: Callable[[str, str], Awaitable[None]]) -> None:
        self._inner = inner
        self._before = before

    async def get(self, key: str) -> Any:
        await self._before("get", key)
        return await self._inner.get(key)

    async def set(self, key: str, value: Any) -> None:
        await self._before("set", key)
        await self._inner.set(key, value)

    async def delete(self, key: str) -> None:
        await self._before("delete", key)
        await self._inner.delete(key)

    async def list(self, prefix: str) -> Any:
        await self._before("list", prefix)
        return await self._inner.list(prefix)

    async def get_versioned(self, key: str) -> Any:
        await self._before("get_versioned", key)
        return await self._inner.get_versioned(key)

    async def compare_and_set(self, key: str, value: Any, expected: str | None) -> str:
        await self._before("compare_and_set", key)
        return await self._inner.compare_and_set(key, value, expected)  # type: ignore[no-any-return]

    async def compare_and_delete(self, key: str, expected: str | None) -> None:
        await self._before("compare_and_delete", key)
        await self._inner.compare_and_delete(key, expected)


@contextmanager
def started(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A program of the folder `programs` in a process of its own, which is killed at the end if it still runs."""
    command = [sys.executable, str(PROGRAMS / program), *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
