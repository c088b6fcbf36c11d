"""What the log may hold: facts and no content."""

from __future__ import annotations

from ..errors import TaskStateError


def shown(error: BaseException) -> object:
    """An error as the log shows it: this library's own hold no content, of any other one only the kind is told."""
    return error if isinstance(error, TaskStateError) else type(error).__name__
