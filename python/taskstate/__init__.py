"""Durable task state for agents.

Start with `task_state`, `agent_state_layer`, `taskstate.harness.Harness` and an adapter of `taskstate.storage`;
`taskstate.record` has the agent state by itself.
"""

from __future__ import annotations

from .errors import TaskStateError
from .layer import ContextLayer, ExecutionContext, agent_state_layer, task_state
from .record import AgentState
from .types import Checkpoint, Message, Outcome, Scope, Slot, TaskState

__version__ = "0.1.0"

__all__ = [
    "AgentState",
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
    "agent_state_layer",
    "task_state",
]
