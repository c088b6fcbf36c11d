"""Tasks to be stored, and how the children of a task ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import TaskUnsuccessfulError
from ..ids import ordered_id
from .definition import Definition
from .payload import hash_of
from .records import ChildOutcome, Mode, NewTask


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a child ended: `result` if `state` is `succeeded`, else `error_code` and `message`."""

    task_id: str
    name: str
    state: str
    result: Any = None
    error_code: str | None = None
    message: str | None = None

    def value(self) -> Any:
        """The result; TaskUnsuccessfulError if there is none."""
        if self.state != "succeeded":
            raise TaskUnsuccessfulError(self.task_id, self.name, self.state, self.error_code, self.message)
        return self.result


def new_task(
    definition: Definition[Any, Any],
    input: Any,
    mode: Mode,
    *,
    id: str | None = None,
    notify: bool = False,
    **binding: Any,
) -> NewTask:
    """A task to be stored, its input validated, encoded and measured."""
    limits = definition.limits
    text = definition.input.encode(input, f"{definition.name}.input", limits.max_input_bytes)
    return NewTask(
        id or ordered_id(),
        definition.name,
        definition.version,
        mode,
        text,
        hash_of(text),
        limits.attempts,
        round(limits.lease_s * 1000),
        limits.max_result_bytes,
        notify=notify,
        **binding,
    )


def outcome_of(child: ChildOutcome, definition: Definition[Any, Any]) -> Outcome:
    """How a child ended, its result as its definition says."""
    result = None
    if child.state == "succeeded" and child.result is not None:
        result = definition.result.decode(child.result, f"{definition.name}.result")
    return Outcome(child.id, child.name, child.state, result, child.code, child.message)
