"""Work that outlives a turn: leased, checkpointed, cancellable tasks in the foreground or background.

Start with `task` and `DurableTasks`.
"""

from __future__ import annotations

from .children import Outcome
from .context import TaskContext
from .definition import Definition, Limits, task
from .durable import DurableTasks
from .handle import TaskHandle
from .inbox import Inbox
from .plain import EventInfo, TaskInfo, WaitInfo
from .protocol import TaskStore
from .records import Mode, State
from .sync_context import SyncTaskContext
from .tools import TaskTools
from .worker import Stopped

__all__ = [
    "Definition",
    "DurableTasks",
    "EventInfo",
    "Inbox",
    "Limits",
    "Mode",
    "Outcome",
    "State",
    "Stopped",
    "SyncTaskContext",
    "TaskContext",
    "TaskHandle",
    "TaskInfo",
    "TaskStore",
    "TaskTools",
    "WaitInfo",
    "task",
]
