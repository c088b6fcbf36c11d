"""The rules of the extractor on texts of other shapes: values, segments, prices, terms."""

from __future__ import annotations

import hashlib
import time
from decimal import Decimal
from typing import Any

import pytest

from taskstate.demo import values
from taskstate.demo.documents import Source
from taskstate.demo.extract import extract, faults_of
from taskstate.demo.segments import segments

pytestmark = pytest.mark.once


def source(text: str) -> Source:
    content = text.encode()
    return Source("offer.txt", text, hashlib.sha256(content).hexdigest(), len(content), len(content), "utf-8", ())


def found(text: str, criterion: str) -> list[str]:
    return [value["value"] for value in extract(source(text))["criteria"][criterion]["values"]]


def status(text: str, criterion: str) -> str:
    return str(extract(source(text))["criteria"][criterion]["status"])


def faults(text: str) -> list[str]:
    return [fault["criterion"] for fault in extract(source(text))["contradictions"]]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1,234.50", "1234.50"),
        ("1.234,50", "1234.50"),
        ("1 234,50", "1234.50"),
        ("1\u202f234,50", "1234.50"),
        ("1'234.50", "1234.50"),
        ("12,500", "12500"),
        ("12.500", "12500"),
        ("1,234,567", "1234567"),
        ("12.5", "12.5"),
        ("98", "98"),
    ],
)
def test_a_number_is_read_in_each_spelling(text: str, amount: str) -> None:
    assert values.number(text) == Decimal(amount)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("€ 9.790,00", "EUR 9,790.00"),
        ("$185.00 each", "USD 185.00"),
        ("at GBP 95.00", "GBP 95.00"),
        ("9 240,00 EUR", "EUR 9,240.00"),
        ("CHF 61'480.00", "CHF 61,480.00"),
    ],
)
def test_an_amount_is_read_with_its_currency(text: str, shown: str) -> None:
    (money,) = values.moneys(text)
    assert values.show(money.amount, money.currency) == shown


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("24 months", "24 month"),
        ("two years", "24 month"),
        ("a 2-year warranty", "24 month"),
        ("five (5) years", "60 month"),
        ("8 to 10 weeks", "56-70 day"),
        ("4-6 weeks", "28-42 day"),
        ("10 working days", "10 working day"),
        ("10 business days", "10 working day"),
    ],
)
def test_a_span_of_time_is_read_and_made_comparable(text: str, normal: str) -> None:
    (span,) = values.durations(text)
    assert span.normal == normal


@pytest.mark.parametrize(
    "text", ["14 March 2025", "March 14, 2025", "2025-03-14", "14.03.2025", "14/3/2025", "14th Mar 2025"]
)
def test_a_date_is_read_in_each_spelling(text: str) -> None:
    assert [str(day) for day in values.dates(text)] == ["14 March 2025"]


def test_an_impossible_date_is_no_date() -> None:
    assert list(values.dates("31.02.2025 and 2025-13-01")) == []


def test_a_sentence_that_wraps_is_one_segment_and_knows_its_lines() -> None:
    parts = list(segments("Intro here.\n\nThe warranty\nlasts 24\nmonths. Next one.\n"))
    assert [part.text for part in parts] == ["Intro here.", "The warranty lasts 24 months.", "Next one."]
    assert parts[1].line(parts[1].text.index("24")) == 4
    assert parts[2].line() == 5


@pytest.mark.parametrize("heading", ["## Warranty", "Warranty\n--------", "4. Warranty", "WARRANTY", "Warranty:"])
def test_a_heading_of_each_kind_says_what_its_section_is_about(heading: str) -> None:
    assert found(f"Offer.\n\n{heading}\n\nThe units are covered for 18 months.\n", "warranty") == ["18 months"]


@pytest.mark.parametrize(
    "line",
    [
        "Delivery: 6 weeks",
        "- Delivery: 6 weeks",
        "**Delivery:** 6 weeks",
        "Delivery ...... 6 weeks",
        "| Delivery | 6 weeks |",
        "## Delivery: 6 weeks",
    ],
)
def test_a_labelled_line_of_each_kind_is_read(line: str) -> None:
    assert found(f"Offer\n\n{line}\n", "delivery") == ["6 weeks"]


