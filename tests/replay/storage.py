"""Replays cases of batch reads and of the scoped view."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from taskstate import TaskStateError
from taskstate.storage import MemoryStorage, ScopedStorage, storage_get_many

from .notation import decode, encode, error


class LoggingStorage:
    """An adapter without any option, over a dict, that notes what it was asked."""

    def __init__(self, entries: Sequence[tuple[str, Any]] = ()) -> None:
        self.records = dict(entries)
        self.calls: list[list[Any]] = []

    async def get(self, key: str) -> Any:
        self.calls.append(["get", key])
        return self.records.get(key)

    async def set(self, key: str, value: Any) -> None:
        self.records[key] = value

    async def delete(self, key: str) -> None:
        self.records.pop(key, None)

    async def list(self, prefix: str) -> Any:
        self.calls.append(["list", prefix])
        return [key for key in self.records if key.startswith(prefix)]


class BatchStorage(LoggingStorage):
    """The same with a batch read, which maps a stored null to null as the original's may."""

    async def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        self.calls.append(["getMany", [*keys]])
        return {key: self.records[key] for key in keys if key in self.records}


def batch(case: dict[str, Any]) -> Any:
    return asyncio.run(_batch(case))


async def _batch(case: dict[str, Any]) -> Any:
    entries = [(key, decode(value)) for key, value in case["entries"]]
    match case["op"]:
        case "getMany":
            adapter = BatchStorage(entries) if case["adapterHasGetMany"] else LoggingStorage(entries)
            found = await storage_get_many(adapter, case["keys"])
            return encode(
                {"entries": [list(pair) for pair in found.items()], "size": len(found), "calls": adapter.calls}
            )
        case "adapter":
            memory = MemoryStorage()
            for key, value in entries:
                await memory.set(key, value)
            found = await storage_get_many(memory, case["keys"])
            gets = [[key, await memory.get(key)] for key in case["keys"]]
            listed = sorted(await memory.list(""))
            return {"entries": [list(pair) for pair in found.items()], "gets": gets, "listed": listed}
        case "scoped":
            adapter = LoggingStorage(entries)
            scoped = ScopedStorage(adapter, case["layerId"], case["scopeKey"])
            steps = []
            for step in case["ops"]:
                before = len(adapter.calls)
                try:
                    result = await _scoped(scoped, step)
                except TaskStateError as failure:
                    result = error(failure)
                steps.append({"result": result, "calls": adapter.calls[before:]})
            return {"steps": steps, "keys": list(adapter.records)}
        case other:
            raise AssertionError(f"unknown op {other}")


async def _scoped(scoped: ScopedStorage, step: dict[str, Any]) -> Any:
    match step["op"]:
        case "get":
            return await scoped.get(step["key"])
        case "set":
            return await scoped.set(step["key"], decode(step["value"]))
        case "delete":
            return await scoped.delete(step["key"])
        case "list":
            return await scoped.list(step["prefix"]) if "prefix" in step else await scoped.list()
        case "getMany":
            return [list(pair) for pair in (await scoped.get_many(step["keys"])).items()]
        case other:
            raise AssertionError(f"unknown op {other}")
