"""Calls of an agent state's methods as plain data."""

from __future__ import annotations

import re
from typing import Any

from .. import core
from ..core.record_faults import invalid
from ..errors import AgentStateError

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "add_work_item": ("item",),
    "set_work_item_status": ("id", "status"),
    "set_work_item_content": ("id", "content"),
    "get_work_item": ("id",),
    "list_work_items": (),
    "remove_work_item": ("id",),
    "add_decision": ("decision",),
    "get_decision": ("id",),
    "list_decisions": (),
    "remove_decision": ("id",),
    "set_objective": ("objective",),
    "snapshot": (),
}
"""The methods of a record that may be called, and what the paths of their errors call their arguments."""


def _wire_name(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


OPERATIONS = {spelling: name for name in _PARAMETERS for spelling in (name, _wire_name(name))}
"""The method of each operation, by both spellings of its name."""


def apply_all(record: core.Record, operations: Any) -> list[Any]:
    """Call each operation on `record` and give the results; the first that is refused raises AgentStateError."""
    if type(operations) is not list and type(operations) is not tuple:
        raise invalid("input", ("operations",), "a list", operations)
    return [_apply(record, operation, index) for index, operation in enumerate(operations)]


def _apply(record: core.Record, operation: Any, index: int) -> Any:
    place = ("operations", index)
    if type(operation) is not dict:
        raise invalid("input", place, "a dict", operation)
    fields = {key: value for key, value in operation.items() if type(key) is str}
    for key in ("op", "args"):
        if key not in fields:
            raise invalid("input", (*place, key), "missing")
    op, args = fields["op"], fields["args"]
    name = OPERATIONS.get(op) if type(op) is str else None
    if name is None:
        raise invalid("input", (*place, "op"), "the name of an operation", op)
    parameters = _PARAMETERS[name]
    if type(args) is not list and type(args) is not tuple:
        raise invalid("input", (*place, "args"), "a list", args)
    if len(args) != len(parameters):
        path = core.format_path("", (*place, "args"))
        reason = f"{len(args)} arguments, not {len(parameters)}"
        raise AgentStateError("invalid_input", "Invalid agent state input.", path, reason)
    try:
        return getattr(record, name)(*args)
    except AgentStateError as error:
        raise _placed(error, core.format_path("", (*place, "args")), parameters) from None


def _placed(error: AgentStateError, prefix: str, parameters: tuple[str, ...]) -> AgentStateError:
    """The same error, with the path from the operations down."""
    first = error.path.split(".")[0]
    if first in parameters:
        path = f"{prefix}[{parameters.index(first)}]{error.path.removeprefix(first)}"
    else:
        path = f"{prefix}[0].{error.path}"
    return AgentStateError(error.code, error.message, path, error.reason, error.item_id)
