"""The text of a record's file: one strict JSON document that names its key and version.

As written, it has three lines: what comes before the value, the value, and the closing brace. So key
and version are found without reading the value. A document of another layout (someone has edited it) is read too.
"""

from __future__ import annotations

from typing import Final

import orjson

from ..errors import CorruptRecordError
from .codec import decode
from .engine import Record

_BEFORE_VALUE: Final = b',"value":'
_AFTER_VALUE: Final = b"\n}\n"
_FIELDS: Final = {"key", "version", "value"}


def pack(key: str, record: Record) -> bytes:
    """The file of `record`."""
    head = orjson.dumps({"key": key, "version": record.version})
    return b"".join((head[:-1], _BEFORE_VALUE, b"\n", record.text, _AFTER_VALUE))


def unpack(data: bytes, key: str) -> Record:
    """The record that the file of `key` holds; CorruptRecordError if it holds none, or another key's.

    The value is not decoded here if the layout is as written.
    """
    found, record = unpack_any(data, key)
    if found != key:
        raise CorruptRecordError(key, "the file holds the record of another key")
    return record


def unpack_any(data: bytes, label: str) -> tuple[str, Record]:
    """The record of whatever key, with its key; `label` names the file in errors."""
    first, _, rest = data.partition(b"\n")
    head = unpack_head(first)
    if head is not None and rest.endswith(_AFTER_VALUE):
        key, version = head
        return key, Record(rest[: -len(_AFTER_VALUE)], version)
    document = decode(data, label)
    if type(document) is not dict or set(document) != _FIELDS or not _are_str(document["key"], document["version"]):
        raise CorruptRecordError(label, "the file holds no record")
    return document["key"], Record(orjson.dumps(document["value"]), document["version"])


def unpack_head(line: bytes) -> tuple[str, str] | None:
    """Key and version from the first line of a file; None if it isn't laid out as written."""
    line = line.rstrip(b"\n")
    if not line.endswith(_BEFORE_VALUE):
        return None
    try:
        head = orjson.loads(line[: -len(_BEFORE_VALUE)] + b"}")
    except orjson.JSONDecodeError:
        return None
    if type(head) is not dict or set(head) != _FIELDS - {"value"} or not _are_str(*head.values()):
        return None
    return head["key"], head["version"]


def _are_str(*values: object) -> bool:
    return all(type(value) is str for value in values)
