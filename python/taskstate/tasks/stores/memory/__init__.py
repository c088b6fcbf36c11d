"""Tasks in this process only: plain data under one lock, which also says what the rules of a store mean."""

from __future__ import annotations

from .store import MemoryTaskStore

__all__ = ["MemoryTaskStore"]
