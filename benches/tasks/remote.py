"""An engine in a process of its own, with the methods of `Peer`."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .peer import Drained

_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 90.0


class Remote:
    """Starts the process and is `Peer` by asking it; within a `with`, after which the process has ended."""

    def __init__(self, module: str, variant: str = "") -> None:
        self._name = module
        self._arguments = [module, variant] if variant else [module]

    def setup(self, conninfo: str) -> None:
        self._ask("setup", conninfo)

    def enqueue(self, n: int) -> float:
        return float(self._ask("enqueue", n))

    def drain(self, n: int) -> Drained:
        return Drained(*self._ask("drain", n))

    def checkpoints(self, n: int) -> list[float]:
        times: list[float] = self._ask("checkpoints", n)
        return times

    def claims(self, n: int) -> list[float]:
        times: list[float] = self._ask("claims", n)
        return times

    def close(self) -> None:
        self._ask("close")

    def __enter__(self) -> Self:
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benches.tasks.child", *self._arguments],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.close()
                self._process.wait(10)
        except (RuntimeError, subprocess.TimeoutExpired):
            pass  # it has said what there was to say
        finally:
            self._process.kill()
            self._process.wait()
            for file in (self._process.stdin, self._process.stdout, self._errors):
                assert file is not None
                file.close()

    def _ask(self, command: str, *arguments: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps([command, *arguments]) + "\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._failure(command) from None
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if not selector.select(_PATIENCE_S):
                raise RuntimeError(f"{self._name}: {command} took more than {_PATIENCE_S:.0f} s")
        line = stdout.readline()
        if not line:
            raise self._failure(command)
        return json.loads(line)

    def _failure(self, command: str) -> RuntimeError:
        self._process.wait(10)
        self._errors.seek(0)
        return RuntimeError(f"{self._name}: {command} failed:\n{self._errors.read().decode(errors='replace')[-3000:]}")
