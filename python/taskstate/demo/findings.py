"""What the rules report: one value of one criterion at one place, or a contradiction between several."""

from __future__ import annotations

from dataclasses import dataclass

CRITERIA: dict[str, str] = {
    "supplier": "Supplier",
    "dated": "Date of the document",
    "unit_price": "Unit price (main item)",
    "total_net": "Total, net",
    "vat": "VAT",
    "total_gross": "Total, gross",
    "currency": "Currency",
    "delivery": "Delivery time",
    "delivery_terms": "Delivery terms",
    "warranty": "Warranty",
    "payment": "Payment",
    "validity": "Validity",
}
"""What a review begins with, in the order of the comparison: key in the extract, title in the table."""

EXTRACTED: dict[str, str] = {**CRITERIA, "number": "Number of the offer"}
"""Every criterion that there are rules for; an extract has all of them, whichever are compared."""

RULES_VERSION = 1
"""Raise it when the rules change: extracts made by another version of them are made again."""


@dataclass(frozen=True)
class Finding:
    """A value as shown, `normal` for comparing, `scope` for what it applies to (empty: in general).

    `open` marks a statement that names the criterion but leaves its value open.
    """

    criterion: str
    value: str
    line: int
    normal: str = ""
    scope: str = ""
    open: bool = False


@dataclass(frozen=True)
class Contradiction:
    """Statements of one document that can't all be true."""

    criterion: str
    text: str
    lines: tuple[int, ...]


def disagreements(findings: list[Finding]) -> list[Contradiction]:
    """Different values of one criterion for the same scope."""
    found: list[Contradiction] = []
    groups: dict[tuple[str, str], dict[str, Finding]] = {}
    for finding in findings:
        if finding.normal and not finding.open:
            groups.setdefault((finding.criterion, finding.scope), {}).setdefault(finding.normal, finding)
    for (criterion, scope), values in groups.items():
        if len(values) > 1:
            text = " but ".join(f"{value.value} (line {value.line})" for value in values.values())
            suffix = f", {scope}" if scope and scope not in text else ""
            found.append(Contradiction(criterion, text + suffix, tuple(value.line for value in values.values())))
    return found
