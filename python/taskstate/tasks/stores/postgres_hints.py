"""Hints between processes by LISTEN and NOTIFY, on a connection and a thread of their own. Imports psycopg."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress

import psycopg
from psycopg import sql

from ...ids import random_id
from ...storage.postgres_link import Connection, Link
from ..records import TOPICS, Topic

_PROBE = 10.0  # seconds of silence after which the connection is tried
_PAUSE = 0.5  # seconds between attempts to connect
_COALESCE = 0.01  # seconds for which hints are collected before they are sent


class Wire:
    """Sends what `tell` is given to the wires of other processes, and gives `hear` what theirs send."""

    def __init__(
        self,
        connect: Callable[[Callable[[Connection], None]], Link],
        channel: str,
        hear: Callable[[AbstractSet[Topic]], None],
    ) -> None:
        self._connect = connect
        self._channel = channel
        self._hear = hear
        self._name = random_id()
        self._guard = threading.Lock()
        self._outgoing: set[Topic] = set()
        self._waker: int | None = None

    def start(self) -> None:
        """Begin to listen and to send."""
        with self._guard:
            if self._waker is None:
                woken, self._waker = os.pipe()
                os.set_blocking(self._waker, False)
                threading.Thread(target=self._serve, args=(woken,), name="taskstate-tasks-wire", daemon=True).start()

    def stop(self) -> None:
        """End the thread, without waiting for it; idempotent."""
        with self._guard:
            waker, self._waker = self._waker, None
            if waker is not None:
                os.close(waker)

    def tell(self, topics: AbstractSet[Topic]) -> None:
        """Have other processes told, soon, and together with what else there is to tell."""
        with self._guard:
            if self._waker is not None and not topics <= self._outgoing:
                self._outgoing |= topics
                with suppress(BlockingIOError):
                    os.write(self._waker, b".")

    def _serve(self, woken: int) -> None:
        link = self._connect(self._listen)
        try:
            while self._round(link, woken):
                pass
        finally:
            link.close()
            os.close(woken)

    def _listen(self, connection: Connection) -> None:
        # A hint that is lost in a crash costs nothing, so it need not wait for the disk.
        connection.execute("SET synchronous_commit = off")
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)).as_bytes(None))

    def _round(self, link: Link, woken: int) -> bool:
        """Wait for something to hear or to send; False once `stop` was called."""
        try:
            return link.run(lambda connection, again: self._exchange(connection, woken, again))
        except psycopg.Error:
            self._hear(set(TOPICS))  # deaf, so others had better look
            return bool(select.select([woken], [], [], _PAUSE)[0] == [] or os.read(woken, 1024))

    def _exchange(self, connection: Connection, woken: int, again: bool) -> bool:
        if again:
            self._hear(set(TOPICS))
        ready, _, _ = select.select([connection.fileno(), woken], [], [], _PROBE)
        if woken in ready:
            if not os.read(woken, 1024):
                return False
            time.sleep(_COALESCE)
            self._send(connection)
        if not ready:
            connection.execute("SELECT 1")
        heard: set[Topic] = set()
        for notice in connection.notifies(timeout=0):
            sender, _, topics = notice.payload.partition(" ")
            if sender != self._name:
                heard.update(topic for topic in TOPICS if topic in topics.split(","))
        if heard:
            self._hear(heard)
        return True

    def _send(self, connection: Connection) -> None:
        with self._guard:
            topics, self._outgoing = self._outgoing, set()
        if topics:
            payload = f"{self._name} {','.join(sorted(topics))}"
            connection.execute("SELECT pg_notify($1, $2)", (self._channel, payload))
