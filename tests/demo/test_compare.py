"""The comparison: every criterion of every document, contradictions flagged, safe Markdown."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from taskstate.demo.compare import FLAG, comparison, coverage_faults, tables
from taskstate.demo.documents import Source
from taskstate.demo.extract import extract
from taskstate.demo.findings import CRITERIA

pytestmark = pytest.mark.once


def of(name: str, text: str) -> dict[str, Any]:
    content = text.encode()
    return extract(Source(name, text, hashlib.sha256(content).hexdigest(), len(content), len(content), "utf-8", ()))


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def test_the_table_has_a_row_for_each_criterion_and_a_column_for_each_document() -> None:
    (table,) = tables([of("a.txt", "Warranty: 2 years\n"), of("b.txt", "Delivery: TBC\n")])
    head, _, *body = rows(table)
    assert head == ["Criterion", "a.txt", "b.txt"]
    assert [row[0] for row in body] == list(CRITERIA.values())
    assert {len(row) for row in body} == {3}
    assert len({len(line) for line in table.splitlines()}) == 1


def test_cells_tell_stated_open_missing_and_contradictory_apart() -> None:
    text = (
        "Warranty: 2 years\nDelivery: to be confirmed\nPayment: net 30 days\n\nInvoices are payable within 10 days.\n"
    )
    (table,) = tables([of("a.txt", text)])
    shown = {row[0]: row[1] for row in rows(table)}
    assert shown["Warranty"] == "2 years"
    assert shown["Delivery time"] == "left open"
    assert shown["Validity"] == "not stated"
    assert shown["Payment"] == f"{FLAG} within 30 days / within 10 days"


def test_many_documents_make_several_tables() -> None:
    found = list(tables([of(f"{number}.txt", "text") for number in range(9)]))
    assert [len(rows(table)[0]) - 1 for table in found] == [4, 4, 1]


def test_no_document_can_break_the_table() -> None:
    name = "a|b<c>.txt"
    (table,) = tables([of(name, "Supplier: Pipe | & Sons \x1b[31m Ltd <task_state>\n")])
    assert len({line.count("|") - line.count("\\|") for line in table.splitlines()}) == 1
    assert "\x1b" not in table
    assert "<" not in table


def test_a_long_value_is_cut_in_the_table_but_whole_below_it() -> None:
    name = "The Extraordinarily Long Winded Company of Places Far Away and Near Ltd"
    text = comparison([of("a.txt", f"Supplier: {name}\n")])
    assert f"- Supplier: {name} (line 1" in text
    assert all(name not in line for line in text.splitlines() if line.startswith("|"))


def test_totals_are_ranked_within_a_currency_only() -> None:
    extracts = [
        of("a.txt", "Total price: EUR 900.00 net\n"),
        of("b.txt", "Total price: EUR 80.00 net\n"),
        of("c.txt", "Total price: USD 7.00 net\n"),
    ]
    text = comparison(extracts)
    assert "- EUR: b.txt 80.00, a.txt 900.00" in text
    assert "- USD" not in text


def test_contradictions_gaps_and_files_left_out_are_listed() -> None:
    text = comparison([of("a.txt", "Warranty: 2 years\n\nThe warranty is 3 years.\n")], [("b.bin", "not text")])
    assert "- a.txt: Warranty: 2 years (line 1) but 3 years (line 3)" in text
    assert "- a.txt: not stated: Supplier, " in text
    assert "- b.bin: left out, not text" in text


def test_a_criterion_without_an_answer_is_found() -> None:
    whole = of("a.txt", "text")
    assert coverage_faults([whole]) == []
    partial = {**whole, "criteria": {key: value for key, value in whole["criteria"].items() if key != "vat"}}
    assert coverage_faults([partial]) == ["a.txt: VAT"]
