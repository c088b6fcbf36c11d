"""Layers of an agent's context: task state, agent state, and what one's own are made of."""

from __future__ import annotations

from .agent_state import AgentStateLayer, agent_state_layer
from .context import DEFAULT_TIMEOUTS, BudgetOption, ContextLayer, ExecutionContext, InitErrorOption
from .functions import Change, LayerFunction, ToolStyle
from .task_state import TaskStateLayer, task_state

__all__ = [
    "DEFAULT_TIMEOUTS",
    "AgentStateLayer",
    "BudgetOption",
    "Change",
    "ContextLayer",
    "ExecutionContext",
    "InitErrorOption",
    "LayerFunction",
    "TaskStateLayer",
    "ToolStyle",
    "agent_state_layer",
    "task_state",
]
