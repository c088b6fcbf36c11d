"""What went wrong without stopping a run, told to a callback and to the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import TaskStateError

logger = logging.getLogger("taskstate.harness")
logger.addHandler(logging.NullHandler())


class MergeConflict(TaskStateError):
    """Parent and child changed one place in different ways; the child's change was kept.

    Never raised: it arrives as the `error` of a Diagnostic.
    """

    code = "merge_conflict"

    def __init__(self, path: str, parent_id: str, child_id: str) -> None:
        super().__init__(f"{path}: changed by {parent_id} and by its child {child_id}")
        self.path = path
        self.parent_id = parent_id
        self.child_id = child_id


@dataclass(frozen=True)
class Diagnostic:
    """One report: which layer's hook (or `persist`, `in_parallel`), in which execution, and the error."""

    layer_id: str
    hook: str
    execution_id: str
    error: BaseException


DiagnosticsCallback: TypeAlias = Callable[[Diagnostic], None]


class Reporter:
    """Hands diagnostics on. The log gets structural facts only, never the text of a user's error."""

    def __init__(self, callback: DiagnosticsCallback | None) -> None:
        self._callback = callback

    def report(self, layer_id: str, hook: str, execution_id: str, error: BaseException) -> None:
        """Tell the log and the callback; a callback that fails is logged, no more."""
        logger.warning("layer %s, %s, execution %s: %s", layer_id, hook, execution_id, type(error).__name__)
        if self._callback is None:
            return
        try:
            self._callback(Diagnostic(layer_id, hook, execution_id, error))
        except Exception as failure:  # noqa: BLE001 - a faulty callback must not stop a run
            logger.error("the diagnostics callback failed: %s", type(failure).__name__)
