"""Apply a user's redaction to every string on its way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .. import core
from ..errors import ConfigurationError, InvalidValueError
from ..layer.context import ContextLayer

if TYPE_CHECKING:
    from pydantic import BaseModel

Redact: TypeAlias = Callable[[str], str]
"""Gives a text with what must not leave the process replaced."""


class Fixed(NamedTuple):
    """Keys and texts of a layer's state that redaction leaves alone."""

    keys: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()

    @classmethod
    def of(cls, layer: ContextLayer) -> Fixed:
        """What a layer wants left alone."""
        return cls(layer.fixed_keys, layer.fixed_values)


NOTHING_FIXED = Fixed()


def redact_text(text: str, redact: Redact) -> str:
    """The redacted text; ConfigurationError where the callable gives no str."""
    redacted = redact(text)
    if type(redacted) is not str:
        raise ConfigurationError(f"redact gave {type(redacted).__name__}, not str")
    return redacted


def redact_value(value: Any, redact: Redact, fixed: Fixed = NOTHING_FIXED, path: tuple[str | int, ...] = ()) -> Any:
    """A copy of JSON data with every string redacted, keys included, but for what is `fixed`.

    Raises InvalidValueError where two keys of one dict become equal, since one value would be lost, or
    where a key becomes one of the fixed ones.
    """
    if isinstance(value, str):
        text = str.__str__(value)
        return text if text in fixed.values else redact_text(text, redact)
    if isinstance(value, list | tuple):
        return [redact_value(item, redact, fixed, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        redacted = {}
        for key, item in value.items():
            shown = key if key in fixed.keys else redact_text(key, redact)
            if shown in redacted:
                raise InvalidValueError(core.format_path("", path), "redaction makes two keys equal")
            if shown in fixed.keys and shown != key:
                raise InvalidValueError(core.format_path("", path), "redaction makes a reserved key")
            redacted[shown] = redact_value(item, redact, fixed, (*path, shown))
        return redacted
    return value


def redact_arguments(parsed: BaseModel, redact: Redact, fixed: Fixed, nested: frozenset[str]) -> BaseModel:
    """The arguments of a function with every text redacted, so that it compares them with what the state holds.

    What is nested in those that aren't `nested` is redacted when it enters the state.
    """
    redacted = {
        name: redact_value(core.clone(value, name), redact, fixed, (name,))
        for name, value in parsed
        if type(value) is str or name in nested
    }
    return parsed.model_copy(update=redacted)
