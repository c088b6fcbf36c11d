"""Where state is kept: the adapter protocol, four adapters, and views on any adapter.

`MemoryStorage` forgets with the process, `FileStorage` keeps a folder of JSON files, `SQLiteStorage` one
database file for any number of processes, `PostgresStorage` a table on a server.
Outside adapters can use `encode` and `decode` to hold values to the same rules, and `taskstate.testing` to prove
that they behave alike.
"""

from __future__ import annotations

from .batch import storage_get_many
from .codec import decode, encode
from .file import FileStorage
from .keys import (
    GLOBAL_SCOPE,
    LAYERS_PREFIX,
    STATE,
    ScopedKey,
    check_key,
    decode_part,
    encode_part,
    layer_prefix,
    parse_key,
    scope_part,
    scope_prefix,
    state_key,
)
from .memory import MemoryStorage
from .postgres import PostgresStorage
from .protocol import StorageAdapter, SupportsGetMany, SupportsVersions
from .scoped import ScopedStorage
from .sqlite import SQLiteStorage

__all__ = [
    "GLOBAL_SCOPE",
    "LAYERS_PREFIX",
    "STATE",
    "FileStorage",
    "MemoryStorage",
    "PostgresStorage",
    "SQLiteStorage",
    "ScopedKey",
    "ScopedStorage",
    "StorageAdapter",
    "SupportsGetMany",
    "SupportsVersions",
    "check_key",
    "decode",
    "decode_part",
    "encode",
    "encode_part",
    "layer_prefix",
    "parse_key",
    "scope_part",
    "scope_prefix",
    "state_key",
    "storage_get_many",
]
