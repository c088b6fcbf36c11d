"""Durable task state for agents.

Start with `task_state`, `taskstate.harness.Harness` and an adapter of `taskstate.storage`.
"""

from __future__ import annotations

from .errors import TaskStateError
from .layer import ContextLayer, ExecutionContext, task_state
from .types import Checkpoint, Message, Outcome, Scope, Slot, TaskState

__version__ = "0.1.0"

__all__ = [
    "Checkpoint",
    "ContextLayer",
    "ExecutionContext",
    "Message",
    "Outcome",
    "Scope",
    "Slot",
    "TaskState",
    "TaskStateError",
    "__version__",
    "task_state",
]
