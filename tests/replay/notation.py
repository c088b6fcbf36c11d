"""The notation of the recordings: what stands for values that JSON lacks."""

from __future__ import annotations

import math
from typing import Any

from taskstate.storage import decode as decode_json

ABSENT: Any = object()
"""A key or argument that isn't there (JavaScript's undefined)."""

_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}


def decode(value: Any) -> Any:
    """A recorded value as Python data; None for undefined, which is dropped from dicts."""
    decoded = _decode(value)
    return None if decoded is ABSENT else decoded


def is_undefined(value: Any) -> bool:
    """Whether a recorded value stands for undefined."""
    return bool(value == {"$": "undefined"})


def _decode(value: Any) -> Any:
    if type(value) is dict:
        if value.keys() == {"$"}:
            return ABSENT if value["$"] == "undefined" else _NUMBERS[value["$"]]
        decoded = {key: _decode(item) for key, item in value.items()}
        return {key: item for key, item in decoded.items() if item is not ABSENT}
    if type(value) is list:
        return [None if item is ABSENT else item for item in map(_decode, value)]
    return value


def encode(value: Any) -> Any:
    """Python data in the notation of the recordings."""
    if type(value) is float and not math.isfinite(value):
        return {"$": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if type(value) is float and value == 0 and math.copysign(1, value) < 0:
        return {"$": "-0"}
    if type(value) is dict:
        return {key: encode(item) for key, item in value.items()}
    if type(value) is list or type(value) is tuple:
        return [encode(item) for item in value]
    return value


def field(case: dict[str, Any], name: str) -> Any:
    """A field of an input, given as a value or, under the same name with `Json`, as text."""
    return decode_json(case[f"{name}Json"].encode(), name) if f"{name}Json" in case else decode(case[name])


def error(failure: BaseException) -> dict[str, str]:
    """How a failed call is written."""
    return {"error": type(failure).__name__}
