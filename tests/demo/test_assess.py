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
        "status": "checked", "source": source.sha256, "artifact": digest(stored), "criteria_version": 1, **changes
    }  # fmt: skip


def test_recorded_and_unchanged_is_kept() -> None:
    decision = assess(NOW, entry(), STORED)
    assert (decision.step, decision.extract) == ("keep", extract(NOW))


def test_never_read_is_extracted() -> None:
    assert assess(NOW, None, None).step == "extract"


@pytest.mark.parametrize(
    "recorded", [None, {"status": "extracting", "source": NOW.sha256}, entry(status="source gone")]
)
def test_on_disk_but_not_recorded_is_validated_and_attached(recorded: Any) -> None:
    decision = assess(NOW, recorded, STORED)
    assert (decision.step, decision.extract) == ("attach", extract(NOW))


def test_an_intention_to_extract_is_no_evidence() -> None:
    decision = assess(NOW, {"status": "extracting", "source": NOW.sha256}, None)
    assert (decision.step, decision.reason) == ("extract", "begun, but no extract is there")


@pytest.mark.parametrize(
    "stored", [b"", b"{", STORED[:-20], b"[]", b"[" * 100_000, b"\xff\xfe", to_bytes(extract(BEFORE))]
)
def test_an_unrecorded_file_that_fails_its_check_is_not_accepted(stored: bytes) -> None:
    decision = assess(NOW, None, stored)
    assert decision.step == "extract"
    assert decision.reason.startswith("an unrecorded extract fails its check: ")


def test_a_matching_hash_says_nothing_about_a_source_that_moved_on() -> None:
    decision = assess(NOW, entry(BEFORE), None)
    assert (decision.step, decision.reason) == ("extract", "its source has changed since")


def test_a_changed_source_whose_new_extract_is_there_already_is_attached() -> None:
    assert assess(NOW, entry(BEFORE), STORED).step == "attach"


def test_a_recorded_extract_that_is_gone_or_was_altered_is_made_again() -> None:
    assert assess(NOW, entry(), None).reason == "recorded, but its extract is gone"
    altered = STORED.replace(b"24 months", b"48 months")
    assert assess(NOW, entry(), altered).reason == "recorded, but its extract is no longer the one that was recorded"


def test_other_criteria_ask_for_a_new_extract() -> None:
    assert assess(NOW, entry(criteria_version=0), None).reason == "the criteria have changed since"
