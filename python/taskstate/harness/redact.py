"""Apply a user's redaction to every string on its way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import core
from ..errors import ConfigurationError, InvalidValueError

if TYPE_CHECKING:
    from pydantic import BaseModel

Redact: TypeAlias = Callable[[str], str]
"""Gives a text with what must not leave the process replaced."""


def redact_text(text: str, redact: Redact) -> str:
    """The redacted text; ConfigurationError where the callable gives no str."""
    redacted = redact(text)
    if type(redacted) is not str:
        raise ConfigurationError(f"redact gave {type(redacted).__name__}, not str")
    return redacted


def redact_value(
    value: Any, redact: Redact, fixed_keys: frozenset[str] = frozenset(), path: tuple[str | int, ...] = ()
) -> Any:
    """A copy of JSON data with every string redacted, keys included but for `fixed_keys`.

    Raises InvalidValueError where two keys of one dict become equal, since one value would be lost, or
    where a key becomes one of the fixed ones.
    """
    if isinstance(value, str):
        return redact_text(str.__str__(value), redact)
    if isinstance(value, list | tuple):
        return [redact_value(item, redact, fixed_keys, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        redacted = {}
        for key, item in value.items():
            shown = key if key in fixed_keys else redact_text(key, redact)
            if shown in redacted:
                raise InvalidValueError(core.format_path("", path), "redaction makes two keys equal")
            if shown in fixed_keys and shown != key:
                raise InvalidValueError(core.format_path("", path), "redaction makes a reserved key")
            redacted[shown] = redact_value(item, redact, fixed_keys, (*path, shown))
        return redacted
    return value


def redact_arguments(parsed: BaseModel, redact: Redact) -> BaseModel:
    """The arguments of a function with every text redacted, so that it compares them with what the state holds.

    What is nested in them is redacted when it enters the state.
    """
    texts = {name: redact_text(value, redact) for name, value in parsed if type(value) is str}
    return parsed.model_copy(update=texts)
