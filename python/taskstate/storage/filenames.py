"""A file name for any key, such that two keys never share one on any file system.

Names hold only `a-z`, `0-9`, `-`, `.` and `%`, whatever case or Unicode form the file system folds;
they start with `k-` or `h-`, so none is hidden, reserved (`CON`) or a way out of the folder.
"""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import unquote_to_bytes

_SUFFIX: Final = ".json"
_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-.")
_READABLE: Final = "k-"
_HASHED: Final = "h-"
_LONGEST: Final = 140  # file systems allow 255 bytes, encrypting ones as few as 143

_ENCODED: Final = [chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in range(256)]


def file_name(key: str) -> str:
    """The name of the file that holds the record `key`; of a long key, its SHA-256."""
    data = key.encode()
    if len(data) <= _LONGEST:
        name = _READABLE + "".join(map(_ENCODED.__getitem__, data)) + _SUFFIX
        if len(name) <= _LONGEST:
            return name
    return _HASHED + hashlib.sha256(data).hexdigest() + _SUFFIX


def is_hashed(name: str) -> bool:
    """Whether the key can't be told from the file name, but only from the record."""
    return name.startswith(_HASHED) and name.endswith(_SUFFIX)


def key_of(name: str) -> str | None:
    """The key whose `file_name` is `name`; None if there is none, or if only the record tells."""
    if not (name.startswith(_READABLE) and name.endswith(_SUFFIX)):
        return None
    try:
        key = unquote_to_bytes(name[len(_READABLE) : -len(_SUFFIX)]).decode()
    except UnicodeDecodeError:
        return None
    return key if file_name(key) == name else None
