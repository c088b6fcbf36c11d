from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import profiles  # noqa: F401  (loads the Hypothesis profile)
from taskstate import core
from twins import TWINS


@pytest.fixture(scope="module", params=TWINS, autouse=True)
def twin(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each twin under every test of this folder; one that can't be imported fails the test."""
    chosen = importlib.import_module(f"taskstate.core._{request.param}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "Record", chosen.Record)
        yield chosen
