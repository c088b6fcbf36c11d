"""Extract one document: the criteria it states, leaves open or doesn't mention, and where it contradicts itself.

Rules only, no network and no randomness: the same bytes give the same extract. Every value
carries its line and a quotation of it, so that an extract can be checked against its source.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import terms
from .documents import Source
from .findings import EXTRACTED, RULES_VERSION, Contradiction, Finding, disagreements
from .prices import PriceReader
from .segments import segments
from .supplier import dated, number, supplier, title
from .totals import price_faults, price_findings

FORMAT = "supplier-extract/1"
STATED, OPEN, MISSING, CONTRADICTORY = "stated", "left open", "not stated", "contradictory"
QUOTE = 200
"""Characters of a source line that an extract quotes at most."""
_SHOWN = 6


def extract(source: Source) -> dict[str, Any]:
    """The extract of a document as plain JSON data."""
    parts = list(segments(source.text))
    reader = PriceReader()
    findings: list[Finding] = []
    faults: list[Contradiction] = []
    for part in parts:
        reader.take(part)
        if part.kind == "heading" and not any(c.isdigit() for c in part.text):
            continue
        for rule in (terms.delivery, terms.delivery_terms, terms.warranty, terms.payment, terms.validity):
            findings.extend(rule(part))
        faults.extend(terms.instalment_faults(part))
    named = supplier(source.text, parts)
    when = dated(parts)
    findings.extend(price_findings(reader.prices))
    if named:
        findings.append(named)
    if when:
        findings.append(when[0])
    if numbered := number(source.text):
        findings.append(numbered)
    # A period and a last day are two ways to say one thing, so validity has its own comparison.
    faults.extend(disagreements([finding for finding in findings if finding.criterion != "validity"]))
    faults.extend(terms.validity_faults(findings, when[1] if when else None))
    faults.extend(price_faults(reader.prices))
    lines = source.text.split("\n")
    criteria = {key: _criterion(key, findings, faults, lines) for key in EXTRACTED}
    notes = list(source.notes)
    if others := reader.prices.unclassified:
        notes.append(f"amounts that are neither a total nor a unit price: {others}")
    return {
        "format": FORMAT,
        "rules_version": RULES_VERSION,
        "document": source.name,
        "title": title(source.text, parts),
        "source": {
            "sha256": source.sha256,
            "bytes_read": source.bytes_read,
            "size": source.size,
            "encoding": source.encoding,
        },
        "criteria": criteria,
        "contradictions": [
            {"criterion": fault.criterion, "text": fault.text, "lines": list(fault.lines)} for fault in faults
        ],
        "missing": [key for key, entry in criteria.items() if entry["status"] in (MISSING, OPEN)],
        "notes": notes,
    }


def _criterion(
    key: str, findings: Iterable[Finding], faults: Iterable[Contradiction], lines: list[str]
) -> dict[str, Any]:
    values: dict[tuple[str, str], Finding] = {}
    left_open: list[Finding] = []
    for finding in findings:
        if finding.criterion != key:
            continue
        if finding.open:
            left_open.append(finding)
        else:
            values.setdefault((finding.normal or finding.value, finding.scope), finding)
    chosen = list(values.values())[:_SHOWN] or left_open[:1]
    if any(fault.criterion == key for fault in faults):
        status = CONTRADICTORY
    elif values:
        status = STATED
    else:
        status = OPEN if left_open else MISSING
    return {
        "status": status,
        "values": [
            {"value": finding.value, "line": finding.line, "quote": quote(lines, finding.line)} for finding in chosen
        ],
    }


def quote(lines: list[str], number: int) -> str:
    """The source line with this number, without its outer white space, cut to the length of a quotation."""
    return lines[number - 1].strip()[:QUOTE] if 1 <= number <= len(lines) else ""


def faults_of(value: Any, source: Source) -> list[str]:
    """Why a stored extract can't stand for this source as it is now; an empty list if it can.

    Shape, versions and the source's hash are compared, and every quotation is looked up in the source.
    """
    if not isinstance(value, dict):
        return ["it is not a JSON object"]
    origin = value.get("source")
    criteria = value.get("criteria")
    if value.get("format") != FORMAT or not isinstance(origin, dict) or not isinstance(criteria, dict):
        return [f"it is not in the format {FORMAT}"]
    found = []
    if value.get("document") != source.name:
        found.append("it is about another document")
    if value.get("rules_version") != RULES_VERSION:
        found.append(f"it was made by the rules of version {value.get('rules_version')!r}, not {RULES_VERSION}")
    if origin.get("sha256") != source.sha256:
        found.append("it was made from another version of the source")
    if list(criteria) != list(EXTRACTED):
        found.append("it doesn't cover every criterion")
    if not isinstance(value.get("contradictions"), list) or not isinstance(value.get("notes"), list):
        found.append("its lists are missing")
    return found or _quotation_faults(criteria, source)


def _quotation_faults(criteria: dict[str, Any], source: Source) -> list[str]:
    lines = source.text.split("\n")
    found = []
    for key, entry in criteria.items():
        try:
            values = entry["values"]
            status = entry["status"]
            if status not in (STATED, OPEN, MISSING, CONTRADICTORY) or (not values and status == STATED):
                found.append(f"{key}: its status does not fit")
            if any(quote(lines, value["line"]) != value["quote"] or not value["value"] for value in values):
                found.append(f"{key}: a quotation is not in the source")
        except (KeyError, TypeError):
            found.append(f"{key}: it is incomplete")
    return found
