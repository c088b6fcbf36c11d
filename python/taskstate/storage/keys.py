"""How the places of task state are written as storage keys.

`layers/<layer>/<scope>/<name>`, where `<scope>` is the id of a thread, resource or execution, or
`__global__`. A `/` or `%` inside a part is percent-encoded, and so is an id that reads `__global__`,
so that two places never share a key. Ordinary ids stand as they are.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import InvalidValueError
from ..types import Scope

GLOBAL_SCOPE = "__global__"
"""The scope part of state that all threads share."""

STATE = "state"
"""The name under which a layer keeps its state."""

LAYERS_PREFIX = "layers/"
"""What every key of this layout starts with."""

_ENCODED_GLOBAL = "%5F%5Fglobal%5F%5F"
_ENCODED = re.compile("%(2F|25|5F)", re.IGNORECASE)
_DECODED = {"2F": "/", "25": "%", "5F": "_"}


class ScopedKey(NamedTuple):
    """A storage key taken apart; `scope_key` is the id as the user knows it."""

    layer_id: str
    scope_key: str
    is_global: bool
    name: str


def encode_part(text: str) -> str:
    """`text` with `%` and `/` percent-encoded, so that it can't reach into another part of a key."""
    return text.replace("%", "%25").replace("/", "%2F")


def decode_part(part: str) -> str:
    """The text that `encode_part` or `scope_part` made `part` of; any other `%` stands for itself."""
    return _ENCODED.sub(lambda found: _DECODED[found[1].upper()], part)


def scope_part(scope: Scope | None, scope_key: str) -> str:
    """The scope part of a key.

    With scope `global` it is `__global__` whatever `scope_key` is; with another one an id that reads
    `__global__` is encoded. With None, `__global__` is taken to mean the global scope.
    """
    if scope == "global":
        return GLOBAL_SCOPE
    if scope is not None and scope_key == GLOBAL_SCOPE:
        return _ENCODED_GLOBAL
    return encode_part(scope_key)


def layer_prefix(layer_id: str) -> str:
    """What every key of a layer starts with: `layers/<layer>/`."""
    return f"{LAYERS_PREFIX}{encode_part(layer_id)}/"


def scope_prefix(layer_id: str, scope_key: str, *, scope: Scope | None = None) -> str:
    """What every key of one scope of a layer starts with: `layers/<layer>/<scope>/`."""
    return f"{layer_prefix(layer_id)}{scope_part(scope, scope_key)}/"


def state_key(layer_id: str, scope_key: str, *, scope: Scope | None = None) -> str:
    """Where a layer keeps the state of one scope: `layers/<layer>/<scope>/state`."""
    return scope_prefix(layer_id, scope_key, scope=scope) + STATE


def parse_key(key: str) -> ScopedKey | None:
    """The parts of a key of this layout; None for any other key."""
    parts = key.removeprefix(LAYERS_PREFIX).split("/", 2)
    if not key.startswith(LAYERS_PREFIX) or len(parts) != 3:
        return None
    layer, scope, name = parts
    return ScopedKey(decode_part(layer), decode_part(scope), scope == GLOBAL_SCOPE, name)


def check_key(key: str, name: str = "key") -> bytes:
    """`key` in UTF-8; InvalidValueError if it isn't exactly a `str`, or holds a lone surrogate."""
    if type(key) is not str:
        raise InvalidValueError(name, f"{type(key).__name__} is not a str")
    try:
        return key.encode()
    except UnicodeEncodeError:
        raise InvalidValueError(name, "string holds a lone surrogate") from None
