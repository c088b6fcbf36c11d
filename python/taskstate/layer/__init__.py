"""Layers of an agent's context: the task-state layer, and what one's own are made of."""

from __future__ import annotations

from .context import DEFAULT_TIMEOUTS, BudgetOption, ContextLayer, ExecutionContext, InitErrorOption
from .functions import Change, LayerFunction, ToolStyle
from .task_state import TaskStateLayer, task_state

__all__ = [
    "DEFAULT_TIMEOUTS",
    "BudgetOption",
    "Change",
    "ContextLayer",
    "ExecutionContext",
    "InitErrorOption",
    "LayerFunction",
    "TaskStateLayer",
    "ToolStyle",
    "task_state",
]
