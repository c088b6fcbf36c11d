"""The conformance suites for what a storage adapter may do beyond the four methods."""

# ruff: noqa: D102 - the name of a test says what it states

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from .. import core
from ..errors import ConflictError, InvalidValueError
from .samples import GOOD_VALUES, KEYS
from .suite import StorageSuite


class GetManyConformance(StorageSuite):
    """For an adapter with `get_many`."""

    def test_get_many_leaves_out_absent_keys_and_nulls_but_no_falsy_value(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            values = {"zero": 0, "empty": "", "no": False, "list": [], "dict": {}}
            for key, value in values.items():
                await storage.set(key, value)
            await storage.set("null", None)
            found = await storage.get_many(["absent", "null", *values, "zero"])
            assert core.equal(found, values)

        self.use(tmp_path, scenario)

    def test_get_many_takes_any_number_of_any_keys(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            assert await storage.get_many([]) == {}
            await asyncio.gather(*(storage.set(key, number) for number, key in enumerate(KEYS)))
            absent = [f"absent-{number}" for number in range(70_000)]
            found = await storage.get_many([*KEYS, *absent])
            assert found == {key: number for number, key in enumerate(KEYS)}

        self.use(tmp_path, scenario)

    def test_get_many_gives_copies(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            await storage.set("k", {"a": [1]})
            (await storage.get_many(["k"]))["k"]["a"].append(2)
            assert await storage.get_many(["k"]) == {"k": {"a": [1]}}

        self.use(tmp_path, scenario)


class VersionsConformance(StorageSuite):
    """For an adapter with `get_versioned`, `compare_and_set` and `compare_and_delete`."""

    def test_every_write_makes_a_new_version(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            assert await storage.get_versioned("k") == (None, None)
            seen: set[str | None] = {None}
            for value in (1, 1, None):
                await storage.set("k", value)
                found, version = await storage.get_versioned("k")
                assert found == value
                assert version not in seen
                seen.add(version)
            seen.add(await storage.compare_and_set("k", 1, version))
            assert len(seen) == 5

        self.use(tmp_path, scenario)

    def test_only_a_writer_who_has_seen_the_newest_version_writes(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            first = await storage.compare_and_set("k", 1, None)
            second = await storage.compare_and_set("k", 2, first)
            for outdated in (None, first, "", "no such version"):
                with pytest.raises(ConflictError):
                    await storage.compare_and_set("k", 3, outdated)
                with pytest.raises(ConflictError):
                    await storage.compare_and_delete("k", outdated)
            assert await storage.get_versioned("k") == (2, second)
            await storage.compare_and_delete("k", second)
            assert await storage.get_versioned("k") == (None, None)

        self.use(tmp_path, scenario)

    def test_an_absent_record_is_at_version_none(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            await storage.compare_and_delete("k", None)
            with pytest.raises(ConflictError):
                await storage.compare_and_set("k", 1, "some version")
            with pytest.raises(ConflictError):
                await storage.compare_and_delete("k", "some version")
            assert await storage.list("") == []

        self.use(tmp_path, scenario)

    def test_a_version_never_comes_back(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            old = await storage.compare_and_set("k", 1, None)
            await storage.delete("k")
            await storage.set("k", 1)
            with pytest.raises(ConflictError):
                await storage.compare_and_set("k", 2, old)
            assert await storage.get("k") == 1

        self.use(tmp_path, scenario)

    def test_of_many_writers_of_one_version_one_wins(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            version = await storage.compare_and_set("k", "start", None)
            writes = [storage.compare_and_set("k", number, version) for number in range(20)]
            others = [storage.set(f"other-{number}", number) for number in range(20)]
            outcomes = (await asyncio.gather(*writes, *others, return_exceptions=True))[:20]
            assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == 19
            (winner,) = (n for n, outcome in enumerate(outcomes) if isinstance(outcome, str))
            assert await storage.get_versioned("k") == (winner, outcomes[winner])
            assert len(await storage.list("other-")) == 20

        self.use(tmp_path, scenario)

    def test_counting_with_retries_loses_nothing(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            async def count() -> None:
                while True:
                    value, version = await storage.get_versioned("k")
                    try:
                        await storage.compare_and_set("k", (value or 0) + 1, version)
                    except ConflictError:
                        continue
                    return

            await asyncio.gather(*(count() for _ in range(10)))
            assert await storage.get("k") == 10

        self.use(tmp_path, scenario)

    def test_a_refused_value_changes_neither_value_nor_version(self, tmp_path: Path) -> None:
        async def scenario(storage: Any) -> None:
            version = await storage.compare_and_set("k", 1, None)
            with pytest.raises(InvalidValueError):
                await storage.compare_and_set("k", float("nan"), version)
            assert await storage.get_versioned("k") == (1, version)

        self.use(tmp_path, scenario)


class PersistenceConformance(StorageSuite):
    """For an adapter whose data another adapter can read later, made by the same `make_storage(tmp_path)`."""

    def test_every_value_and_key_is_there_afterwards(self, tmp_path: Path) -> None:
        async def write(storage: Any) -> None:
            for name, value in GOOD_VALUES.items():
                await storage.set(f"value/{name}", value)
            await asyncio.gather(*(storage.set("key/" + key, number) for number, key in enumerate(KEYS)))
            await storage.set("gone", 1)
            await storage.delete("gone")

        async def read(storage: Any) -> None:
            for name, value in GOOD_VALUES.items():
                assert core.equal(await storage.get(f"value/{name}"), value)
            for number, key in enumerate(KEYS):
                assert await storage.get("key/" + key) == number
            assert len(await storage.list("")) == len(GOOD_VALUES) + len(KEYS)

        self.use(tmp_path, write)
        self.use(tmp_path, read)

    def test_two_adapters_see_each_other(self, tmp_path: Path) -> None:
        async def scenario(one: Any) -> None:
            async def other_scenario(other: Any) -> None:
                for number in range(5):
                    await one.set("k", number)
                    assert await other.get("k") == number
                    await other.set("k", -number)
                    assert await one.get("k") == -number
                await other.delete("k")
                assert await one.get("k") is None

            await asyncio.to_thread(self.use, tmp_path, other_scenario)

        self.use(tmp_path, scenario)
