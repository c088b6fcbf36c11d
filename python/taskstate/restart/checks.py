"""Checks of an artifact: what they are given, what they say, and ready-made ones."""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from ..errors import AlteredError, ConfigurationError, StorageError
from .commands import run_command
from .files import Root, names_along, told
from .parts import Artifact
from .record import RestartRecord
from .threads import in_thread

_FAULTS: Final = 5  # that a reason names


@dataclass(frozen=True)
class Subject:
    """What a check looks at: the artifact of a unit, whose bytes were just found to be those recorded."""

    record: RestartRecord
    unit_id: str
    artifact: Artifact
    root: Path

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.root.joinpath(*names_along(self.artifact.location))

    def read(self) -> bytes:
        """The bytes whose hash is recorded, and no others."""
        with Root(self.root) as root:
            data = root.read(self.artifact.location)
        if data is None or hashlib.sha256(data).hexdigest() != self.artifact.sha256:
            raise AlteredError(self.artifact.location, "was altered while it was checked")
        return data


@dataclass(frozen=True)
class Finding:
    """How a check ended; `reason` says why it failed, `details` are JSON data for the evidence."""

    passed: bool
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


Check: TypeAlias = Callable[[Subject], Finding | bool | str | Awaitable[Finding | bool | str]]
"""Says whether an artifact passes: a Finding, True, False, or the reason why it doesn't. None is no answer."""


def hash_check(_: Subject) -> bool:
    """Pass whatever has the recorded hash: these are the bytes, which says nothing of what they mean."""
    return True  # the hash is compared before every check and after it


def schema_check(schema: Any, *, strict: bool | None = None) -> Check:
    """A check that an artifact is JSON of a type or a pydantic model; the reason names places, and no values."""
    adapter: TypeAdapter[Any] = TypeAdapter(schema)

    def check(subject: Subject) -> Finding:
        try:
            adapter.validate_json(subject.read(), strict=strict)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            places = [f"{'.'.join(map(str, fault['loc'])) or 'artifact'}: {fault['type']}" for fault in faults]
            more = f" and {len(places) - _FAULTS} more" if len(places) > _FAULTS else ""
            return Finding(
                False, "; ".join(places[:_FAULTS]) + more, {"faults": places[:100], "fault_count": len(places)}
            )
        return Finding(True)

    return check


def command_check(
    argv: Sequence[str],
    *,
    timeout: float = 60.0,
    env: Mapping[str, str] | None = None,
    keep_output: int = 16_384,
) -> Check:
    """A check by a command, which passes with exit status 0.

    No shell: `{path}` in an argument stands for the artifact's path, the root is the working folder, there is no
    input. It and whatever it started in its process group are ended when it ends or after `timeout` seconds, which
    is a failure. The evidence has the command, its exit status and the last `keep_output` bytes of its output.
    """
    if isinstance(argv, str) or not argv or not all(type(part) is str and "\0" not in part for part in argv):
        raise ConfigurationError("argv is a list of texts, the command first")
    if not (timeout > 0 and math.isfinite(timeout)):
        raise ConfigurationError("timeout is a number of seconds above 0")
    if keep_output < 1:
        raise ConfigurationError("keep_output is at least 1")
    given = tuple(argv)

    async def check(subject: Subject) -> Finding:
        command = [part.replace("{path}", str(subject.path)) for part in given]
        run = partial(run_command, command, folder=subject.root, env=env, timeout=timeout, keep=keep_output)
        try:
            ran = await in_thread(lambda stop: run(stop=stop))
        except OSError as error:
            raise StorageError(given[0], f"can't be run: {told(error)}") from None
        details = {
            "command": shlex.join(given),
            "exit_status": ran.exit_status,
            "timeout_seconds": timeout,
            "output_end": ran.output.decode("utf-8", "replace"),
            "output_bytes": ran.written,
        }
        if ran.exit_status is None:
            return Finding(False, f"took longer than {timeout:g} s", details)
        return Finding(ran.exit_status == 0, f"exit status {ran.exit_status}", details)

    return check
