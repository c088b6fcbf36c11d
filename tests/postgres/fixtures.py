"""The fixtures of tests that need PostgreSQL, and the part of the plugin that counts them.

A test that names its server by a parametrized fixture (`server`, or a `storage` with such a name) is counted for it.
Each pytest process has servers of its own, started when first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from .cluster import Cluster
from .programs import NAMES, find, servers

WATCH = "taskstate-watch"


class Place(NamedTuple):
    """Where one test may keep what it likes: a schema of its own."""

    cluster: Cluster
    schema: str

    @property
    def conninfo(self) -> str:
        """How to connect to the database that the schema is in."""
        return self.cluster.conninfo()


def pytest_report_header() -> list[str]:
    def version(name: str) -> str:
        try:
            return find(name).version
        except LookupError:
            return "not on this machine"

    return [f"{name}: {version(name)}" for name in NAMES]


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where PostgreSQL is required, it is so on every server that the machine has."""
    watch = config.pluginmanager.get_plugin(WATCH)
    if watch is not None and "postgres" in watch.required:
        watch.required += [name for name in servers() if name not in watch.required]


@pytest.fixture(scope="session")
def clusters() -> Iterator[Callable[..., Cluster]]:
    """Gives the running cluster of a server by name: `clusters("postgres", fsync=True)`; shared by all tests.

    With fsync for tests that say something about durability, without for all others. A test may restart it.
    """
    running: dict[tuple[str, bool], Cluster] = {}
    with ExitStack() as stack:

        def cluster(server: str = "postgres", *, fsync: bool = False) -> Cluster:
            key = server, fsync
            if key not in running:
                running[key] = stack.enter_context(Cluster(server, fsync=fsync))
            return running[key]

        yield cluster


@pytest.fixture
def place_on(clusters: Callable[..., Cluster]) -> Iterator[Callable[..., Place]]:
    """Makes a fresh schema on a server: `place_on("postgres", fsync=True)`.

    It is dropped at the end, and then no connection may be left.
    """
    with ExitStack() as stack:

        def place(server: str = "postgres", *, fsync: bool = False) -> Place:
            cluster = clusters(server, fsync=fsync)
            return Place(cluster, stack.enter_context(cluster.schema()))

        yield place


@pytest.fixture(params=servers())
def server(request: pytest.FixtureRequest) -> str:
    """The name of each server that this machine has."""
    return str(request.param)


@pytest.fixture
def place(server: str, place_on: Callable[..., Place]) -> Place:
    """A fresh schema on each server, which runs without fsync."""
    return place_on(server)


@pytest.fixture
def durable_place(server: str, place_on: Callable[..., Place]) -> Place:
    """A fresh schema on each server, which runs with fsync."""
    return place_on(server, fsync=True)


@pytest.fixture
def own_cluster(server: str) -> Iterator[Cluster]:
    """A cluster of each server for this test alone, with fsync, to be stopped and started."""
    with Cluster(server) as cluster:
        yield cluster
