"""What the tests of durable tasks share."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import profiles  # noqa: F401  (loads the Hypothesis profile)
from postgres import servers

if TYPE_CHECKING:
    from postgres.fixtures import Place

    from .site import Site


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def _site(kind: str, folder: Path, place_on: Callable[..., Place]) -> Iterator[Site]:
    from .site import Site

    found = Site(kind, folder, place_on(kind) if kind.startswith("postgres") else None)
    try:
        yield found
    finally:
        found.end()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def storage(request: pytest.FixtureRequest) -> str:
    """The name of each task store."""
    return str(request.param)


@pytest.fixture(params=["sqlite", "postgres"])
def shared_storage(request: pytest.FixtureRequest) -> str:
    """The name of each task store that several processes can share."""
    return str(request.param)


@pytest.fixture(params=["sqlite", *servers()])
def any_storage(request: pytest.FixtureRequest) -> str:
    """The same on each server that the machine has."""
    return str(request.param)


@pytest.fixture
def site(storage: str, tmp_path: Path, place_on: Callable[..., Place]) -> Iterator[Site]:
    """A place in each store, for tests with one process."""
    yield from _site(storage, tmp_path, place_on)


@pytest.fixture
def shared_site(shared_storage: str, tmp_path: Path, place_on: Callable[..., Place]) -> Iterator[Site]:
    """A place in each store, for several processes."""
    yield from _site(shared_storage, tmp_path, place_on)


@pytest.fixture
def any_site(any_storage: str, tmp_path: Path, place_on: Callable[..., Place]) -> Iterator[Site]:
    """A place in each store and on each server, for several processes."""
    yield from _site(any_storage, tmp_path, place_on)
