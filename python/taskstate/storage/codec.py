"""JSON values to strict JSON text and back, with the same rules for every adapter.

Text that this module wrote holds only what `core.validate` accepts: finite numbers, integers
within 64 bits, no lone surrogate. Text that something else wrote is held to that when it is read.
"""

from __future__ import annotations

import json
import sys

import orjson

from .. import core
from ..errors import ConfigurationError, CorruptRecordError, InvalidValueError
from ..types import JSON

# Types that orjson would turn into text by itself; validation refuses them, and so does this if
# another thread puts one into the value between the two steps.
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS

_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1
_LONG_RUN = b"0" * 19  # the fewest digits that an integer beyond 64 bits has
_DIGITS_AS_ZEROS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else ord(" ") for byte in range(256))


def check_limit(max_bytes: int) -> int:
    """`max_bytes`, if a value of some size can be kept within it; else ConfigurationError."""
    if max_bytes < 1:
        raise ConfigurationError("max_bytes must be at least 1")
    return max_bytes


def encode(value: JSON, name: str = "value", *, max_bytes: int = core.DEFAULT_MAX_BYTES) -> bytes:
    """Compact strict JSON text of `value`, in UTF-8.

    Raises InvalidValueError where `value` isn't plain JSON data, with the path below `name`, and
    StateTooLargeError above `max_bytes` (as `core.validate` counts them).
    """
    core.validate(value, name, max_bytes=max_bytes)
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError as error:
        raise InvalidValueError(name, "changed while it was being stored") from error


def decode(text: bytes, key: str) -> JSON:
    """The value that `text` holds; CorruptRecordError, naming `key`, if it isn't strict JSON.

    Refused too: an integer outside -2^63..2^64-1 (orjson would make a float of it), a lone
    surrogate, NaN, and nesting deeper than `core.MAX_DEPTH`.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise CorruptRecordError(key, f"not valid JSON ({error.msg} at byte {error.pos})") from None
    if text.count(b"[") + text.count(b"{") > core.MAX_DEPTH:  # fewer containers can't be nested deeper
        try:
            core.validate(value, "value", max_bytes=sys.maxsize)
        except InvalidValueError as error:
            raise CorruptRecordError(key, error.reason) from None
    if _may_hold_long_integer(text):
        try:
            json.loads(text, parse_int=_checked_int)
        except ValueError as error:
            raise CorruptRecordError(key, str(error)) from None
    return value


def _may_hold_long_integer(text: bytes) -> bool:
    """Whether 19 digits follow one another other than behind a decimal point (a string may do so too)."""
    zeros = text.translate(_DIGITS_AS_ZEROS)
    start = zeros.find(_LONG_RUN)
    while start >= 0:
        if text[start - 1 : start] != b".":
            return True
        end = zeros.find(b" ", start)
        start = zeros.find(_LONG_RUN, end) if end >= 0 else -1
    return False


def _checked_int(digits: str) -> int:
    if not _INT_MIN <= int(digits) <= _INT_MAX:
        raise ValueError("integer is outside -2^63..2^64-1")
    return 0
