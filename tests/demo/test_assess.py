"""After a restart, each document is judged by evidence: the record, the disk, the source as it is now."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from taskstate.demo.artifacts import digest, to_bytes
from taskstate.demo.assess import assess
from taskstate.demo.documents import Source
from taskstate.demo.extract import extract

pytestmark = pytest.mark.once


def version(text: str) -> Source:
    content = text.encode()
    return Source("p.txt", text, hashlib.sha256(content).hexdigest(), len(content), len(content), "utf-8", ())


NOW = version("Warranty: 24 months\n")
BEFORE = version("Warranty: 12 months\n")
STORED = to_bytes(extract(NOW))


def entry(source: Source = NOW, **changes: Any) -> dict[str, Any]:
    stored = to_bytes(extract(source))
    return {
        "source": source.sha256, "artifact": digest(stored), "criteria_version": 1, **changes
    }  # fmt: skip


def test_recorded_and_unchanged_is_kept() -> None:
    verdict = assess(NOW, entry(), STORED)
    assert (verdict.step, verdict.extract) == ("keep", extract(NOW))


def test_never_read_is_extracted() -> None:
    assert assess(NOW, None, None).step == "extract"


@pytest.mark.parametrize("recorded", [None, "nonsense", {}, {"source": NOW.sha256}])
def test_on_disk_but_not_recorded_is_validated_and_attached(recorded: Any) -> None:
    verdict = assess(NOW, recorded, STORED, "in_progress")
    assert (verdict.step, verdict.extract) == ("attach", extract(NOW))


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("in_progress", "begun, but no extract is there"),
        ("done", "said to be done, but nothing is recorded"),
        ("blocked", "not read before"),
        ("open", "not read before"),
        (None, "not read before"),
    ],
)
def test_a_declared_status_is_no_evidence(declared: Any, reason: str) -> None:
    verdict = assess(NOW, None, None, declared)
    assert (verdict.step, verdict.reason) == ("extract", reason)


@pytest.mark.parametrize("declared", ["open", "in_progress", "blocked", "done", None])
def test_evidence_counts_whatever_is_declared(declared: Any) -> None:
    assert assess(NOW, entry(), STORED, declared).step == "keep"
    assert assess(NOW, entry(), STORED[:-1], declared).step == "extract"
    assert assess(NOW, entry(BEFORE), None, declared).step == "extract"


@pytest.mark.parametrize(
    "stored", [b"", b"{", STORED[:-20], b"[]", b"[" * 100_000, b"\xff\xfe", to_bytes(extract(BEFORE))]
)
def test_an_unrecorded_file_that_fails_its_check_is_not_accepted(stored: bytes) -> None:
    verdict = assess(NOW, None, stored)
    assert verdict.step == "extract"
    assert verdict.reason.startswith("an unrecorded extract fails its check: ")


def test_a_matching_hash_says_nothing_about_a_source_that_moved_on() -> None:
    verdict = assess(NOW, entry(BEFORE), None)
    assert (verdict.step, verdict.reason) == ("extract", "its source has changed since")


def test_a_changed_source_whose_new_extract_is_there_already_is_attached() -> None:
    assert assess(NOW, entry(BEFORE), STORED).step == "attach"


def test_a_recorded_extract_that_is_gone_or_was_altered_is_made_again() -> None:
    assert assess(NOW, entry(), None).reason == "recorded, but its extract is gone"
    altered = STORED.replace(b"24 months", b"48 months")
    assert assess(NOW, entry(), altered).reason == "recorded, but its extract is no longer the one that was recorded"


def test_other_criteria_ask_for_a_new_extract() -> None:
    assert assess(NOW, entry(criteria_version=0), None).reason == "the criteria have changed since"
