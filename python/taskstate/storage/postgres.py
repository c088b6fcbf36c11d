"""State in PostgreSQL: the storage for any number of processes on any number of machines."""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import core
from ..errors import ConfigurationError
from .engine import Engine, EngineStorage

_LONGEST_NAME = 63  # bytes that PostgreSQL keeps of a name; it cuts off the rest without a word


class PostgresStorage(EngineStorage):
    """Records in the table `taskstate_storage` of a schema, which is created when first needed.

    `conninfo` is a connection string or URL as libpq takes them. A write is on the server's disk when it
    returns; writes that wait at the same time share one transaction. A lost connection is made anew and the
    call repeated. A call waits up to `busy_timeout` milliseconds for a lock or for a server that is away, then
    raises StorageError. `prepare_threshold` is psycopg's: None behind a pooler that gives each transaction another
    connection and can't follow prepared statements. `max_bytes` limits one value.

    Safe to use from several threads, event loops and processes, and across forks. A pickle of it is a
    storage on the same table, but holds no password: where one is needed, the process that loads it must have it in
    PGPASSWORD or a password file. Needs the extra `postgres`; ConfigurationError without it.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str = "taskstate",
        busy_timeout: int = 10_000,
        prepare_threshold: int | None = 5,
        max_bytes: int = core.DEFAULT_MAX_BYTES,
    ) -> None:
        if not schema or "\0" in schema or len(schema.encode()) > _LONGEST_NAME:
            raise ConfigurationError(f"a schema's name has 1 to {_LONGEST_NAME} bytes and no NUL")
        if busy_timeout < 1:
            raise ConfigurationError("busy_timeout must be at least 1")
        self.schema = schema
        """The schema that holds the table."""
        self._options: dict[str, Any] = {
            "schema": schema,
            "busy_timeout": busy_timeout,
            "prepare_threshold": prepare_threshold,
            "max_bytes": max_bytes,
        }
        engine, self._shown = _engine(conninfo, schema, busy_timeout, prepare_threshold)
        super().__init__(engine, "postgres", max_bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self._shown, **self._options), ()

    def __repr__(self) -> str:
        return f"PostgresStorage({self._shown!r}, schema={self.schema!r})"


def _engine(conninfo: str, schema: str, busy_timeout: int, prepare_threshold: int | None) -> tuple[Engine, str]:
    """The engine, and the connection string without what is secret in it."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        # Also without libpq, which psycopg looks for when it is imported.
        raise ConfigurationError(f"PostgresStorage needs psycopg: install taskstate[postgres] ({error})") from None
    from .postgres_engine import Table
    from .postgres_link import without_secrets

    return Table(conninfo, schema, busy_timeout, prepare_threshold), without_secrets(conninfo)
