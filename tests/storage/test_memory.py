from __future__ import annotations

import asyncio
import threading

import pytest

from taskstate.errors import ConfigurationError, StateTooLargeError
from taskstate.storage import MemoryStorage

pytestmark = pytest.mark.covers("memory")


def test_list_gives_the_order_in_which_keys_were_first_set() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        for key in ("b", "10", "a", "9"):
            await storage.set(key, 1)
        await storage.set("10", 2)
        assert await storage.list("") == ["b", "10", "a", "9"]
        await storage.delete("b")
        await storage.set("b", 1)
        assert await storage.list("") == ["10", "a", "9", "b"]

    asyncio.run(scenario())


def test_a_stored_null_is_listed() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        await storage.set("null", None)
        assert await storage.list("") == ["null"]

    asyncio.run(scenario())


def test_a_value_above_the_limit_is_refused_and_the_old_one_stays() -> None:
    async def scenario() -> None:
        storage = MemoryStorage(max_bytes=100)
        await storage.set("k", "old")
        with pytest.raises(StateTooLargeError):
            await storage.set("k", "x" * 100)
        assert await storage.get("k") == "old"

    asyncio.run(scenario())
    with pytest.raises(ConfigurationError):
        MemoryStorage(max_bytes=0)


def test_values_stay_after_close() -> None:
    async def scenario() -> None:
        async with MemoryStorage() as storage:
            await storage.set("k", 1)
        assert await storage.get("k") == 1

    asyncio.run(scenario())


def test_writers_in_several_threads_lose_nothing() -> None:
    storage = MemoryStorage()

    async def count() -> None:
        for _ in range(200):
            while True:
                value, version = await storage.get_versioned("k")
                try:
                    await storage.compare_and_set("k", (value or 0) + 1, version)
                    break
                except Exception:
                    continue

    threads = [threading.Thread(target=lambda: asyncio.run(count())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asyncio.run(storage.get("k")) == 1600
