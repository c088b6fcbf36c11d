from __future__ import annotations

import copy
from typing import Any

import pytest

from .states import STATES


@pytest.fixture(params=STATES)
def state(request: pytest.FixtureRequest) -> Any:
    return copy.deepcopy(STATES[request.param])
