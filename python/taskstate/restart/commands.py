"""Run a command to its end, or end it: bounded in time and in what is kept of its output."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

_CHUNK: Final = 1 << 16
_REST: Final = 17  # chunks: 1 MiB, the most that a pipe holds by default, and a bit
_PAUSE: Final = 0.02  # seconds between two looks at whether it has ended


class Ran(NamedTuple):
    """How a command ended.

    `exit_status` is negative for a signal, and None where it was ended for taking too long. `output` is the end of
    what it wrote to both streams, which were `written` bytes.
    """

    exit_status: int | None
    output: bytes
    written: int


def run_command(
    argv: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str] | None,
    timeout: float,
    keep: int,
    stop: threading.Event,
) -> Ran:
    """Run a command without a shell, in a process group of its own.

    That group is ended when the command ends, takes longer than `timeout` seconds, or `stop` is set. OSError where
    it can't be run.
    """
    process = subprocess.Popen(  # noqa: S603 - the application's own command
        list(argv),
        cwd=folder,
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        bufsize=0,
    )
    assert process.stdout is not None
    output = _Tail(process.stdout.fileno(), keep)
    try:
        status = _wait(process, output, time.monotonic() + timeout, stop)
        output.rest()
        return Ran(status, output.text(), output.written)
    finally:
        _end(process)
        process.wait()
        process.stdout.close()


class _Tail:
    """Reads a pipe, and keeps its last bytes."""

    def __init__(self, handle: int, keep: int) -> None:
        self.kept = bytearray()
        self.written = 0
        self._cut = False
        self._handle = handle
        self._keep = keep
        os.set_blocking(handle, False)

    def wait(self, seconds: float) -> None:
        """Wait until there is something to read, and take it."""
        if self._handle < 0:
            time.sleep(seconds)
            return
        with selectors.DefaultSelector() as selector:
            selector.register(self._handle, selectors.EVENT_READ)
            if selector.select(seconds):
                self.take()

    def take(self) -> bool:
        """Take a part of what is there; False if there is nothing."""
        if self._handle < 0:
            return False
        try:
            data = os.read(self._handle, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._handle = -1
            return False
        self.written += len(data)
        self.kept += data
        if len(self.kept) > self._keep:
            del self.kept[: -self._keep]
            self._cut = True
        return True

    def text(self) -> bytes:
        """What was kept, from where a word begins: the end of a cut one may be that of a secret, unknown by itself."""
        kept = bytes(self.kept)
        if not self._cut:
            return kept
        word = re.search(rb"\s", kept)
        return kept[word.end() :] if word is not None else b""

    def rest(self) -> None:
        """Take what is left. Somebody may go on writing, so only as much as a pipe may hold."""
        for _ in range(_REST):
            if not self.take():
                return


def _wait(process: subprocess.Popen[bytes], output: _Tail, deadline: float, stop: threading.Event) -> int | None:
    """The exit status once the process itself has ended; None when the time is up. Others may hold its pipe open."""
    while (status := _status(process)) is None:
        left = deadline - time.monotonic()
        if left <= 0 or stop.is_set():
            return None
        output.wait(min(left, _PAUSE))
    return status


def _status(process: subprocess.Popen[bytes]) -> int | None:
    """The exit status of a process that has ended, which isn't reaped: its number stays its own until `_end`."""
    if not hasattr(os, "waitid"):
        return process.poll()
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
