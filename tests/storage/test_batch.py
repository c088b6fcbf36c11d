from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from taskstate.storage import MemoryStorage, storage_get_many


class PlainAdapter:
    """An adapter from outside, with the four methods only; keeps what was asked of it."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.asked: list[Any] = []

    async def get(self, key: str) -> Any:
        self.asked.append(key)
        await asyncio.sleep(0)
        if key == "broken":
            raise ConnectionError(key)
        return self.values.get(key)

    async def set(self, key: str, value: Any) -> None:
        self.values[key] = value

    async def delete(self, key: str) -> None:
        self.values.pop(key, None)

    async def list(self, prefix: str) -> Any:
        return [key for key in self.values if key.startswith(prefix)]


class BatchAdapter(PlainAdapter):
    async def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        self.asked.append(keys)
        return {key: self.values[key] for key in keys if key in self.values}


VALUES = {"zero": 0, "empty": "", "no": False, "null": None, "list": []}
KEYS = ["list", "absent", "null", "zero", "no", "empty", "zero"]


def test_without_get_many_every_key_is_read_at_the_same_time() -> None:
    adapter = PlainAdapter(VALUES)
    found = asyncio.run(storage_get_many(adapter, KEYS))
    assert list(found.items()) == [("list", []), ("zero", 0), ("no", False), ("empty", "")]
    assert adapter.asked == KEYS


def test_with_get_many_all_is_asked_at_once_and_nulls_are_left_out() -> None:
    adapter = BatchAdapter(VALUES)
    found = asyncio.run(storage_get_many(adapter, KEYS))
    assert found == {"list": [], "zero": 0, "no": False, "empty": ""}
    assert adapter.asked == [KEYS]


@pytest.mark.parametrize("adapter", [PlainAdapter({}), BatchAdapter({})])
def test_no_keys_ask_for_nothing(adapter: PlainAdapter) -> None:
    assert asyncio.run(storage_get_many(adapter, [])) == {}
    assert adapter.asked == []


def test_a_failed_read_is_raised_when_all_reads_have_ended() -> None:
    adapter = PlainAdapter({"a": 1})

    async def scenario() -> None:
        with pytest.raises(ConnectionError):
            await storage_get_many(adapter, ["broken", "a", "b"])
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())
    assert adapter.asked == ["broken", "a", "b"]


def test_the_built_in_adapters_answer_in_the_order_asked() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        for key in ("a", "b", "c"):
            await storage.set(key, key)
        assert list(await storage_get_many(storage, ["c", "a", "b", "c"])) == ["c", "a", "b"]

    asyncio.run(scenario())
