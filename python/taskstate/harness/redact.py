"""Apply a user's redaction to every string on its way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .. import core
from ..errors import ConfigurationError, InvalidValueError

Redact: TypeAlias = Callable[[str], str]
"""Gives a text with what must not leave the process replaced."""


def redact_text(text: str, redact: Redact) -> str:
    """The redacted text; ConfigurationError where the callable gives no str."""
    redacted = redact(text)
    if type(redacted) is not str:
        raise ConfigurationError(f"redact gave {type(redacted).__name__}, not str")
    return redacted


def redact_value(value: Any, redact: Redact, path: tuple[str | int, ...] = ()) -> Any:
    """A copy of JSON data with every string redacted, keys included.

    Raises InvalidValueError where two keys of one dict become equal, since one value would be lost.
    """
    if type(value) is str:
        return redact_text(value, redact)
    if type(value) is list:
        return [redact_value(item, redact, (*path, index)) for index, item in enumerate(value)]
    if type(value) is dict:
        redacted = {redact_text(key, redact): redact_value(item, redact, (*path, key)) for key, item in value.items()}
        if len(redacted) != len(value):
            raise InvalidValueError(core.format_path("", path), "redaction makes two keys equal")
        return redacted
    return value
