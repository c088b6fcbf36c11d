"""Keep secrets out of what is stored, rendered and logged: find them, refuse them, or put a mark in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from pydantic import SecretBytes, SecretStr

from .. import core
from ..errors import ConfigurationError, SecretError
from .detectors import DETECTORS, REDACTED, Detector, names_secret, spans

__all__ = [
    "DETECTORS",
    "REDACTED",
    "Detector",
    "Mode",
    "SecretError",
    "find_secrets",
    "guard",
    "redact_secrets",
    "redact_text",
]

Mode: TypeAlias = Literal["refuse", "redact"]
"""What becomes of data with a secret in it."""

_Path: TypeAlias = tuple[str | int, ...]

_BY_ID = frozenset({"sources", "artifacts", "versions", "units", "pending_effects"})
"""Places of a restart record whose keys are ids of the application: `extract-token` names a unit, no secret."""
_LONGEST_KNOWN = 100
"""Characters of a text that is looked at once in one walk: keys and words come again and again."""
_LONGEST_REPR = 100_000
"""Characters of a text that are looked at for its representation."""


def find_secrets(data: Any, detectors: Iterable[Detector] = DETECTORS) -> list[str]:
    """The places in JSON data that hold a secret, in order; a key that is one itself isn't shown in them.

    A value is one if a detector finds one in its text, if its key or a key above it says so (`password`, `apiKey`),
    or if it is a SecretStr. In a restart record the ids of sources, artifacts and units say nothing.
    """
    return list(dict.fromkeys(_Walk(tuple(detectors), data).found(data, (), named=False)))


def redact_secrets(data: Any, detectors: Iterable[Detector] = DETECTORS) -> Any:
    """A copy of JSON data with a mark in the place of every secret; what is around it in a text stays.

    Doing it again changes nothing. Raises SecretError where two keys of one dict would become equal.
    """
    return _Walk(tuple(detectors), data).redacted(data, (), named=False)


def guard(data: Any, mode: Mode = "refuse", detectors: Iterable[Detector] = DETECTORS) -> Any:
    """The data without secrets: `refuse` raises SecretError where there is one, `redact` marks its place."""
    if mode not in ("refuse", "redact"):
        raise ConfigurationError("secrets is 'refuse' or 'redact'")
    known = tuple(detectors)
    if mode == "redact":
        return redact_secrets(data, known)
    if paths := find_secrets(data, known):
        raise SecretError(paths)
    return data


def redact_text(text: str, detectors: Iterable[Detector] = DETECTORS) -> str:
    """The text with a mark in the place of every secret."""
    known = tuple(detectors)
    # What is left of a text when a secret is taken out can be one for another detector.
    for _ in range(4):
        shorter = _redacted_once(text, known)
        if shorter == text:
            break
        text = shorter
    return text


def _redacted_once(text: str, detectors: tuple[Detector, ...]) -> str:
    pieces, done = [], 0
    for start, end, _ in sorted(spans(text, detectors)):
        if end <= done:
            continue
        if start >= done:
            pieces += [text[done:start], REDACTED]
        done = end
    return "".join([*pieces, text[done:]])


class _Walk:
    """Goes through JSON data; `shown` is the path, `named` whether a key on it says that the value is a secret."""

    def __init__(self, detectors: tuple[Detector, ...], data: Any) -> None:
        self._detectors = detectors
        self._known: dict[str, str] = {}
        self._record = isinstance(data, dict) and {"schemaVersion", "task_id", "objective"} <= data.keys()

    def found(self, value: Any, shown: _Path, *, named: bool) -> Iterator[str]:
        """The places of the secrets in a value."""
        if isinstance(value, dict):
            for key, item in value.items():
                place = (*shown, self._text(key) if isinstance(key, str) else key)
                if isinstance(key, str) and self._text(key) != key:
                    yield core.format_path("", place)
                yield from self.found(item, place, named=self._named(key, item, shown, named=named))
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                yield from self.found(item, (*shown, index), named=named)
        elif self._is_secret(value, named=named) or (isinstance(value, str) and self._text(value) != value):
            yield core.format_path("", shown)

    def redacted(self, value: Any, shown: _Path, *, named: bool) -> Any:
        """The value with a mark in the place of every secret."""
        if isinstance(value, dict):
            copy: dict[Any, Any] = {}
            for key, item in value.items():
                kept = self._text(key) if isinstance(key, str) else key
                if kept in copy:
                    raise SecretError([core.format_path("", (*shown, kept))], "redaction makes two keys equal")
                copy[kept] = self.redacted(item, (*shown, kept), named=self._named(key, item, shown, named=named))
            return copy
        if isinstance(value, list | tuple):
            return [self.redacted(item, (*shown, index), named=named) for index, item in enumerate(value)]
        if self._is_secret(value, named=named):
            return REDACTED
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        if len(text) > _LONGEST_KNOWN:
            return redact_text(text, self._detectors)
        if (known := self._known.get(text)) is None:
            known = self._known[text] = redact_text(text, self._detectors)
        return known

    def _is_secret(self, value: Any, *, named: bool) -> bool:
        if isinstance(value, SecretStr | SecretBytes):
            return True
        return named and _may_be_secret(value)

    def _named(self, key: Any, item: Any, shown: _Path, *, named: bool) -> bool:
        """Whether a key, or one above it, says that what is below it is secret."""
        if named or not isinstance(key, str) or not names_secret(key):
            return named
        if self._record and shown and shown[-1] in _BY_ID:
            return False
        # A criterion is prose under an id of the application; a secret is one word.
        criterion = self._record and bool(shown) and shown[-1] == "items"
        return not (criterion and isinstance(item, str) and len(item.split()) > 1)


def _may_be_secret(value: Any) -> bool:
    if isinstance(value, str):
        return value not in ("", REDACTED)
    return isinstance(value, int | float) and not isinstance(value, bool)