def test_terms_in_columns_are_read_under_their_heads() -> None:
    text = "Delivery | Warranty | Price\n--- | --- | ---\n6 weeks | 24 months | 12.500,00 EUR\n"
    assert (found(text, "delivery"), found(text, "warranty")) == (["6 weeks"], ["24 months"])


AMERICAN = """\
Acme Storage Systems, Inc.
100 Industrial Way

PROPOSAL #4471                                       March 3, 2025

Item                        Qty     Unit Price      Extended
Upright frame 16'            120       $185.00    $22,200.00
Beam 96"                     480        $48.50    $23,280.00
Freight                                            $2,750.00
                                      Subtotal    $48,230.00
                              Sales tax 7.25%      $3,496.68
                                         TOTAL    $51,726.68

Lead time: 4-6 weeks ARO. FOB Springfield.
Terms: Net 30. Prices firm for 30 days.
Racking carries a one-year warranty against defects in workmanship; the
structural components are guaranteed for 10 years.
"""


def test_an_american_quotation_is_read_whole() -> None:
    criteria = extract(source(AMERICAN))["criteria"]
    assert {key: [value["value"] for value in entry["values"]] for key, entry in criteria.items()} == {
        "supplier": ["Acme Storage Systems, Inc."],
        "dated": ["3 March 2025"],
        "unit_price": ["USD 48.50 x 480"],
        "total_net": ["USD 48,230.00"],
        "vat": ["7.25 % (USD 3,496.68)"],
        "total_gross": ["USD 51,726.68"],
        "currency": ["USD"],
        "delivery": ["4 to 6 weeks"],
        "delivery_terms": ["FOB Springfield"],
        "warranty": ["1 year (workmanship)", "10 years (structural components)"],
        "payment": ["within 30 days"],
        "validity": ["30 days"],
        "number": ["4471"],
    }
    assert faults(AMERICAN) == []


@pytest.mark.parametrize(
    ("old", "new", "criterion"),
    [
        ("$22,200.00", "$22,800.00", "unit_price"),
        ("$48,230.00", "$48,320.00", "total_net"),
        ("$51,726.68", "$51,762.68", "total_gross"),
        ("7.25%", "8.25%", "vat"),
    ],
)
def test_wrong_arithmetic_is_a_contradiction(old: str, new: str, criterion: str) -> None:
    assert criterion in faults(AMERICAN.replace(old, new))


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("Total price: USD 45,000\nTotal price: USD 54,000\n", "total_net"),
        ("Delivery: 6 weeks\n\nWe deliver within 9 weeks of your order.\n", "delivery"),
        ("Delivery: EXW Lyon\n\nDelivery is DAP Turin.\n", "delivery_terms"),
        ("Payment: net 30 days\n\nInvoices are payable within 14 days.\n", "payment"),
        ("All prices in EUR.\n\nThe total price is USD 9,000.00.\n", "currency"),
        ("Offer valid until 1 May 2025\n\nThis offer is valid until 1 June 2025.\n", "validity"),
        ("Date: 1 May 2025\nOffer valid until 31 May 2025\n\nThis offer is valid for two months.\n", "validity"),
        ("Payment: 50 % with order, 60 % on delivery\n", "payment"),
        ("Price per unit: EUR 10.00\nQuantity: 6\nTotal price: EUR 70.00 net\n", "total_net"),
    ],
)
def test_two_statements_that_cannot_both_be_true_are_a_contradiction(text: str, criterion: str) -> None:
    assert faults(text) == [criterion]


