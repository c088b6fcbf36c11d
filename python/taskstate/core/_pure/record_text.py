"""How the text of an agent state's snapshot is read: the reference, which the native twin falls back on."""

from __future__ import annotations

import sys
from typing import Any

import orjson

from ...errors import InvalidValueError
from ..record_faults import invalid, malformed
from .value import validate


def parse(text: Any) -> Any:
    """The JSON value of a snapshot's text; AgentStateError where it is no text, no JSON or nested too deep."""
    if type(text) is not str and type(text) is not bytes:
        raise invalid("snapshot", (), "a str or bytes", text)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith("depth limit"):
            raise invalid("snapshot", (), "too_deep") from None
        raise malformed(f"not JSON: line {error.lineno}, column {error.colno}") from None
    try:
        validate(value, max_bytes=sys.maxsize)
    except InvalidValueError:
        raise invalid("snapshot", (), "too_deep") from None
    return value
