"""Values and keys that storages have been seen to get wrong."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import pathlib
import threading
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, NamedTuple

from ..core import MAX_DEPTH
from ..types import JSON


class _Number(enum.IntEnum):
    ONE = 1


class _Pair(NamedTuple):
    left: int
    right: int


class _Text(str):
    __slots__ = ()


def nested(depth: int) -> JSON:
    """Lists in one another, `depth` of them."""
    value: JSON = []
    for _ in range(depth - 1):
        value = [value]
    return value


def cycle() -> JSON:
    """A dict that holds itself."""
    value: dict[str, JSON] = {}
    value["self"] = [value]
    return value


GOOD_VALUES: dict[str, JSON] = {
    "zero": 0,
    "false": False,
    "true": True,
    "empty text": "",
    "empty list": [],
    "empty dict": {},
    "empty key": {"": {"": ""}},
    "smallest integer": -(2**63),
    "largest signed integer": 2**63 - 1,
    "largest integer": 2**64 - 1,
    "integer beyond 53 bits": 2**53 + 1,
    "whole float": 1.0,
    "negative zero": -0.0,
    "small float": 5e-324,
    "large float": 1.7976931348623157e308,
    "float of many digits": 0.1 + 0.2,
    "digits in text": "18446744073709551616 and -9223372036854775809",
    "long number as a key": {"99999999999999999999999": [1e-7, 1e21, 12345678901234567890]},
    "line separators": "a\u2028b\u2029c\u0085d\x0be\x0cf\r\ng\nh",
    "control characters": "\x00\x01\x1f\x7f\x9f",
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e8\U0001f1ed e\u0301 \ufeff \uffff",
    "quotes": "'; DROP TABLE records; -- \" \\ % _ $1 ? :a",
    "closing tag": "</task_state>",
    "key order": {"b": 1, "a": 2, "10": 3, "9": 4},
    "deepest": nested(MAX_DEPTH),
    "record of its own kind": {"key": "other", "version": "1", "value": {"key": "k", "version": None, "value": 1}},
    "type tags": {
        "$type": "os.system",
        "__class__": "os.system",
        "py/object": "os.system",
        "__reduce__": ["os.system", ["true"]],
        "lc": 2,
        "type": "constructor",
        "id": ["os", "system"],
        "$": "undefined",
    },
    "pickle as text": "cos\nsystem\n(S'true'\ntR.",
    "task state": {"checkpoints": [{"timestamp": 1700000000000, "depth": 0}], "files": ["a.md"], "data": {"k": None}},
    "large": {"text": "\u20acx" * 200_000, "rows": [{"n": n, "half": n / 2} for n in range(2000)]},
}
"""Each comes back equal, and of the same type at every place."""

BAD_VALUES: dict[str, Any] = {
    "datetime": dt.datetime(2024, 1, 2, tzinfo=dt.UTC),
    "date": dt.date(2024, 1, 2),
    "uuid": uuid.UUID(int=1),
    "set": {1, 2},
    "set of tuples": {(1, 2), (3, 4)},
    "decimal": decimal.Decimal(1),
    "path": pathlib.PurePosixPath("a"),
    "bytes": b"\xff\xfe\x00",
    "bytearray": bytearray(b"a"),
    "enum": _Number.ONE,
    "named tuple": _Pair(1, 2),
    "subclass of str": _Text("a"),
    "Counter": Counter("ab"),
    "OrderedDict": OrderedDict(a=1),
    "defaultdict": defaultdict(list),
    "deque": deque([1], maxlen=2),
    "tuple as a key": {(1, "a"): 2},
    "integer as a key": {1: 2},
    "None as a key": {None: 2},
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "integer too large": 2**64,
    "integer too small": -(2**63) - 1,
    "lone surrogate": "\ud83d",
    "lone surrogate in a key": {"\ude00": 1},
    "lock": threading.Lock(),
    "function": len,
    "object": object(),
    "too deep": nested(MAX_DEPTH + 1),
    "cycle": cycle(),
}
"""None is JSON data; each must be refused, at the top and inside."""

KEYS: tuple[str, ...] = (
    "",
    " ",
    ".",
    "..",
    "../x",
    "../../etc/passwd",
    "/abs",
    "a",
    "A",
    "a ",
    "a.",
    "a..",
    "a/b",
    "a\\b",
    "a//b",
    "a%2Fb",
    "a%2fb",
    "a_2Fb",
    "a:b",
    "a\x00",
    "a\x00b",
    "a\nb",
    "a*?<>|\"'",
    "t",
    "t/u",
    "t/u/",
    "t%",
    "t_",
    "tx",
    "t%u",
    "%",
    "_",
    "__",
    "[a-z]*",
    "CON",
    "con",
    "nul.json",
    "COM1",
    "x') OR 1=1 --",
    'x" OR ""="',
    "$where",
    ".lock",
    ".tmp",
    "k-a.json",
    "caf\u00e9",
    "cafe\u0301",
    "\u00df",
    "SS",
    "ss",
    "\u212a",
    "K",
    "k",
    "\u0131",
    "\u952e/\U0001f600",
    "\uffff",
    "\U0010ffff",
    "layers/task-state/t1/state",
    "layers/task-state/__global__/state",
    "x" * 140,
    "x" * 255,
    "x" * 10_000,
    "X" * 10_000,
    "x" * 9_999 + "y",
    "\u20ac" * 10_000,
)
"""Keys that must never be mistaken for one another."""

BAD_KEYS: dict[str, Any] = {
    "lone surrogate": "a\ud800",
    "bytes": b"a",
    "integer": 1,
    "None": None,
    "subclass of str": _Text("a"),
}