@pytest.mark.parametrize(
    "text",
    [
        "Warranty: 24 months\n\nWe grant a warranty of two years.\n",
        "Warranty: 24 months\n\nThe compressor carries a warranty of 5 years.\n",
        "Warranty: 24 months\n\nAn optional extension of the warranty to 60 months is available.\n",
        "Warranty: 24 months from delivery\nDelivery: 6 weeks\n",
        "Delivery: 6 weeks\n\nPenalties for late delivery: 0.5 % for each full period of 2 weeks.\n",
        "Payment: 30 days net\n\nWith payment within 10 days you may deduct a discount of 2 %.\n",
        "Payment: 30 days net\n\nInterest is charged on payment later than 60 days.\n",
        "Date: 1 May 2025\nOffer valid until 31 May 2025\n\nThis offer is valid for 30 days.\n",
        "Total: EUR 100.00 net\nVAT 20 %: EUR 20.00\nTotal incl. VAT: EUR 120.00\n",
        "Payment: 40 % with order, 60 % on delivery\n",
        "Total price: EUR 1,000.00\n\nOption, not included: a ramp, total EUR 50.00.\n",
    ],
)
def test_statements_that_agree_or_speak_of_different_things_are_no_contradiction(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("Delivery: to be confirmed\n", "delivery"),
        ("Delivery:\n   TBC\n", "delivery"),
        ("Warranty: according to the conditions of the manufacturer\n", "warranty"),
        ("The total price is EUR 900.00 excl. VAT.\n", "vat"),
    ],
)
def test_what_a_document_puts_off_is_left_open(text: str, criterion: str) -> None:
    assert status(text, criterion) == "left open"


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("You may give a written offer, valid for at least three years, to any third party.\n", "validity"),
        ("Spare parts are available for ten years; ask for the warranty conditions.\n", "warranty"),
        ("Payment is due within the usual time.\n", "payment"),
        ("We have delivered racks since 1998.\n", "delivery"),
        ("if [ -z $1 ]; then cut -f $2 | sort; fi\n", "currency"),
        ("Copyright (C) 2007 Some Foundation, Inc.\n", "supplier"),
    ],
)
def test_what_only_looks_like_a_statement_is_not_taken_for_one(text: str, criterion: str) -> None:
    assert status(text, criterion) == "not stated"


def test_a_disclaimer_of_warranty_is_reported_as_one() -> None:
    assert found("THERE IS NO WARRANTY FOR THE PROGRAM.\n", "warranty") == ["disclaimed"]


def test_a_text_that_is_no_offer_states_nothing() -> None:
    text = "# Recipe\n\nTake 3 eggs and 200 g of flour. Bake for 40 minutes.\n\n- salt\n- butter\n"
    extracted = extract(source(text))
    assert {entry["status"] for entry in extracted["criteria"].values()} == {"not stated"}
    assert extracted["contradictions"] == []


HARD = {
    "one long line of offers": "Delivery in 12 weeks, warranty 24 months, EUR 1,000.00, payment within 30 days. "
    * 3000,
    "one long word": "a" * 250_000,
    "dots": "a." * 125_000,
    "digits": "1 " * 125_000,
    "labels": "a:\n" * 80_000,
    "pipes": "|" * 250_000,
    "an endless list": "- x,\n" * 50_000,
    "wide gaps": ("x" + " " * 300) * 800,
    "numbers": "{" + "1.5," * 60_000 + "}",
}


@pytest.mark.parametrize("name", HARD)
def test_no_text_of_the_largest_size_takes_long(name: str) -> None:
    whole = source(HARD[name])
    started = time.process_time()
    extracted = extract(whole)
    assert time.process_time() - started < 20
    assert faults_of(extracted, whole) == []


def spoiled(**changes: Any) -> list[str]:
    whole = source(AMERICAN)
    return faults_of({**extract(whole), **changes}, whole)


def test_an_extract_that_does_not_fit_its_source_fails_its_check() -> None:
    whole = source(AMERICAN)
    good = extract(whole)
    assert spoiled() == []
    assert faults_of([], whole) == ["it is not a JSON object"]
    assert spoiled(format="other/1") == ["it is not in the format supplier-extract/1"]
    assert spoiled(rules_version=99) == ["it was made by the rules of version 99, not 1"]
    assert spoiled(document="else.txt") == ["it is about another document"]
    assert spoiled(source={"sha256": "0"}) == ["it was made from another version of the source"]
    assert spoiled(criteria={}) == ["it doesn't cover every criterion"]
    invented = {"status": "stated", "values": [{"value": "99 years", "line": 1, "quote": "warranty of 99 years"}]}
    assert spoiled(criteria={**good["criteria"], "warranty": invented}) == [
        "warranty: a quotation is not in the source"
    ]
    assert spoiled(criteria={**good["criteria"], "warranty": None}) == ["warranty: it is incomplete"]
