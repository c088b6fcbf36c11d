from __future__ import annotations

import asyncio

from taskstate.storage import MemoryStorage, ScopedStorage, StorageAdapter, SupportsGetMany


def test_keys_are_relative_to_the_scope() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        for key in ("layers/L/t/state", "layers/L/t/x", "layers/L/t2/state", "other"):
            await storage.set(key, key)
        scope = ScopedStorage(storage, "L", "t")
        assert await scope.get("state") == "layers/L/t/state"
        assert await scope.list() == ["state", "x"]
        assert await scope.list("s") == ["state"]
        assert await scope.get_many(["x", "state", "absent", "x"]) == {
            "x": "layers/L/t/x",
            "state": "layers/L/t/state",
        }
        await scope.set("new", {"a": 1})
        await scope.delete("x")
        assert await storage.list("") == ["layers/L/t/state", "layers/L/t2/state", "other", "layers/L/t/new"]

    asyncio.run(scenario())


def test_a_scope_is_itself_an_adapter() -> None:
    scope = ScopedStorage(MemoryStorage(), "L", "t")
    assert isinstance(scope, StorageAdapter)
    assert isinstance(scope, SupportsGetMany)
    assert repr(scope) == "ScopedStorage('layers/L/t/')"


def test_one_thread_never_lists_what_another_keeps() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        await ScopedStorage(storage, "L", "t/u").set("state", 1)
        await ScopedStorage(storage, "L", "__global__", scope="thread").set("state", 2)
        assert await ScopedStorage(storage, "L", "t").list() == []
        assert await ScopedStorage(storage, "L", "__global__").get("state") is None
        assert await ScopedStorage(storage, "L/t", "u").get("state") is None

    asyncio.run(scenario())


def test_a_key_that_looks_like_a_path_stays_in_the_scope() -> None:
    async def scenario() -> None:
        storage = MemoryStorage()
        scope = ScopedStorage(storage, "L", "..")
        await scope.set("../x", 1)
        assert await scope.get("../x") == 1
        assert await storage.list("") == ["layers/L/../../x"]

    asyncio.run(scenario())
