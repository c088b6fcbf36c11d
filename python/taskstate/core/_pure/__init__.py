"""The pure-Python twin of the native core: the same names, results, errors and messages."""

from __future__ import annotations

from .record import Record
from .render import render_block, render_parts
from .state import check_state, merge
from .value import clone, equal, measure, validate

__all__ = ["Record", "check_state", "clone", "equal", "measure", "merge", "render_block", "render_parts", "validate"]
