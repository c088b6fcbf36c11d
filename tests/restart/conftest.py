from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import profiles  # noqa: F401  (loads the Hypothesis profile)

from .stores import ALL, open_storage


@pytest.fixture(params=ALL)
def storage(request: pytest.FixtureRequest) -> str:
    """The name of each storage with compare-and-set."""
    return str(request.param)


@pytest.fixture
def run(storage: str, tmp_path: Path) -> Callable[[Callable[..., Any]], Any]:
    """Runs a scenario on that storage."""

    async def scenario_on(scenario: Callable[..., Any]) -> Any:
        async with open_storage(storage, tmp_path) as opened:
            return await scenario(opened)

    return lambda scenario: asyncio.run(scenario_on(scenario))
