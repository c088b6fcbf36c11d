"""What a review requires, by the documents that are there: a checked extract of each, and the comparison."""

from __future__ import annotations

import hashlib
import json

from taskstate.restart.parts import Source, Unit

from .artifacts import COMPARISON, Artifacts
from .checks import COMPARISON_CHECK, EXTRACT_CHECK
from .documents import Folder, document_id
from .findings import RULES_VERSION

COMPARISON_UNIT = "comparison"
RULES, LEFT_OUT = "demo/rules", "demo/left-out"
"""Sources beside the documents; with a "/" in them, as no file name has it."""
_EXTRACT = "extract:"


def unit_id(name: str) -> str:
    """The id of a document's extract, as a unit of the restart record and as a work item."""
    return _EXTRACT + document_id(name)


def current_sources(folder: Folder, now: int) -> dict[str, Source]:
    """What a review reads, as it is now: the documents, the rules, and what can't be read."""
    left_out = _hash(json.dumps(folder.left_out))
    sources = {
        document_id(each.name): Source(
            version=each.sha256[:12], sha256=each.sha256, location=document_id(each.name), nature="current", seen_at=now
        )
        for each in folder.sources
    }
    sources[RULES] = Source(version=RULES_VERSION, nature="current", seen_at=now)
    sources[LEFT_OUT] = Source(version=left_out[:12], sha256=left_out, nature="current", seen_at=now)
    return sources


def required_units(folder: Folder, artifacts: Artifacts) -> dict[str, Unit]:
    """An extract of each document, then the comparison of all of them, each with its place and its verifier."""
    units = {
        unit_id(each.name): Unit(
            sources=(document_id(each.name), RULES), verifier=EXTRACT_CHECK, location=artifacts.extract_path(each)
        )
        for each in folder.sources
    }
    units[COMPARISON_UNIT] = Unit(
        sources=(LEFT_OUT,), units=tuple(units), verifier=COMPARISON_CHECK, location=COMPARISON
    )
    return units


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
