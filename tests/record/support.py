"""What the tests of the agent state share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskstate.record import AgentStateError, AgentStateSnapshot

FULL: AgentStateSnapshot = {
    "schemaVersion": 1,
    "workItems": [
        {"id": "a", "content": "draw the plan", "status": "done"},
        {"id": "b", "content": "build it", "status": "in_progress"},
        {"id": "c", "content": "sell it", "status": "open"},
    ],
    "decisions": [{"id": "a", "content": "of wood"}, {"id": "z", "content": "in blue"}],
    "objective": "a boat",
}


def refusal(call: Callable[..., Any], *arguments: Any, **options: Any) -> AgentStateError:
    """The error that a call ends with."""
    with pytest.raises(AgentStateError) as caught:
        call(*arguments, **options)
    return caught.value
