"""What applications give with a request, checked before anything is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ConfigurationError
from .definition import Definition, check_name, check_seconds


def definitions_by_name(types: Sequence[Definition[Any, Any]]) -> dict[str, Definition[Any, Any]]:
    """Definitions by name; ConfigurationError if two have the same one."""
    found: dict[str, Definition[Any, Any]] = {}
    for one in types:
        if not isinstance(one, Definition):
            raise ConfigurationError(f"{type(one).__name__} is not a task definition: decorate it with `task`")
        if one.name in found:
            raise ConfigurationError(f"two definitions have the name {one.name!r}")
        found[one.name] = one
    return found


def checked_binding(
    owner: str, conversation: str | None, generation: int, single_flight: str | None, priority: int, delay_s: float
) -> dict[str, Any]:
    """What a request is bound to, as `NewTask` has it; ConfigurationError for what can't be."""
    if owner != "":
        check_name("owner", owner)
    if conversation is not None:
        check_name("conversation", conversation)
    if single_flight is not None:
        check_name("single_flight", single_flight)
    if type(priority) is not int or not -(2**31) <= priority < 2**31:
        raise ConfigurationError("priority must be a whole number of 32 bits")
    check_seconds("delay_s", delay_s, 0)
    return {
        "owner": owner,
        "conversation": conversation,
        "generation": checked_generation(generation),
        "single_flight": single_flight,
        "priority": priority,
        "delay_ms": round(delay_s * 1000),
    }


def checked_generation(value: int) -> int:
    """`value`, if it can be a generation."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise ConfigurationError("generation must be a whole number of at least 0")
    return value


def given_id(task_id: str | None) -> str | None:
    """`task_id`, if it can be one."""
    return None if task_id is None else check_name("task_id", task_id)
