"""After a restart: decide for one document what is done, by evidence and not by intention."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from taskstate.types import WorkItemStatus

from .artifacts import digest
from .documents import Source
from .extract import faults_of
from .findings import CRITERIA_VERSION

NEW = "not read before"

Step: TypeAlias = Literal["keep", "attach", "extract"]


@dataclass(frozen=True)
class Verdict:
    """What to do about a document and why; `extract` holds the extract that is there, if it can be used."""

    step: Step
    reason: str
    extract: dict[str, Any] | None = None


def assess(source: Source, entry: Any, stored: bytes | None, declared: WorkItemStatus | None = None) -> Verdict:
    """Compare a document as it is now with what is recorded of it and with the artifact on the disk.

    `entry` is the recorded data or None, `stored` the bytes where the extract of this version belongs. `declared`,
    the status of its work item, is no evidence: it only helps to say what happened.
    """
    recorded = entry if isinstance(entry, dict) else None
    if (
        recorded is not None
        and recorded.get("source") == source.sha256
        and recorded.get("criteria_version") == CRITERIA_VERSION
    ):
        if stored is None:
            return Verdict("extract", "recorded, but its extract is gone")
        if digest(stored) != recorded.get("artifact"):
            return Verdict("extract", "recorded, but its extract is no longer the one that was recorded")
        return Verdict("keep", "recorded; source and extract match their hashes", json.loads(stored))
    if stored is not None:
        return _unrecorded(source, stored)
    if recorded is None:
        reasons = {"in_progress": "begun, but no extract is there", "done": "said to be done, but nothing is recorded"}
        return Verdict("extract", reasons.get(declared or "", NEW))
    if recorded.get("source") != source.sha256:
        return Verdict("extract", "its source has changed since")
    return Verdict("extract", "the criteria have changed since")


def _unrecorded(source: Source, stored: bytes) -> Verdict:
    value, faults = validated(source, stored)
    if faults:
        return Verdict("extract", f"an unrecorded extract fails its check: {faults[0]}")
    return Verdict("attach", "on disk but not recorded; it passes its check against the source", value)


def validated(source: Source, stored: bytes) -> tuple[dict[str, Any] | None, list[str]]:
    """The extract in these bytes and what speaks against it."""
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError):
        return None, ["it is not JSON"]
    faults = faults_of(value, source)
    return (None, faults) if faults else (value, [])
