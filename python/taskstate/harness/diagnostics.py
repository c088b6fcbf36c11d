"""What went wrong without stopping a run, told to a callback and to the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from .redact import Redact, redact_text

logger = logging.getLogger("taskstate.harness")
logger.addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Diagnostic:
    """One report: which layer's hook (or `persist`, `in_parallel`), in which execution, and the error.

    `message` is the error's text after the harness's redaction. `error` is the exception itself, whose
    own text is as it was raised; it isn't shown by `repr`.
    """

    layer_id: str
    hook: str
    execution_id: str
    error: BaseException = field(repr=False)
    message: str = ""


DiagnosticsCallback: TypeAlias = Callable[[Diagnostic], None]


class Reporter:
    """Hands diagnostics on. The log gets structural facts only, never the text of a user's error."""

    def __init__(self, callback: DiagnosticsCallback | None, redact: Redact | None = None) -> None:
        self._callback = callback
        self._redact = redact

    def report(self, layer_id: str, hook: str, execution_id: str, error: BaseException) -> None:
        """Tell the log and the callback; a callback that fails is logged, no more."""
        logger.warning("layer %s, %s, execution %s: %s", layer_id, hook, execution_id, type(error).__name__)
        if self._callback is None:
            return
        try:
            self._callback(Diagnostic(layer_id, hook, execution_id, error, self._message(error)))
        except Exception as failure:  # noqa: BLE001 - a faulty callback must not stop a run
            logger.error("the diagnostics callback failed: %s", type(failure).__name__)

    def _message(self, error: BaseException) -> str:
        kind = type(error).__name__
        try:
            text = "; ".join([f"{kind}: {error}", *getattr(error, "__notes__", ())])
            return text if self._redact is None else redact_text(text, self._redact)
        except Exception:  # noqa: BLE001 - a text that can't be redacted is not shown
            return kind
