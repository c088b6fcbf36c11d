"""PostgreSQL goes away, or cuts connections, or falls silent, while tasks run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from postgres import servers
from postgres.fixtures import Place
from tasks.programs import works
from taskstate.errors import StorageError
from taskstate.storage import postgres_link
from taskstate.tasks import DurableTasks
from taskstate.tasks.stores.postgres import PostgresTaskStore

from .proxy import Proxy
from .site import Site, outcomes

pytestmark = [pytest.mark.once, pytest.mark.covers("postgres")]


@pytest.fixture
def durable_site(request: pytest.FixtureRequest, tmp_path: Path, place_on: Callable[..., Place]) -> Iterator[Site]:
    """A place on a server with fsync."""
    server = getattr(request, "param", "postgres")
    site = Site(server, tmp_path, place_on(server, fsync=True))
    try:
        yield site
    finally:
        site.end()


def repeated(site: Site) -> list[dict[str, Any]]:
    """Steps that were made again after they had been recorded."""
    recorded: set[tuple[str, int]] = set()
    found = []
    for note in site.notes("done", "recorded"):
        step = note["task"], note["step"]
        if note["what"] == "recorded":
            recorded.add(step)
        elif step in recorded:
            found.append(note)
    return found


@pytest.mark.parametrize("durable_site", servers(), indirect=True)
async def test_nothing_acknowledged_is_lost_when_the_server_crashes_while_tasks_run(durable_site: Site) -> None:
    site, cluster = durable_site, durable_site.cluster
    await site.worker(concurrency=8)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handles = await tasks.start_many(works.steps, [6] * 24)
        for count in (20, 80):
            await site.noted("recorded", count=count)
            await asyncio.to_thread(cluster.restart, "immediate")
            more = await tasks.start(works.steps, 2)
            handles.append(more)
        for handle in handles:
            assert await handle.result(30) in (2, 6)
        assert repeated(site) == []
        for handle in handles:
            checkpoints = (await tasks.history(handle.id))["checkpoints"]
            assert len(checkpoints) == await handle.result()


async def test_connections_that_are_cut_while_tasks_run_are_made_anew(durable_site: Site) -> None:
    site, cluster = durable_site, durable_site.cluster
    await site.worker(concurrency=8)
    async with site.tasks(*works.TYPES, worker=False) as tasks:
        handles = await tasks.start_many(works.steps, [5] * 24)
        for cut in range(1, 5):
            await site.noted("recorded", count=20 * cut)
            await asyncio.to_thread(cluster.terminate)
        for handle in handles:
            assert await handle.result(30) == 5
            assert (await outcomes(tasks, handle.id))[-1] == "succeeded"
        assert repeated(site) == []


async def test_a_hint_is_heard_again_soon_after_the_listener_was_cut(durable_site: Site) -> None:
    site = durable_site
    await site.worker(poll_s=30)
    async with site.tasks(*works.TYPES, worker=False, poll_s=30) as tasks:
        assert await tasks.run(works.quick, 1, timeout=10) == 1
        await asyncio.to_thread(site.cluster.terminate)
        for number in range(3):
            assert await tasks.run(works.quick, number, timeout=10) == number
            await asyncio.sleep(0.3)


async def test_work_goes_on_when_all_connections_fall_silent(
    durable_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_link, "_SLACK", 0.1)
    site = durable_site
    assert site.place is not None
    direct = site.cluster.conninfo(tcp=True)
    async with Proxy(site.cluster.port) as proxy:
        place = direct.replace(f":{site.cluster.port}/", f":{proxy.port}/")
        store = PostgresTaskStore(place, schema=site.place.schema, busy_timeout=400)
        async with (
            DurableTasks(types=works.TYPES, store=store, poll_s=0.2, grace_s=0.2) as tasks,
            site.tasks(*works.TYPES, worker=False) as others,
        ):
            held = await tasks.start(works.gated, "g")
            assert await tasks.run(works.quick, 1, timeout=10) == 1
            assert proxy.silence() >= 3
            begun = time.monotonic()
            assert await others.run(works.quick, 2, timeout=20) == 2
            assert time.monotonic() - begun < 5
            site.open("g")
            assert await others.result(held.id, timeout=20) == "g"


async def test_a_server_that_takes_no_connection_for_a_while_delays_work_and_ends_none(
    durable_site: Site,
) -> None:
    site, cluster = durable_site, durable_site.cluster
    assert site.place is not None
    schema = site.place.schema
    role = sql.Identifier(f"{schema}_role")
    cluster.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
    cluster.execute(sql.SQL("GRANT ALL ON SCHEMA {} TO {}").format(sql.Identifier(schema), role))
    place = cluster.conninfo().replace("user=postgres", f"user={schema}_role")
    try:
        store = PostgresTaskStore(place, schema=schema, busy_timeout=300)
        async with DurableTasks(types=works.TYPES, store=store, poll_s=0.1, grace_s=0.2) as tasks:
            handles = await tasks.start_many(works.steps, [10] * 6)
            await site.noted("recorded", count=6)
            cluster.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT 0").format(role))
            await asyncio.to_thread(cluster.terminate)
            begun = time.monotonic()
            with pytest.raises(StorageError) as caught:
                await tasks.start(works.quick, 1)
            assert time.monotonic() - begun < 5
            assert schema not in str(caught.value)
            cluster.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT 3").format(role))
            await asyncio.sleep(0.5)
            cluster.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT -1").format(role))
            for handle in handles:
                assert await handle.result(20) == 10
            assert repeated(site) == []
    finally:
        cluster.execute(sql.SQL("REASSIGN OWNED BY {} TO postgres").format(role))
        cluster.execute(sql.SQL("DROP OWNED BY {}").format(role))
        cluster.execute(sql.SQL("DROP ROLE {}").format(role))
