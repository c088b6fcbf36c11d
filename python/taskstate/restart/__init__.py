"""The restart record: what is true of a task after an interruption, and what may happen next."""

from __future__ import annotations

from .apply import apply
from .assess import assess
from .assessment import Assessment, Item, Missing
from .change import change
from .observed import Observed, SeenEffect, SeenFile, SeenSource
from .plan import plan
from .record import RestartRecord

__all__ = [
    "Assessment",
    "Item",
    "Missing",
    "Observed",
    "RestartRecord",
    "SeenEffect",
    "SeenFile",
    "SeenSource",
    "apply",
    "assess",
    "change",
    "plan",
]
