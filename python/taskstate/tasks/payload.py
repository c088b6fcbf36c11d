"""Payloads on their way in and out: validated, encoded, measured, in that order."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

import orjson
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from ..errors import ConfigurationError, CorruptRecordError, InvalidValueError, PayloadError
from ..storage.codec import decode, encode

T = TypeVar("T")

_SORTED = orjson.OPT_SORT_KEYS

What: TypeAlias = Literal["input", "result", "checkpoint"]


class Contract(Generic[T]):
    """What a payload must be: any type that pydantic knows."""

    def __init__(self, kind: Any, what: What) -> None:
        self.kind = kind
        self._what = what
        self._any = kind is Any
        try:
            self._adapter: TypeAdapter[T] = TypeAdapter(kind)
            # Where a type leaves open what a value is, pydantic would make a null of a number that JSON doesn't have.
            # A model takes no setting from outside; within a list it does.
            strict_numbers = ConfigDict(ser_json_inf_nan="constants")
            self._dumper: TypeAdapter[list[T]] = TypeAdapter(list[kind], config=strict_numbers)
        except Exception as error:  # noqa: BLE001 - pydantic raises errors of several families
            told = str(error).partition("\n")[0]
            raise ConfigurationError(f"{what}: not a type of payloads: {type(error).__name__}: {told}") from None

    def encode(self, value: object, place: str, limit: int) -> str:
        """JSON text of a value that keeps the contract; PayloadError else, or above `limit` bytes."""
        try:
            kept = self._adapter.validate_python(value)
            # What a type is read from is written: its aliases, and not what it computes.
            (plain,) = self._dumper.dump_python(
                [kept], mode="json", by_alias=not self._any, round_trip=not self._any, warnings="error"
            )
        except Exception as error:  # noqa: BLE001 - a type's own code may raise anything
            raise self._invalid(place, error) from None
        return text_of(plain, self._what, place, limit)

    def decode(self, text: str, place: str) -> T:
        """The value that was encoded; PayloadError if it doesn't keep the contract (any more)."""
        try:
            data = decode(text.encode(), place)
            # As JSON, not as Python: a strict type takes a date or a tuple from JSON only.
            return cast("T", data) if self._any else self._adapter.validate_json(text)
        except CorruptRecordError as error:
            raise PayloadError(f"{self._what}_invalid", place, error.reason) from None
        except Exception as error:  # noqa: BLE001 - as above
            raise self._invalid(place, error) from None

    def plain(self, value: T) -> Any:
        """The value as JSON data."""
        return self._adapter.dump_python(value, mode="json", by_alias=not self._any)

    def schema(self) -> dict[str, Any]:
        """The JSON schema of what is accepted."""
        return self._adapter.json_schema()

    def _invalid(self, place: str, error: Exception) -> PayloadError:
        return PayloadError(f"{self._what}_invalid", place, _reason(error))


def text_of(value: object, what: What, place: str, limit: int) -> str:
    """JSON text of plain data; PayloadError if it is something else or larger than `limit` bytes."""
    try:
        text = encode(value, place)
    except InvalidValueError as error:
        raise PayloadError(f"{what}_invalid", error.path, error.reason) from None
    if len(text) > limit:
        raise PayloadError(f"{what}_too_large", place, f"{len(text)} bytes of JSON are more than {limit}")
    return text.decode()


def _reason(error: Exception) -> str:
    if isinstance(error, PydanticSerializationError):
        return "can't be turned into JSON"
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__} where it was validated"
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}" for fault in faults[:5]]
    return "; ".join(shown) + (f"; and {len(faults) - 5} more" if len(faults) > 5 else "")


def hash_of(text: str) -> str:
    """What tells one JSON value from another, whatever the order of its keys."""
    return sha256(orjson.dumps(orjson.loads(text), option=_SORTED)).hexdigest()


def hash_of_arguments(args: Sequence[object], kwargs: dict[str, object]) -> str:
    """What tells one call from another; an argument that isn't data counts by its type only."""
    parts = [_data_of(value) for value in args] + [[name, _data_of(kwargs[name])] for name in sorted(kwargs)]
    return sha256(orjson.dumps(parts, option=_SORTED)).hexdigest()


def _data_of(value: object) -> Any:
    try:
        return orjson.loads(orjson.dumps(value, default=_parts_of, option=orjson.OPT_NON_STR_KEYS))
    except TypeError:  # what JSON doesn't have: a large number, a cycle, a lone surrogate
        pass
    try:
        return orjson.loads(to_json(value, fallback=_type_of, inf_nan_mode="strings", bytes_mode="base64"))
    except ValueError:
        return _type_of(value)


def _parts_of(value: object) -> Any:
    if isinstance(value, set | frozenset):  # in another process they have another order
        return sorted((_data_of(item) for item in value), key=lambda item: orjson.dumps(item, option=_SORTED))
    if isinstance(value, BaseModel):
        return value.__dict__ | (value.__pydantic_extra__ or {})
    return orjson.Fragment(to_json(value, fallback=_type_of, inf_nan_mode="strings", bytes_mode="base64"))


def _type_of(value: object) -> str:
    return f"<{type(value).__qualname__}>"
