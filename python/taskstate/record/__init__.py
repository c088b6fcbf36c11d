"""The agent state: a record of where the declared work stands, and nothing else."""

from __future__ import annotations

from ..errors import AgentStateError, AgentStateErrorCode
from ..types import WorkItemStatus
from .diff import diff
from .render import render_agent_state
from .state import AgentState, create_agent_state, restore_agent_state, summarize_agent_state
from .types import (
    AgentStateDiff,
    AgentStateInput,
    AgentStateSnapshot,
    AgentStateSummary,
    Decision,
    DecisionInput,
    DiffChanges,
    DiffItem,
    DiffItems,
    DiffObjective,
    Operation,
    WorkItem,
    WorkItemInput,
)

__all__ = [
    "AgentState",
    "AgentStateDiff",
    "AgentStateError",
    "AgentStateErrorCode",
    "AgentStateInput",
    "AgentStateSnapshot",
    "AgentStateSummary",
    "Decision",
    "DecisionInput",
    "DiffChanges",
    "DiffItem",
    "DiffItems",
    "DiffObjective",
    "Operation",
    "WorkItem",
    "WorkItemInput",
    "WorkItemStatus",
    "create_agent_state",
    "diff",
    "render_agent_state",
    "restore_agent_state",
    "summarize_agent_state",
]
