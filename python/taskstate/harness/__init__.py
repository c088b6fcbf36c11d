"""Run an agent's turns over its layers: executions, children and parallel paths."""

from __future__ import annotations

from ..errors import MergeConflict
from .budget import Allocation, Allocations, allocate_budgets
from .diagnostics import Diagnostic, DiagnosticsCallback
from .execution import Execution
from .handles import LayerHandle
from .harness import Harness
from .lifecycle import Lifecycle, Recalled, Spawned
from .parallel import Settled, Worker
from .redact import Redact
from .threads import ThreadInfo, Threads

__all__ = [
    "Allocation",
    "Allocations",
    "Diagnostic",
    "DiagnosticsCallback",
    "Execution",
    "Harness",
    "LayerHandle",
    "Lifecycle",
    "MergeConflict",
    "Recalled",
    "Redact",
    "Settled",
    "Spawned",
    "ThreadInfo",
    "Threads",
    "Worker",
    "allocate_budgets",
]
