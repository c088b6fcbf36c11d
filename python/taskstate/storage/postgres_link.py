"""A connection to PostgreSQL that is made anew when it is lost, and never waited on for ever. Imports psycopg."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import RawCursor
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ..errors import ConfigurationError

T = TypeVar("T")

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

_SECRETS = ("password", "sslpassword", "oauth_client_secret")
_RETRY_PAUSE = 0.05  # seconds
_SLACK = 5.0  # seconds beyond the server's own limit, after which it is taken not to answer

LOCK_NOT_AVAILABLE = "55P03"
_REASONS = {
    LOCK_NOT_AVAILABLE: "the record is locked by another process",
    "25006": "the database is read-only",
    "42501": "permission denied",
    "42P01": "the table was removed while it was in use",
    "53100": "the disk is full",
    "53200": "the server is out of memory",
    "53300": "the server has too many connections",
    "54000": "the value is too large for PostgreSQL",
    "57014": "the statement was cancelled",
}
_GONE = ("08", "57P", "25P03")  # starts of the states that a server tells when it ends a connection
_OF_ONE = ("21", "22", "23", "40", "54")  # classes of errors that a single write among several may have caused


class NoAnswerError(psycopg.OperationalError):
    """The server is connected and silent."""


class NotReachedError(psycopg.OperationalError):
    """No connection could be made."""


class _Patient(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose every wait ends in bounded time."""

    patience = math.inf
    silent = False

    def wait(self, gen: PQGen[T], *args: Any, **kwargs: Any) -> T:
        try:
            return super().wait(_bounded(gen, self.patience), *args, **kwargs)
        except NoAnswerError:
            self.silent = True  # in the midst of a pipeline, another error takes the place of this one
            raise


def _bounded(gen: PQGen[T], seconds: float) -> PQGen[T]:
    """`gen`, ended by NoAnswerError; whoever drives it comes by now and then while nothing happens."""
    deadline = time.monotonic() + seconds
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                gen.close()
                raise NoAnswerError
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


class Link:
    """Holds one connection, or none yet. `prepare` is called with each new one before it is used."""

    def __init__(
        self, conninfo: str, patience: float, prepare_threshold: int | None, prepare: Callable[[Connection], None]
    ) -> None:
        self._params = _parsed(conninfo)
        self._patience = patience
        self._prepare_threshold = prepare_threshold
        self._prepare = prepare
        self._connection: _Patient | None = None
        self._connected_before = False

    def run(self, action: Callable[[Connection, bool], T]) -> T:
        """What `action` returns. If the connection is lost in its midst, it is done again, once.

        Its second argument says whether that is so.
        """
        begun = False
        for last in (False, True):
            try:
                connection = self._open()
                again, begun = begun, True
                return action(connection, again)
            except BaseException as error:
                silent = self._connection is not None and self._connection.silent
                self.close()  # whatever state it is in
                if silent:
                    raise NoAnswerError from error
                if last or not is_lost(error):
                    raise
        raise AssertionError

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> _Patient:
        if self._connection is None or self._connection.closed:
            self.close()
            connection = self._reach()
            try:
                _require_utf8(connection)
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _reach(self) -> _Patient:
        """A new connection. A server that was there before may be restarting, and is given time."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                connection = self._connect()
            except psycopg.OperationalError as error:
                if not self._connected_before or time.monotonic() > deadline:
                    raise NotReachedError from error
                time.sleep(_RETRY_PAUSE)
            else:
                self._connected_before = True
                return connection

    def _connect(self) -> _Patient:
        defaults: dict[str, Any] = {
            "connect_timeout": max(2, math.ceil(self._patience)),
            "tcp_user_timeout": math.ceil(self._patience * 1000),
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "application_name": "taskstate",
        }
        connection = _Patient.connect(
            autocommit=True,
            prepare_threshold=self._prepare_threshold,
            cursor_factory=RawCursor,
            **(defaults | self._params | {"client_encoding": "utf8"}),
        )
        connection.patience = self._patience + _SLACK
        return connection


def _parsed(conninfo: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(conninfo))
    except psycopg.ProgrammingError:
        # What libpq says about it may repeat the password.
        raise ConfigurationError("this is no connection string or URL of PostgreSQL") from None


def _require_utf8(connection: Connection) -> None:
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise psycopg.NotSupportedError("the database's encoding is not UTF8")


def without_secrets(conninfo: str) -> str:
    """The connection string without passwords."""
    params = _parsed(conninfo)
    return make_conninfo("", **{name: value for name, value in params.items() if name not in _SECRETS})


def in_one_trip(connection: Connection) -> AbstractContextManager[Any]:
    """What is executed within is sent together, where the client library is able to (libpq 14)."""
    return connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()


def is_lost(error: BaseException) -> bool:
    """Whether the connection broke, so that nobody knows what became of the work in hand."""
    if isinstance(error, NoAnswerError | NotReachedError | psycopg.errors.PipelineAborted):
        return False
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return error.sqlstate is None or error.sqlstate.startswith(_GONE)
    return False


def is_fault_of_one(error: psycopg.Error) -> bool:
    """Whether a single write may have caused it, so that the others would succeed without that."""
    return error.sqlstate is not None and error.sqlstate.startswith(_OF_ONE)


def reason(error: psycopg.Error) -> str:
    """Why something failed, in words that hold no SQL, no value and no way to connect."""
    if isinstance(error, NoAnswerError):
        return "the server doesn't answer, and whether this was done is not known"
    if isinstance(error, NotReachedError):
        return "the server can't be reached, or refuses the connection"
    if isinstance(error, psycopg.NotSupportedError):
        return str(error) if error.sqlstate is None else f"not supported by the server ({error.sqlstate})"
    if is_lost(error):
        return "the connection was lost, and whether this was done is not known"
    known = _REASONS.get(error.sqlstate or "")
    return known or f"PostgreSQL refused with {error.sqlstate or type(error).__name__}"
