"""The verifiers of a review: an extract against its document, the comparison against its extracts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from taskstate.restart import RestartRecord, Subject, Verifiers

from .artifacts import Artifacts
from .compare import comparison, coverage_faults
from .documents import Folder, Source
from .extract import faults_of
from .findings import RULES_VERSION

EXTRACT_CHECK, COMPARISON_CHECK = "extract-check", "comparison-check"


def verifiers(folder: Folder, artifacts: Artifacts) -> Verifiers:
    """The checks for these documents as they are now."""
    sources = {artifacts.extract_path(source): source for source in folder.sources}

    def check_extract(subject: Subject) -> bool | str:
        location = subject.record.completion_rule.units[subject.unit_id].location or ""
        return _first(extract_faults(subject.read(), sources[location], subject.record.criteria.items))

    def check_comparison(subject: Subject) -> bool | str:
        criteria = subject.record.criteria.items
        extracts = extracts_of(subject.record, artifacts)
        if faults := coverage_faults(extracts, criteria):
            return f"it leaves open: {faults[0]}"
        text = subject.read().decode("utf-8", "replace")
        if missing := [title for title in criteria.values() if f"\n| {title} " not in text]:
            return f"it doesn't cover: {', '.join(missing)}"
        return text == comparison(extracts, folder.left_out, criteria) or "it isn't what its extracts say"

    known = Verifiers()
    known.register(EXTRACT_CHECK, str(RULES_VERSION), check_extract)
    known.register(COMPARISON_CHECK, str(RULES_VERSION), check_comparison)
    return known


def extract_faults(stored: bytes, source: Source, criteria: Mapping[str, str]) -> list[str]:
    """What speaks against these bytes as the extract of this document by these criteria."""
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError):
        return ["it is not JSON"]
    faults = faults_of(value, source)
    return faults or [f"it doesn't cover: {title}" for key, title in criteria.items() if key not in value["criteria"]]


def extracts_of(record: RestartRecord, artifacts: Artifacts) -> list[dict[str, Any]]:
    """The verified extracts, in the order of the documents."""
    found = []
    for unit in record.completion_rule.units.values():
        if unit.verifier == EXTRACT_CHECK and unit.state == "verified" and unit.artifact is not None:
            content = artifacts.read(record.artifacts[unit.artifact].location)
            found.append(json.loads(content or b"{}"))
    return found


def _first(faults: list[str]) -> bool | str:
    return faults[0] if faults else True
