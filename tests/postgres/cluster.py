"""A PostgreSQL server in a temporary folder, from its creation to its removal."""

from __future__ import annotations

import random
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

import psycopg
from psycopg import sql

from .programs import find, hand_over, user

Mode = Literal["smart", "fast", "immediate"]

_WATCHDOG = Path(__file__).with_name("watchdog.py")
_ADMIN = "taskstate-tests-admin"
_PORTS = range(20_000, 32_000)  # below those that systems give to outgoing connections

_SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_min_messages": "warning",
    "autovacuum_naptime": "10s",
}
_QUICK = {"fsync": "off", "full_page_writes": "off"}


class Client(NamedTuple):
    """A connection that the server has."""

    pid: int
    application: str
    state: str | None
    query: str


class Cluster:
    """A server of its own: on a Unix socket in its folder (no password) and a port of 127.0.0.1 (with password).

    It runs once `start` was called, or within a `with`. It is stopped and its folder removed by `remove`, and
    also when this process ends or is killed. With `fsync=False` it is quicker and an end of the *system* loses data.
    """

    def __init__(
        self, server: str = "postgres", *, fsync: bool = True, settings: Mapping[str, str] | None = None
    ) -> None:
        self.programs = find(server)
        self.fsync = fsync
        self.password = secrets.token_hex(16)
        self.folder = Path(tempfile.mkdtemp(prefix="taskstate-pg-"))
        self.port = 0
        self._data = self.folder / "data"
        self._settings = _SETTINGS | ({} if fsync else _QUICK) | dict(settings or {})
        self._admin: psycopg.Connection[Any] | None = None
        self._watchdog = self._watch()
        try:
            self._create()
        except BaseException:
            self.remove()
            raise

    def conninfo(self, dbname: str = "postgres", *, tcp: bool = False) -> str:
        """How to connect as the superuser: through the Unix socket, or with the password to a port of 127.0.0.1."""
        if tcp:
            return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/{dbname}"
        return f"host={self.folder} port={self.port} user=postgres dbname={dbname}"

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        for attempt in range(5):
            self._configure()
            try:
                self._control("start", "-l", str(self.folder / "log"))
            except RuntimeError:
                if attempt == 4 or "Address already in use" not in self.log():
                    raise RuntimeError(f"the server doesn't start:\n{self.log()[-2000:]}") from None
                self.port = 0  # someone took it meanwhile
            else:
                return

    def stop(self, mode: Mode = "fast") -> None:
        """Stop the server; `immediate` is as if it crashed. Its folder stays, and it can be started again."""
        self._forget_admin()
        self._control("stop", "-m", mode)

    def restart(self, mode: Mode = "immediate") -> None:
        """Stop the server and start it again, on the same port."""
        self._forget_admin()
        self._control("restart", "-m", mode, "-l", str(self.folder / "log"))

    def remove(self) -> None:
        """Stop the server and remove its folder; again is no error."""
        self._forget_admin()
        assert self._watchdog.stdin is not None
        with suppress(BrokenPipeError):
            self._watchdog.stdin.close()
        self._watchdog.wait(60)

    def log(self) -> str:
        """What the server has logged."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def pid(self) -> int:
        """The process id of the server that is running."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def execute(self, query: str | sql.Composed, params: Sequence[Any] = ()) -> list[Any]:
        """Do one statement as the superuser, on a connection that `clients` doesn't list; the rows."""
        if self._admin is None or self._admin.closed:
            self._admin = psycopg.connect(self.conninfo(), autocommit=True, application_name=_ADMIN)
        cursor = self._admin.execute(query, params or None)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []

    def clients(self) -> list[Client]:
        """The connections that there are, other than that of `execute`."""
        rows = self.execute(
            "SELECT pid, application_name, state, query FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND application_name <> %s",
            [_ADMIN],
        )
        return [Client(*row) for row in rows]

    def terminate(self, clients: Iterable[Client] | None = None) -> None:
        """Cut these connections (or all that `clients` lists), and wait until they are gone."""
        for client in self.clients() if clients is None else clients:
            self.execute("SELECT pg_terminate_backend(%s, 5000)", [client.pid])

    @contextmanager
    def schema(self) -> Iterator[str]:
        """A fresh, empty schema in the database `postgres`; afterwards no connection may be left.

        It is dropped then, and so are others whose name starts with its name.
        """
        name = f"test_{secrets.token_hex(6)}"
        self.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        try:
            with self.no_leak():
                yield name
        finally:
            for (made,) in self.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", [name]):
                self.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(made)))

    @contextmanager
    def database(self) -> Iterator[str]:
        """A fresh, empty database, for what a schema doesn't keep apart; dropped afterwards, as `schema`."""
        name = f"test_{secrets.token_hex(6)}"
        self.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        try:
            with self.no_leak():
                yield name
        finally:
            self.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    @contextmanager
    def no_leak(self, patience: float = 5.0) -> Iterator[None]:
        """Fail if connections are left that were not there before, some seconds after the block has ended well."""
        before = {client.pid for client in self.clients()}

        def left() -> list[Client]:
            return [client for client in self.clients() if client.pid not in before]

        try:
            yield
        except BaseException:
            self.terminate(left())
            raise
        deadline = time.monotonic() + patience
        while (clients := left()) and time.monotonic() < deadline:
            time.sleep(0.005)
        if clients:
            self.terminate(clients)
            raise AssertionError(f"connections leaked: {clients}")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def _watch(self) -> subprocess.Popen[bytes]:
        who = user()
        identity = ("-", "-") if who is None else (str(who.pw_uid), str(who.pw_gid))
        command = [sys.executable, "-I", "-S", str(_WATCHDOG), str(self.programs.bin / "pg_ctl"), str(self._data)]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            [*command, str(self.folder), *identity],
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
            cwd="/",
            start_new_session=True,  # an interrupt at the keyboard is for the tests
        )

    def _create(self) -> None:
        password_file = self.folder / "password"
        password_file.write_text(self.password)
        hand_over(self.folder)
        self.programs.run(
            "initdb",
            f"--pgdata={self._data}",
            "--username=postgres",
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            f"--pwfile={password_file}",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        )
        password_file.unlink()

    def _configure(self) -> None:
        if self.port:
            return
        self.port = _free_port()
        own = {"port": str(self.port), "listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder)}
        lines = [f"{name} = '{value}'\n" for name, value in (self._settings | own).items()]
        (self._data / "postgresql.auto.conf").write_text("".join(lines))

    def _control(self, action: str, *arguments: str) -> None:
        self.programs.run("pg_ctl", action, "-D", str(self._data), "-w", "-t", "60", *arguments, timeout=90)

    def _forget_admin(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None


def _free_port() -> int:
    for port in random.sample(_PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port found")
