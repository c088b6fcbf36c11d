"""Check, clone and compare JSON values: the reference for `rust/src/value`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..faults import value_fault
from ..limits import DEFAULT_MAX_BYTES, MAX_DEPTH

_VALUE_COST = 8
# How far a copy goes before the whole value is weighed, so that one that is too large (a few shared
# containers can stand for billions) is refused before its copy fills the memory.
_COPIED_UNWEIGHED = 1024 * 1024
MIN_INT = -(2**63)
MAX_INT = 2**64 - 1


class Fault(Exception):
    """A fault on its way up; each level adds its key, the root turns it into a typed error."""

    def __init__(self, kind: str, subject: Any = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.subject = subject
        self.keys: list[Any] = []

    def at(self, key: Any) -> Fault:
        """The same fault, seen from one level further up."""
        self.keys.append(key)
        return self

    def error(self, name: str, root: Any) -> Exception:
        """The typed error for the caller."""
        subject = root if self.kind == "too_deep" else self.subject
        return value_fault(self.kind, name, self.keys[::-1], subject)


class _Walk:
    """One pass over a value: checks every node, counts its size and, if wanted, copies it."""

    def __init__(self, root: Any, max_bytes: int, depth: int, *, copying: bool = False) -> None:
        self.root = root
        self.max_bytes = max_bytes
        self.depth = depth
        self.copying = copying
        self.pause = min(max_bytes, _COPIED_UNWEIGHED) if copying else max_bytes
        self.size = 0

    def run(self) -> Any:
        return self.value(self.root, self.depth)

    def charge(self, size: int) -> None:
        self.size += size
        if self.size > self.pause:
            self.weigh()

    def weigh(self) -> None:
        """Whether the whole value is within the limit. Another fault in it is left for the walk to meet."""
        if self.size > self.max_bytes:
            raise Fault("too_large", self.max_bytes)
        self.pause = self.max_bytes
        try:
            _Walk(self.root, self.max_bytes, self.depth).run()
        except Fault as fault:
            if fault.kind == "too_large":
                raise

    def text(self, value: str, kind: str) -> int:
        """The length of a string in UTF-8 bytes."""
        if value.isascii():
            return len(value)
        try:
            return len(value.encode())
        except UnicodeEncodeError:
            raise Fault(kind) from None

    def value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            self.charge(_VALUE_COST + self.text(value, "surrogate"))
            return value
        if kind is dict:
            return self.dict(value, depth + 1)
        if kind is list or kind is tuple:
            return self.list(value, depth + 1)
        if kind is float:
            if not math.isfinite(value):
                raise Fault("not_finite")
        elif kind is int:
            if not MIN_INT <= value <= MAX_INT:
                raise Fault("int_range")
        elif kind is not bool and value is not None:
            raise Fault("not_json", value)
        self.charge(_VALUE_COST)
        return value

    def dict(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        if depth > MAX_DEPTH:
            raise Fault("too_deep")
        self.charge(_VALUE_COST)
        copy = {}
        for key, item in list(value.items()):  # another thread may change it meanwhile
            if type(key) is not str:
                raise Fault("bad_key", key)
            self.charge(self.text(key, "key_surrogate"))
            try:
                seen = self.value(item, depth)
            except Fault as fault:
                raise fault.at(key) from None
            if self.copying:
                copy[key] = seen
        return copy

    def list(self, value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise Fault("too_deep")
        self.charge(_VALUE_COST)
        copy = []
        for index, item in enumerate(list(value)):
            try:
                seen = self.value(item, depth)
            except Fault as fault:
                raise fault.at(index) from None
            if self.copying:
                copy.append(seen)
        return copy


def clone(value: Any, name: str = "value", *, max_bytes: int = DEFAULT_MAX_BYTES, depth: int = 0) -> Any:
    """A deep copy of JSON data that shares no container with it; tuples become lists.

    Accepts exact dict (str keys), list, tuple, str without lone surrogates, bool, None, finite float and
    int from -2^63 to 2^64-1, at most 200 containers deep. `name` is what errors call the value, `max_bytes`
    limits its size as `measure` counts it, `depth` tells how many containers it will lie in.

    Raises InvalidValueError with the path of the first fault, StateTooLargeError for the limit.
    """
    try:
        return _Walk(value, max_bytes, depth, copying=True).run()
    except Fault as fault:
        raise fault.error(name, value) from None


def validate(value: Any, name: str = "value", *, max_bytes: int = DEFAULT_MAX_BYTES, depth: int = 0) -> None:
    """Check that a value is JSON data, as `clone` does, without copying it."""
    _size(value, name, max_bytes, depth)


def measure(value: Any, name: str = "value", *, max_bytes: int = DEFAULT_MAX_BYTES) -> int:
    """The size of JSON data in bytes: 8 for every value, and the UTF-8 length of every str and key.

    Raises as `clone` does; a value over `max_bytes` isn't counted to its end.
    """
    return _size(value, name, max_bytes, 0)


def _size(value: Any, name: str, max_bytes: int, depth: int) -> int:
    walk = _Walk(value, max_bytes, depth)
    try:
        walk.run()
    except Fault as fault:
        raise fault.error(name, value) from None
    return walk.size


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON data.

    Strict by type: `1`, `1.0` and `True` differ, and so do `0.0` and `-0.0`. The order of keys doesn't
    count. Raises InvalidValueError where they are nested too deep to tell.
    """
    try:
        return same(left, right, 0)
    except Fault as fault:
        raise fault.error("value", left) from None


def same(left: Any, right: Any, depth: int) -> bool:
    """Whether two values are the same JSON data; `1`, `1.0` and `True` differ, key order doesn't count."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return False
    if kind is dict:
        return len(left) == len(right) and _all_same(left.items(), right, depth)
    if kind is list:
        return len(left) == len(right) and _all_same(enumerate(left), right, depth)
    if kind is float:
        return bool(left == right and math.copysign(1.0, left) == math.copysign(1.0, right))
    if kind is str or kind is int:
        return bool(left == right)
    return False


def _all_same(items: Any, right: Any, depth: int) -> bool:
    if depth >= MAX_DEPTH:
        raise Fault("too_deep")
    get: Callable[[Any], Any] = right.get if type(right) is dict else right.__getitem__
    for key, item in items:
        if type(right) is dict and key not in right:
            return False
        try:
            if not same(item, get(key), depth + 1):
                return False
        except Fault as fault:
            raise fault.at(key) from None
    return True
