"""What the tests of the record share: its inputs, and how its errors are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from taskstate.errors import AgentStateError

INPUT = "Invalid agent state input."
SNAPSHOT = "Invalid agent state snapshot."


def work(item_id: Any = "a", content: Any = "do it", status: Any = "open") -> dict[str, Any]:
    return {"id": item_id, "content": content, "status": status}


def decision(item_id: Any = "d", content: Any = "so be it") -> dict[str, Any]:
    return {"id": item_id, "content": content}


def snapshot(work_items: Any = None, decisions: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "workItems": [] if work_items is None else work_items,
        "decisions": [] if decisions is None else decisions,
        **more,
    }


FULL = snapshot(
    [work("a"), work("b", "paint", "blocked"), work("c", "rest", "done")], [decision("a"), decision("e")], objective="o"
)


def refusal(call: Callable[..., Any], *arguments: Any) -> AgentStateError:
    """The error that a call ends with."""
    with pytest.raises(AgentStateError) as caught:
        call(*arguments)
    assert type(caught.value) is AgentStateError
    return caught.value


def place(call: Callable[..., Any], *arguments: Any) -> tuple[str, str]:
    """Where a malformed argument is refused, and why."""
    error = refusal(call, *arguments)
    assert (error.code, error.item_id) == ("invalid_input", None)
    assert error.message in (INPUT, SNAPSHOT)
    return error.path, error.reason


def parts(error: AgentStateError) -> tuple[Any, ...]:
    """All that an error says."""
    return error.code, error.message, error.path, error.reason, error.item_id
