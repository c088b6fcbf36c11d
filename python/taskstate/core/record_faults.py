"""How a fault in an agent state is worded: one place for both twins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from ..errors import AgentStateError
from ..types import STATUSES
from .faults import REASONS, describe, format_path
from .limits import AGENT_STATE_VERSION

Given = Literal["input", "snapshot"]

_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f]")
_SHOWN_ID = 200
_LARGEST_SHOWN_VERSION = 10**6

_REASONS = {
    **{kind: REASONS[kind] for kind in ("missing", "surrogate", "too_deep")},
    "blank": "blank",
    "status": f"none of {', '.join(STATUSES)}",
    "unknown": "unknown field",
}


def malformed(reason: str) -> AgentStateError:
    """The error for a snapshot's text that can't be read."""
    return AgentStateError("invalid_input", "Invalid agent state snapshot.", "snapshot", reason)


def invalid(given: Given, keys: Sequence[Any], kind: str, subject: Any = None) -> AgentStateError:
    """The error for something malformed; `kind` says what is wrong, or what is wanted in the place of `subject`."""
    path = format_path("", keys) if keys else given
    if kind == "version":
        reason = _version_reason(subject)
    else:
        reason = _REASONS.get(kind) or f"{describe(subject)} is not {kind}"
    return AgentStateError("invalid_input", f"Invalid agent state {given}.", path, reason)


def duplicate(noun: str, keys: Sequence[Any], item_id: str) -> AgentStateError:
    """The error for an id that is there already; `noun` is `work item` or `decision`."""
    message = f'Duplicate {noun} id "{_shown(item_id)}".'
    return AgentStateError("duplicate_item_id", message, format_path("", keys), "there already", item_id)


def unknown(noun: str, keys: Sequence[Any], item_id: str) -> AgentStateError:
    """The error for an id that isn't there."""
    message = f'Unknown {noun} id "{_shown(item_id)}".'
    return AgentStateError("unknown_item_id", message, format_path("", keys), "not there", item_id)


def _version_reason(version: Any) -> str:
    if type(version) is int and abs(version) <= _LARGEST_SHOWN_VERSION:
        return f"version {version} is not supported, only {AGENT_STATE_VERSION} is"
    return f"{describe(version)} is not {AGENT_STATE_VERSION}"


def _shown(item_id: str) -> str:
    """An id as a message shows it: control characters escaped, and cut to its first 200 characters."""
    cut = item_id if len(item_id) <= _SHOWN_ID else item_id[:_SHOWN_ID] + "..."
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", cut)
