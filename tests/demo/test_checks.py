"""An extract is checked against its document as it is now, by the criteria that count now."""

from __future__ import annotations

import hashlib

import pytest

from taskstate.demo.artifacts import to_bytes
from taskstate.demo.checks import extract_faults
from taskstate.demo.documents import Source, document_id
from taskstate.demo.extract import extract
from taskstate.demo.findings import CRITERIA, EXTRACTED

pytestmark = pytest.mark.once


def version(text: str) -> Source:
    content = text.encode()
    return Source("p.txt", text, hashlib.sha256(content).hexdigest(), len(content), len(content), "utf-8", ())


NOW = version("Warranty: 24 months\n")
BEFORE = version("Warranty: 12 months\n")
STORED = to_bytes(extract(NOW))


@pytest.mark.parametrize("criteria", [CRITERIA, EXTRACTED])
def test_the_extract_of_a_document_passes(criteria: dict[str, str]) -> None:
    assert extract_faults(STORED, NOW, criteria) == []


@pytest.mark.parametrize("stored", [b"", b"{", STORED[:-20], b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_json_fails(stored: bytes) -> None:
    assert extract_faults(stored, NOW, CRITERIA) == ["it is not JSON"]


def test_the_extract_of_another_version_of_the_document_fails() -> None:
    assert "it was made from another version of the source" in extract_faults(to_bytes(extract(BEFORE)), NOW, CRITERIA)


def test_a_criterion_that_there_are_no_rules_for_isnt_covered() -> None:
    wanted = {**CRITERIA, "colour": "Colour"}
    assert extract_faults(STORED, NOW, wanted) == ["it doesn't cover: Colour"]


@pytest.mark.parametrize("name", ["offer.txt", "Angebot März.md", "x" * 150])
def test_a_document_is_recorded_under_its_name(name: str) -> None:
    assert document_id(name) == name


@pytest.mark.parametrize("name", ["x" * 151, " ", "password=hunter2hunter2.txt"])
def test_a_name_that_cannot_stand_in_the_record_has_another_one_there(name: str) -> None:
    assert document_id(name) != name
    assert len(document_id(name)) < 180
    assert "hunter2" not in document_id(name)
    assert document_id(name) != document_id(name + name)
