"""Connections that break and servers that are away: what was acknowledged is there, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from postgres import Cluster
from postgres.fixtures import Place
from taskstate.errors import StorageError
from taskstate.storage import PostgresStorage, postgres_engine, postgres_link


def use(place: Place, scenario: Callable[[PostgresStorage], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with PostgresStorage(place.conninfo, **{"schema": place.schema, **options}) as storage:
            return await scenario(storage)

    return asyncio.run(run())


@contextmanager
def disturbed(disturb: Callable[[], object], times: int) -> Iterator[Callable[[], bool]]:
    """Have something happen so many times while the block runs; it is given what tells whether more will come."""

    def work() -> None:
        for _ in range(times):
            time.sleep(0.1)
            disturb()

    thread = threading.Thread(target=work)
    thread.start()
    yield thread.is_alive
    thread.join()


def test_writes_go_on_and_none_is_lost_while_the_server_crashes_again_and_again(durable_place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        acknowledged = {}
        with disturbed(durable_place.cluster.restart, 3) as going:
            while going():
                number = len(acknowledged)
                await asyncio.gather(storage.set(f"k{number}", number), storage.set("last", number))
                acknowledged[f"k{number}"] = number
        assert len(acknowledged) > 5
        durable_place.cluster.restart()
        assert await storage.get_many(list(acknowledged)) == acknowledged
        assert await storage.get("last") == len(acknowledged) - 1

    use(durable_place, scenario)


def test_a_count_under_compare_and_set_is_exact_while_connections_are_cut(place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        counted = unknown = 0
        with disturbed(place.cluster.terminate, 10) as going:
            while going():
                value, version = await storage.get_versioned("k")
                try:
                    await storage.compare_and_set("k", (value or 0) + 1, version)
                    counted += 1
                except StorageError:
                    unknown += 1
        assert counted > 10
        assert counted <= await storage.get("k") <= counted + unknown

    use(place, scenario)


def test_an_idle_connection_that_was_cut_is_not_noticed(place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        await storage.set("k", 0)
        for number in range(5):
            place.cluster.terminate()
            assert await storage.get("k") == number
            place.cluster.terminate()
            await asyncio.gather(storage.set("k", number + 1), storage.set("l", number))
        place.cluster.terminate()
        version = (await storage.get_versioned("k"))[1]
        place.cluster.terminate()
        assert await storage.compare_and_set("k", 6, version) != version
        place.cluster.terminate()
        assert await storage.get("k") == 6

    use(place, scenario)


class Answers:
    """Loses the answer to the next transaction, after it was committed or before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lose: str | None = None
        self._original = postgres_link.in_one_trip
        monkeypatch.setattr(postgres_engine, "in_one_trip", self._trip)

    @contextmanager
    def _trip(self, connection: Any) -> Iterator[None]:
        lose, self.lose = self.lose, None
        if lose == "before":
            connection.close()
            raise psycopg.OperationalError("lost")
        with self._original(connection):
            yield
        if lose == "after":
            connection.close()
            raise psycopg.OperationalError("lost")


def test_a_write_whose_answer_was_lost_is_not_done_twice(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(monkeypatch)

    async def scenario(storage: PostgresStorage) -> None:
        for moment in ("before", "after"):
            answers.lose = moment
            version = await storage.compare_and_set("k", 1, None)
            assert await storage.get_versioned("k") == (1, version)
            answers.lose = "after"
            second = await storage.compare_and_set("k", 2, version)
            assert await storage.get_versioned("k") == (2, second)
            answers.lose = "after"
            await storage.set("k", 3)
            answers.lose = "after"
            await storage.delete("k")
            assert await storage.get_versioned("k") == (None, None)
            answers.lose = "after"
            await storage.compare_and_delete("k", None)

    use(place, scenario)


def test_a_lost_answer_that_leaves_a_doubt_is_an_error_and_no_conflict(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers(monkeypatch)

    async def scenario(storage: PostgresStorage) -> None:
        version = await storage.compare_and_set("k", 1, None)
        answers.lose = "after"
        with pytest.raises(StorageError, match="not known") as caught:
            await storage.compare_and_delete("k", version)
        assert type(caught.value) is StorageError
        assert await storage.get("k") is None

    use(place, scenario)


def test_a_server_that_is_away_is_an_error_in_bounded_time_and_used_again_when_it_is_back(own_cluster: Cluster) -> None:
    async def scenario() -> None:
        async with PostgresStorage(own_cluster.conninfo(tcp=True), busy_timeout=300) as storage:
            await storage.set("k", 1)
            own_cluster.stop("immediate")
            for call in (storage.get("k"), storage.set("k", 2), storage.list("k")):
                began = time.monotonic()
                with pytest.raises(StorageError, match="can't be reached") as caught:
                    await call
                assert 0.2 < time.monotonic() - began < 2
                assert type(caught.value) is StorageError
                assert own_cluster.password not in str(caught.value)
            async with PostgresStorage(own_cluster.conninfo()) as fresh:
                began = time.monotonic()
                with pytest.raises(StorageError, match="can't be reached"):
                    await fresh.get("k")
                assert time.monotonic() - began < 2
            own_cluster.start()
            assert await storage.get("k") == 1
            await storage.set("k", 3)

    asyncio.run(scenario())


def test_a_call_waits_for_a_server_that_restarts(place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        await storage.set("k", 1)
        place.cluster.stop("immediate")
        waiting = asyncio.ensure_future(storage.set("k", 2))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await asyncio.to_thread(place.cluster.start)
        await waiting
        assert await storage.get("k") == 2

    use(place, scenario)


def test_a_server_that_falls_silent_is_an_error_in_bounded_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_link, "_SLACK", 0.2)

    async def scenario(storage: PostgresStorage) -> None:
        await storage.set("k", 1)
        (client,) = place.cluster.clients()
        os.kill(client.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(StorageError, match="doesn't answer"):
                await storage.set("k", 2)
            assert time.monotonic() - began < 3
            assert await storage.get("k") == 1
        finally:
            os.kill(client.pid, signal.SIGCONT)

    use(place, scenario, busy_timeout=100)


def test_groups_that_write_the_same_records_in_opposite_orders_do_not_block_one_another(place: Place) -> None:
    keys = [f"k{number}" for number in range(30)]
    use(place, lambda storage: storage.set("k", 1))

    async def write(order: list[str]) -> None:
        async with PostgresStorage(place.conninfo, schema=place.schema) as storage:
            for number in range(30):
                await asyncio.gather(*(storage.set(key, number) for key in order))

    def deadlocks() -> Any:
        return place.cluster.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'")

    before = deadlocks()
    threads = [threading.Thread(target=asyncio.run, args=(write(order),)) for order in (keys, keys[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert deadlocks() == before
    assert use(place, lambda storage: storage.get_many(keys)) == dict.fromkeys(keys, 29)


def test_a_writer_that_stalls_in_its_transaction_holds_others_up_for_a_bounded_time(place: Place) -> None:
    async def scenario(storage: PostgresStorage) -> None:
        await storage.set("k", 1)
        with psycopg.connect(place.conninfo) as other:
            other.execute(f"UPDATE {place.schema}.taskstate_storage SET value = '2'")
            began = time.monotonic()
            with pytest.raises(StorageError, match="locked by another process"):
                await storage.set("k", 3)
            assert time.monotonic() - began < 2
            assert await storage.get("k") == 1
            other.rollback()
        await storage.set("k", 4)

    use(place, scenario, busy_timeout=100)
