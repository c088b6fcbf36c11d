"""Options that the harness and its twin without `await` both take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ..ids import IdFactory
from ..layer.context import ContextLayer
from ..storage import StorageAdapter
from .diagnostics import DiagnosticsCallback
from .records import SharedThread
from .redact import Redact


class HarnessOptions(TypedDict, total=False):
    """What `Harness` is made with; it says what each means."""

    layers: Sequence[ContextLayer]
    storage: StorageAdapter | None
    strict: bool
    redact: Redact | None
    diagnostics: DiagnosticsCallback | None
    shared_thread: SharedThread
    context_window: float
    response_reserve: float
    max_state_bytes: int
    ids: IdFactory


class RecallOptions(TypedDict, total=False):
    """What `recall` takes beside the query; it says what each means."""

    log: Sequence[Any]
    budgets: Mapping[str, float] | None
    context_window: float | None
    system_prompt_tokens: float
    response_reserve: float | None
