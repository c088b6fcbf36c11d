"""The functions of the agent-state layer: some are the model's tools too, all are the code's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..record import AgentState, create_agent_state, restore_agent_state
from ..types import JSON
from .context import ExecutionContext
from .functions import Change, LayerFunction

if TYPE_CHECKING:
    from pydantic import BaseModel


def _read(state: AgentState, status: str | None = None) -> JSON:
    snapshot = state.snapshot()
    if status is not None:
        snapshot["workItems"] = [item for item in snapshot["workItems"] if item["status"] == status]
    return snapshot


def _add_work_item(state: AgentState, **item: Any) -> JSON:
    return state.add_work_item(item)  # type: ignore[arg-type]


def _add_decision(state: AgentState, **decision: Any) -> JSON:
    return state.add_decision(decision)  # type: ignore[arg-type]


def _function(
    name: str,
    attribute: str,
    description: str,
    call: Callable[..., JSON],
    *,
    for_model: bool = False,
    changes: bool = True,
    nested: frozenset[str] = frozenset(),
) -> LayerFunction:
    """A layer function that calls `call(agent_state, **arguments)`; its arguments are the model class of that name."""

    def arguments() -> type[BaseModel]:
        from . import agent_schemas

        model: type[BaseModel] = getattr(agent_schemas, name[0].upper() + name[1:])
        return model

    def apply(state: JSON, arguments: Any, ctx: ExecutionContext) -> Change:
        agent_state = create_agent_state() if state is None else restore_agent_state(state)
        given = {argument: getattr(arguments, argument) for argument in arguments.model_fields_set}
        result = call(agent_state, **given)
        return Change(result, agent_state.snapshot() if changes else None)

    return LayerFunction(name, attribute, description, arguments, apply, for_model, nested)


AGENT_STATE_FUNCTIONS = (
    _function(
        "readAgentState",
        "read",
        "Read the objective, all work items and all decisions, also those that the agent_state block leaves out.",
        _read,
        for_model=True,
        changes=False,
    ),
    _function(
        "addWorkItem",
        "add_work_item",
        "Add a work item under an id of your own choice that no other work item has.",
        _add_work_item,
        for_model=True,
    ),
    _function(
        "setWorkItemStatus",
        "set_work_item_status",
        "Say where a work item stands: open, in_progress, blocked or done.",
        AgentState.set_work_item_status,
        for_model=True,
    ),
    _function(
        "addDecision",
        "add_decision",
        "Record a decision under an id of your own choice that no other decision has.",
        _add_decision,
        for_model=True,
    ),
    _function(
        "setObjective",
        "set_objective",
        "Replace the objective; None removes it.",
        AgentState.set_objective,
    ),
    _function(
        "setWorkItemContent",
        "set_work_item_content",
        "Give a work item another content.",
        AgentState.set_work_item_content,
    ),
    _function(
        "removeWorkItem",
        "remove_work_item",
        "Remove a work item; gives whether it was there.",
        AgentState.remove_work_item,
    ),
    _function(
        "removeDecision",
        "remove_decision",
        "Remove a decision; gives whether it was there.",
        AgentState.remove_decision,
    ),
    _function(
        "applyOperations",
        "apply",
        "Call several methods of AgentState, all or none.",
        AgentState.apply,
        nested=frozenset({"operations"}),
    ),
)
