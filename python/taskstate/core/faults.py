"""How a fault in a value is worded: one place for both twins.

The native twin calls `value_fault` and `state_fault` too, so an error names the same path
in the same words whichever twin found it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ..errors import ConfigurationError, InvalidStateError, InvalidValueError, StateTooLargeError
from .limits import MAX_DEPTH

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_SHOWN_KEY = 60
_NAME_OF = type.__dict__["__name__"].__get__  # a metaclass may have one of its own, which runs a user's code
_JSON_TYPES = (dict, list, tuple, str, int, float)

REASONS = {
    "surrogate": "string holds a lone surrogate",
    "key_surrogate": "key holds a lone surrogate",
    "not_finite": "number is not finite",
    "int_range": "integer is outside -2^63..2^64-1",
    "too_deep": f"nested deeper than {MAX_DEPTH} levels",
    "missing": "missing",
}


def format_path(name: str, keys: Sequence[Any]) -> str:
    """The place that `keys` lead to below `name`, as `name.key[3]["odd key"]`."""
    shown = name
    for key in keys:
        if type(key) is int:
            shown += f"[{key}]"
        elif type(key) is not str:
            shown += f"[{describe(key)}]"
        elif _PLAIN_KEY.match(key) and len(key) <= _SHOWN_KEY:
            shown += f".{key}" if shown else key
        else:
            cut = key if len(key) <= _SHOWN_KEY else key[:_SHOWN_KEY] + "..."
            shown += f"[{json.dumps(cut)}]"
    return shown or "state"


def describe(value: object) -> str:
    """The name of a value's type, and the JSON type it derives from where it is a subclass."""
    kind = type(value)
    name = str(_NAME_OF(kind))[:100]
    for base in _JSON_TYPES:
        if issubclass(kind, base) and kind is not base and kind is not bool:
            return f"{name} (a subclass of {base.__name__})"
    return name


def value_fault(kind: str, name: str, keys: Sequence[Any], subject: Any) -> InvalidValueError:
    """The error for a fault that the walk over a value met.

    `subject` is the offending value (`not_json`, `bad_key`), the root (`too_deep`) or the limit in bytes (`too_large`).
    """
    if kind == "too_large":
        return StateTooLargeError(format_path(name, ()), f"larger than {subject} bytes")
    if kind == "not_json":
        return InvalidValueError(format_path(name, keys), f"{describe(subject)} is not a JSON value")
    if kind == "bad_key":
        return InvalidValueError(format_path(name, keys), f"key of type {describe(subject)} is not a str")
    if kind == "too_deep":
        return _depth_fault(name, keys, subject)
    return InvalidValueError(format_path(name, keys), REASONS[kind])


def state_fault(kind: str, name: str, keys: Sequence[Any], subject: Any) -> InvalidStateError:
    """The error for JSON data that is not a task state; `kind` is `missing` or what is wanted there."""
    reason = REASONS.get(kind) or f"{describe(subject)} is not {kind}"
    return InvalidStateError(format_path(name, keys), reason)


def mode_fault(mode: object) -> ConfigurationError:
    """The error for a mode of merging that isn't one."""
    return ConfigurationError(f"unknown merge mode {mode!r}")


def _depth_fault(name: str, keys: Sequence[Any], root: Any) -> InvalidValueError:
    """Tell a cycle from honest nesting by walking down the path that was too deep."""
    seen = {id(root): 0}
    here = root
    for depth, key in enumerate(keys, 1):
        try:
            here = here[key]
        except (LookupError, TypeError):  # somebody changed the value meanwhile
            break
        if id(here) in seen:
            back = format_path(name, keys[: seen[id(here)]])
            return InvalidValueError(format_path(name, keys[:depth]), f"refers back to {back}")
        seen[id(here)] = depth
    return InvalidValueError(format_path(name, keys), REASONS["too_deep"])
