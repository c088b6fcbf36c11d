from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import profiles  # noqa: F401  (loads the Hypothesis profile)
from taskstate.core import block
from taskstate.core import twin as chosen
from twins import TWINS

collect_ignore = [] if "native" in TWINS else ["test_record_twin.py", "test_twin.py"]


@pytest.fixture(scope="module", params=TWINS)
def twin(request: pytest.FixtureRequest) -> Any:
    """Each twin as a module; one that can't be imported fails the test."""
    return importlib.import_module(f"taskstate.core._{request.param}")


@pytest.fixture(scope="module")
def render(twin: Any) -> Iterator[Callable[..., tuple[str, int]]]:
    """`taskstate.core.render` above each twin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chosen, "render_block", twin.render_block)
        patch.setattr(chosen, "render_parts", twin.render_parts)
        yield block.render
