"""The conformance suite for storage adapters."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest

from .. import core
from ..errors import InvalidValueError
from ..storage import ScopedStorage, StorageAdapter, SupportsGetMany, SupportsVersions, storage_get_many
from .samples import BAD_KEYS, BAD_VALUES, GOOD_VALUES, KEYS
from .storage_options import GetManyConformance, PersistenceConformance, VersionsConformance
from .suite import StorageSuite

_OPTIONS = ((GetManyConformance, SupportsGetMany), (VersionsConformance, SupportsVersions))


class StorageConformance(StorageSuite):
    """What every storage adapter must do. Subclass it in a test module and say how an adapter is made::

        class TestMyStorage(StorageConformance, GetManyConformance, PersistenceConformance):
            def make_storage(self, tmp_path):
                return MyStorage(tmp_path / "state")

    What an adapter can do beyond the four methods is declared by inheriting the suite of that option. A test
    here fails if it can do less than is declared, and also if it can do more, so nothing goes untested.
    """

    def test_it_has_the_four_methods_and_the_options_that_are_declared(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            assert isinstance(storage, StorageAdapter)
            for suite, protocol in _OPTIONS:
                assert isinstance(storage, protocol) == isinstance(self, suite), (
                    f"inherit {suite.__name__} exactly if the adapter has the methods of {protocol.__name__}"
                )

        self.use(tmp_path, scenario)

    def test_what_it_keeps_after_it_was_closed_is_what_is_declared(self, tmp_path: Path) -> None:
        self.use(tmp_path, lambda storage: storage.set("k", 1))
        kept = self.use(tmp_path, lambda storage: storage.get("k"))
        assert (kept == 1) == isinstance(self, PersistenceConformance), (
            "inherit PersistenceConformance exactly if a second adapter reads what the first one wrote"
        )

    def test_an_absent_key_is_none(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            assert await storage.get("k") is None
            assert await storage.list("") == []

        self.use(tmp_path, scenario)

    @pytest.mark.parametrize("name", GOOD_VALUES)
    def test_a_value_comes_back_equal_and_of_the_same_type(self, tmp_path: Path, name: str) -> None:
        async def scenario(storage: Any) -> None:
            value = GOOD_VALUES[name]
            await storage.set("k", value)
            found = await storage.get("k")
            assert core.equal(found, value)
            if isinstance(value, dict):
                assert list(found) == list(value)

        self.use(tmp_path, scenario)

    def test_a_tuple_comes_back_as_a_list(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            await storage.set("k", {"a": (1, (2,))})
            assert core.equal(await storage.get("k"), {"a": [1, [2]]})

        self.use(tmp_path, scenario)

    def test_a_stored_null_reads_as_none(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            await storage.set("k", 1)
            await storage.set("k", None)
            assert await storage.get("k") is None

        self.use(tmp_path, scenario)

    @pytest.mark.parametrize("name", BAD_VALUES)
    def test_what_is_not_json_data_is_refused_and_changes_nothing(self, tmp_path: Path, name: str) -> None:
        # Reported of other libraries as crewAIInc/crewAI#7358, pydantic/pydantic-ai#8367,
        # langchain-ai/langgraph#8388, simonsobs/ocs#300 and agentscope-ai/agentscope#1117.
        async def scenario(storage: Any) -> None:
            await storage.set("k", {"old": True})
            for bad in (BAD_VALUES[name], {"a": [{"b": BAD_VALUES[name]}]}):
                with pytest.raises(InvalidValueError):
                    await storage.set("k", bad)
                with pytest.raises(InvalidValueError):
                    await storage.set("new", bad)
            assert await storage.get("k") == {"old": True}
            assert await storage.list("") == ["k"]

        self.use(tmp_path, scenario)

    @pytest.mark.parametrize("name", BAD_KEYS)
    def test_what_is_not_a_key_is_refused(self, tmp_path: Path, name: str) -> None:
        async def scenario(storage: Any) -> None:
            bad = BAD_KEYS[name]
            for call in (storage.get(bad), storage.set(bad, 1), storage.delete(bad), storage.list(bad)):
                with pytest.raises(InvalidValueError):
                    await call
            assert await storage.list("") == []

        self.use(tmp_path, scenario)

    def test_what_goes_in_and_what_comes_out_is_a_copy(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            value = {"a": [1]}
            await storage.set("k", value)
            value["a"].append(2)
            found = await storage.get("k")
            found["a"].append(3)
            assert await storage.get("k") == {"a": [1]}

        self.use(tmp_path, scenario)

    def test_the_value_is_the_one_at_the_time_of_the_call(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            value = {"a": list(range(1000))}
            before = copy.deepcopy(value)
            writing = asyncio.ensure_future(storage.set("k", value))
            await asyncio.sleep(0)
            value["a"].clear()
            await writing
            assert await storage.get("k") == before

        self.use(tmp_path, scenario)

    def test_the_last_value_replaces_the_earlier_ones(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            for value in ({"n": 1, "long": "x" * 10_000}, [2], 3):
                await storage.set("k", value)
                assert await storage.get("k") == value
            assert await storage.list("") == ["k"]

        self.use(tmp_path, scenario)

    def test_delete_removes_one_key_and_an_absent_one_is_no_error(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            await storage.set("t", 1)
            await storage.set("t/u", 2)
            await storage.delete("t")
            await storage.delete("t")
            assert await storage.get("t") is None
            assert await storage.list("") == ["t/u"]
            await storage.set("t", 3)
            assert await storage.get("t") == 3

        self.use(tmp_path, scenario)

    def test_no_two_keys_are_mistaken_for_one_another(self, tmp_path: Path) -> None:
        # Reported of other libraries as andrewyng/openworker PR#55 and NousResearch/hermes-agent PR#54852.
        async def scenario(storage: Any) -> None:
            await asyncio.gather(*(storage.set(key, number) for number, key in enumerate(KEYS)))
            assert sorted(await storage.list("")) == sorted(KEYS)
            for number, key in enumerate(KEYS):
                assert await storage.get(key) == number
            for gone, key in enumerate(KEYS, 1):
                await storage.delete(key)
                assert await storage.get(key) is None
                assert sorted(await storage.list("")) == sorted(KEYS[gone:])

        self.use(tmp_path, scenario)

    def test_a_prefix_matches_character_by_character(self, tmp_path: Path) -> None:
        # Reported of other libraries as langchain-ai/langgraph PR#5666: keys became part of the SQL text.
        async def scenario(storage: Any) -> None:
            await asyncio.gather(*(storage.set(key, 1) for key in KEYS))
            for prefix in {*KEYS, *(key[:1] for key in KEYS), *(key[:-1] for key in KEYS), "layers/", "zz"}:
                expected = sorted(key for key in KEYS if key.startswith(prefix))
                assert sorted(await storage.list(prefix)) == expected, prefix[:20]

        self.use(tmp_path, scenario)

    def test_calls_made_together_all_take_effect(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            names = [f"k{number}" for number in range(50)]
            await asyncio.gather(*(storage.set(name, {"name": name}) for name in names))
            found = await asyncio.gather(*map(storage.get, names))
            assert found == [{"name": name} for name in names]
            await asyncio.gather(*map(storage.delete, names[:25]))
            assert sorted(await storage.list("k")) == sorted(names[25:])

        self.use(tmp_path, scenario)

    def test_a_cancelled_write_leaves_the_old_or_the_new_value(self, tmp_path: Path) -> None:
        # Reported of other libraries as openai/openai-agents-python#1658.
        async def scenario(storage: Any) -> None:
            for step in range(30):
                old, new = ({"n": n, "text": str(n) * 2000} for n in (2 * step, 2 * step + 1))
                await storage.set("k", old)
                writing = asyncio.ensure_future(storage.set("k", new))
                for _ in range(step if step < 10 else 0):
                    await asyncio.sleep(0)
                await asyncio.sleep(step * 0.0003 if step >= 10 else 0)
                writing.cancel()
                await asyncio.wait([writing])
                settled = await storage.get("k")
                assert settled in (old, new)
                assert writing.cancelled() or settled == new
                await asyncio.sleep(0.002)
                assert await storage.get("k") == settled  # nothing takes effect after the call has ended
                await storage.set("k", "next")

        self.use(tmp_path, scenario)

    def test_storage_get_many_reads_what_is_there(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            values = {"zero": 0, "empty": "", "no": False, "list": [], "dict": {}}
            for key, value in values.items():
                await storage.set(key, value)
            await storage.set("null", None)
            found = await storage_get_many(storage, ["absent", "null", *values, "zero"])
            assert core.equal(found, values)
            assert await storage_get_many(storage, []) == {}

        self.use(tmp_path, scenario)

    def test_scopes_do_not_see_one_another(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            scopes = [ScopedStorage(storage, "l", key) for key in ("t", "t/u", "t%2Fu", "..", "", "__global__")]
            scopes += [ScopedStorage(storage, "l", "__global__", scope="thread"), ScopedStorage(storage, "l/t", "u")]
            for number, scope in enumerate(scopes):
                await scope.set("state", number)
                await scope.set("../x", -number)
            for number, scope in enumerate(scopes):
                assert sorted(await scope.list()) == ["../x", "state"]
                assert await scope.get_many(["state", "../x", "absent"]) == {"state": number, "../x": -number}

        self.use(tmp_path, scenario)
