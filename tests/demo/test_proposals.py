"""The four proposals of the example: what they state, leave open, and where they contradict themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from taskstate.demo.documents import list_folder, read_document
from taskstate.demo.extract import extract, faults_of
from taskstate.demo.findings import EXTRACTED

pytestmark = pytest.mark.once
PROPOSALS = Path(__file__).resolve().parents[2] / "examples" / "supplier_review" / "proposals"

EXPECTED: dict[str, dict[str, tuple[str, list[str]]]] = {
    "P1-firnbeck.md": {
        "supplier": ("stated", ["Firnbeck Kältesysteme GmbH"]),
        "dated": ("stated", ["12 May 2025"]),
        "unit_price": ("stated", ["EUR 9,850.00 x 6"]),
        "total_net": ("stated", ["EUR 67,320.00"]),
        "vat": ("stated", ["19 % (EUR 12,790.80)"]),
        "total_gross": ("stated", ["EUR 80,110.80"]),
        "currency": ("stated", ["EUR"]),
        "delivery": ("stated", ["8 to 10 weeks after order confirmation"]),
        "delivery_terms": ("stated", ["DAP Biobank"]),
        "warranty": ("contradictory", ["24 months", "36 months"]),
        "payment": ("stated", ["within 30 days"]),
        "validity": ("stated", ["60 days"]),
        "number": ("stated", ["Q-25-0417"]),
    },
    "P2-tundrel.txt": {
        "supplier": ("stated", ["TUNDREL COLD STORAGE LTD"]),
        "dated": ("stated", ["20 May 2025"]),
        "unit_price": ("stated", ["GBP 8,120.00 x 6"]),
        "total_net": ("contradictory", ["GBP 53,430.00"]),
        "vat": ("stated", ["20 % (GBP 10,686.00)"]),
        "total_gross": ("stated", ["GBP 64,116.00"]),
        "currency": ("stated", ["GBP"]),
        "delivery": ("stated", ["29 August 2025"]),
        "delivery_terms": ("stated", ["DDP Biobank"]),
        "warranty": ("stated", ["24 months", "5 years (compressors)"]),
        "payment": ("stated", ["instalments 40 % / 50 % / 10 %", "within 14 days"]),
        "validity": ("stated", ["until 31 July 2025"]),
        "number": ("stated", ["TCS/3381/B"]),
    },
    "P3-ijsvelt.md": {
        "supplier": ("stated", ["IJsvelt Instruments B.V."]),
        "dated": ("stated", ["26 May 2025"]),
        "unit_price": ("stated", ["EUR 9,790.00"]),
        "total_net": ("stated", ["EUR 58,740.00"]),
        "vat": ("left open", ["excluded, rate left open"]),
        "total_gross": ("not stated", []),
        "currency": ("stated", ["EUR"]),
        "delivery": ("left open", ["left open"]),
        "delivery_terms": ("stated", ["DAP Biobank"]),
        "warranty": ("stated", ["3 years", "7 years (vacuum panels)"]),
        "payment": ("stated", ["within 30 days"]),
        "validity": ("stated", ["until 31 August 2025"]),
        "number": ("stated", ["25.118"]),
    },
    "P4-kelvane.txt": {
        "supplier": ("stated", ["KELVANE FROID INDUSTRIEL SARL"]),
        "dated": ("stated", ["2 June 2025"]),
        "unit_price": ("stated", ["EUR 9,240.00 x 6"]),
        "total_net": ("stated", ["EUR 61,260.00"]),
        "vat": ("stated", ["20 % (EUR 12,252.00)"]),
        "total_gross": ("stated", ["EUR 73,512.00"]),
        "currency": ("stated", ["EUR"]),
        "delivery": ("stated", ["12 weeks"]),
        "delivery_terms": ("stated", ["EXW Trois Ponts"]),
        "warranty": ("left open", ["left open"]),
        "payment": ("contradictory", ["instalments 30 % / 60 % / 20 %"]),
        "validity": ("contradictory", ["until 30 June 2025", "90 days"]),
        "number": ("stated", ["KFI-0625-19"]),
    },
}

CONTRADICTIONS = {
    "P1-firnbeck.md": [("warranty", "24 months (line 20) but 36 months (line 64)")],
    "P2-tundrel.txt": [("total_net", "states 53,430.00 (line 34) but the lines add up to 54,030.00")],
    "P3-ijsvelt.md": [],
    "P4-kelvane.txt": [
        ("payment", "the instalments 30 % / 60 % / 20 % add up to 110 %"),
        ("validity", "until 30 June 2025 (line 8) but 90 days (line 105), which ends on 31 August 2025"),
    ],
}

MISSING = {
    "P1-firnbeck.md": [],
    "P2-tundrel.txt": [],
    "P3-ijsvelt.md": ["vat", "total_gross", "delivery"],
    "P4-kelvane.txt": ["warranty"],
}


def extracted(name: str) -> dict[str, Any]:
    return extract(read_document(PROPOSALS / name))


def test_the_example_holds_these_four_documents() -> None:
    assert [path.name for path in list_folder(PROPOSALS).paths] == list(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_proposal_states(name: str) -> None:
    criteria = extracted(name)["criteria"]
    found = {key: (entry["status"], [value["value"] for value in entry["values"]]) for key, entry in criteria.items()}
    assert found == EXPECTED[name]
    assert list(found) == list(EXTRACTED)


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_where_a_proposal_contradicts_itself(name: str) -> None:
    found = [(fault["criterion"], fault["text"]) for fault in extracted(name)["contradictions"]]
    assert found == CONTRADICTIONS[name]


@pytest.mark.parametrize("name", MISSING)
def test_what_a_proposal_lacks(name: str) -> None:
    assert extracted(name)["missing"] == MISSING[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_each_value_quotes_the_line_that_it_names(name: str) -> None:
    lines = (PROPOSALS / name).read_text(encoding="utf-8").split("\n")
    for entry in extracted(name)["criteria"].values():
        for value in entry["values"]:
            assert value["quote"] == lines[value["line"] - 1].strip() != ""


@pytest.mark.parametrize("name", EXPECTED)
def test_the_same_bytes_give_the_same_extract_and_it_passes_its_check(name: str) -> None:
    source = read_document(PROPOSALS / name)
    assert extract(source) == extract(source)
    assert faults_of(extract(source), source) == []


@pytest.mark.parametrize("name", EXPECTED)
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(name: str, tmp_path: Path) -> None:
    text = (PROPOSALS / name).read_text(encoding="utf-8")
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    again = extract(read_document(tmp_path / name))
    first = extracted(name)
    assert (again["criteria"], again["contradictions"]) == (first["criteria"], first["contradictions"])


@pytest.mark.parametrize(
    ("name", "old", "new", "criterion"),
    [
        ("P1-firnbeck.md", "36 months from", "24 months from", "warranty"),
        ("P2-tundrel.txt", "53,430.00\n", "54,030.00\n", "total_net"),
        ("P4-kelvane.txt", "20 % on signature", "10 % on signature", "payment"),
        ("P4-kelvane.txt", "90 days", "28 days", "validity"),
    ],
)
def test_a_contradiction_goes_away_once_it_is_put_right(
    tmp_path: Path, name: str, old: str, new: str, criterion: str
) -> None:
    text = (PROPOSALS / name).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new), encoding="utf-8")
    assert criterion not in {fault["criterion"] for fault in extract(read_document(tmp_path / name))["contradictions"]}
