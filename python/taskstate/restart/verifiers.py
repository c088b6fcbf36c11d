"""Verifiers: named, versioned checks of an artifact, whose findings are kept as evidence."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from pydantic import TypeAdapter, ValidationError

from ..clock import Clock, system_clock
from ..errors import AlteredError, ConfigurationError, TaskStateError, TransitionError
from .checks import Check, Finding, Subject, command_check, hash_check, schema_check
from .evidence import write_evidence
from .files import Root
from .parts import Id, Verification
from .record import RestartRecord
from .secrets import redact_secrets
from .threads import called, in_thread
from .transitions import Verified

__all__ = ["Check", "Finding", "Subject", "Verifiers", "command_check", "hash_check", "schema_check"]

_ID: Final[TypeAdapter[str]] = TypeAdapter(Id)
_LONGEST_REASON: Final = 500


class _Verifier(NamedTuple):
    version: str
    check: Check


class Verifiers:
    """The checks that an application knows, each under one name and at one version.

    A check that raises has failed, by the name of its error; one that could not be made (OSError, MemoryError, an
    error of this library) decides nothing, and `verify` raises that.
    """

    def __init__(self, *, clock: Clock = system_clock) -> None:
        self._known: dict[str, _Verifier] = {}
        self._clock = clock

    def register(self, name: str, version: str, check: Check) -> None:
        """Add a check; ConfigurationError for a name that is taken. Another version of it is another registry's."""
        for text in (name, version):
            try:
                _ID.validate_python(text, strict=True)
            except ValidationError:
                raise ConfigurationError("a verifier's name and version are ids") from None
        if not callable(check):
            raise ConfigurationError(f"verifier {name}: a check is a callable, not {type(check).__name__}")
        if name in self._known:
            raise ConfigurationError(f"verifier {name} is registered already, at version {self._known[name].version}")
        self._known[name] = _Verifier(version, check)

    def versions(self) -> dict[str, str]:
        """The version of each verifier, by name."""
        return {name: verifier.version for name, verifier in self._known.items()}

    async def verify(
        self, record: RestartRecord, unit_id: str, root: str | os.PathLike[str], *, verifier: str | None = None
    ) -> Verified:
        """Check the artifact of a unit by the unit's verifier (or by `verifier` where it names none), with evidence.

        The evidence is a file below `root`/evidence. An artifact that is missing or altered, before its check or
        during it, has failed. Nothing is changed: `apply` takes the result. Raises TransitionError for a unit without
        an artifact, ConfigurationError for a verifier that isn't known, and StorageError for a file that can't be
        read and for evidence that can't be kept.
        """
        subject = _subject(record, unit_id, root)
        name = self._name_for(subject, verifier)
        finding = await _find(subject, self._known[name].check)
        told: dict[str, Any] = {
            "state": "passed" if finding.passed else "failed",
            "verifier": name,
            "verifier_version": self._known[name].version,
            "at": self._clock(),
            "sha256": subject.artifact.sha256,
            "criteria": record.criteria.version,
            "objective": record.objective.version,
        }
        if not finding.passed:
            told["reason"] = _short(finding.reason)
        evidence = await in_thread(partial(_keep, subject, told, finding.details))
        return Verified(verification=Verification(**told, evidence=evidence))

    def _name_for(self, subject: Subject, given: str | None) -> str:
        required = subject.record.completion_rule.units[subject.unit_id].verifier
        name = required if given is None else given
        if name is None:
            raise ConfigurationError(f"unit {subject.unit_id} names no verifier")
        if required not in (None, name):
            raise ConfigurationError(f"unit {subject.unit_id} has to be checked by {required}, not {name}")
        if name not in self._known:
            raise ConfigurationError(f"unit {subject.unit_id} has to be checked by {name}, which isn't registered")
        return name


def _subject(record: RestartRecord, unit_id: str, root: str | os.PathLike[str]) -> Subject:
    unit = record.completion_rule.units.get(unit_id)
    if unit is None or unit.artifact is None:
        raise TransitionError(f"validate:{unit_id}", "there is no artifact to check")
    return Subject(record, unit_id, record.artifacts[unit.artifact], Path(root).absolute())


async def _find(subject: Subject, check: Check) -> Finding:
    """How a check of the recorded bytes ends, which are there before and after it."""
    location = subject.artifact.location
    try:
        await in_thread(partial(_expect_bytes, subject))
        finding = await _checked(subject, check)
        await in_thread(partial(_expect_bytes, subject))
    except AlteredError as error:
        return Finding(False, f"file:{location} {error.reason}")
    return finding


def _expect_bytes(subject: Subject, stop: threading.Event) -> None:
    location = subject.artifact.location
    with Root(subject.root) as root:
        found = root.look(location, stop)
    if found is None:
        raise AlteredError(location, "isn't there")
    if (found.seen.sha256, found.seen.size) != (subject.artifact.sha256, subject.artifact.size):
        raise AlteredError(location, f"has other bytes: sha256 {found.seen.sha256}, {found.seen.size} bytes")


async def _checked(subject: Subject, check: Check) -> Finding:
    try:
        answer = await called(check, subject)
    except (TaskStateError, OSError, MemoryError):
        raise  # it wasn't made, which says nothing of the artifact
    except Exception as error:  # noqa: BLE001 - whatever it is, the artifact has not passed
        return Finding(False, f"the check raised {type(error).__name__}")
    if isinstance(answer, Finding) and type(answer.passed) is bool:
        return answer
    if type(answer) is bool:
        return Finding(answer, "the check says no")
    if type(answer) is str:
        return Finding(False, answer)
    raise ConfigurationError(f"a check gives a Finding, a bool or a reason, not {type(answer).__name__}")


def _short(reason: str) -> str:
    told = str(redact_secrets(reason)).strip() or "the check says no"
    return told if len(told) <= _LONGEST_REASON else told[: _LONGEST_REASON - 1] + "…"


def _keep(subject: Subject, told: Mapping[str, Any], details: Mapping[str, Any], _: threading.Event) -> str:
    """Store what was found; its location."""
    data = {
        "schemaVersion": 1,
        "task_id": subject.record.task_id,
        "unit": subject.unit_id,
        "artifact": subject.record.completion_rule.units[subject.unit_id].artifact,
        "location": subject.artifact.location,
        "size": subject.artifact.size,
        **told,
        "details": redact_secrets(dict(details)),
    }
    try:
        text = orjson.dumps(data)
    except TypeError as error:
        raise ConfigurationError(f"the details of a check are JSON data: {error}") from None
    with Root(subject.root) as root:
        return write_evidence(root, text)
