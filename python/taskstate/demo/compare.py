"""The comparison of checked extracts, in Markdown: criteria by documents, contradictions flagged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from .extract import CONTRADICTORY, MISSING, OPEN
from .findings import CRITERIA
from .values import moneys, show

FLAG = "(!)"
COLUMNS = 4
"""Documents side by side in one table; more make more tables."""
_CELL = 60

Extract = dict[str, Any]


def coverage_faults(extracts: Sequence[Extract], criteria: Mapping[str, str] = CRITERIA) -> list[str]:
    """Where a comparison of these extracts would leave a criterion of a document without an answer."""
    return [
        f"{extract['document']}: {title}"
        for extract in extracts
        for key, title in criteria.items()
        if not extract["criteria"].get(key, {}).get("status")
    ]


def comparison(
    extracts: Sequence[Extract],
    left_out: Sequence[tuple[str, str]] = (),
    criteria: Mapping[str, str] = CRITERIA,
) -> str:
    """The whole comparison by these criteria as a Markdown document."""
    lines = [
        "# Comparison",
        "",
        f"{_documents(len(extracts))}, {len(criteria)} criteria. {FLAG} marks a contradiction.",
        "",
    ]
    for table in tables(extracts, criteria=criteria):
        lines += [table, ""]
    lines += ["## To clear up", "", *(_questions(extracts, criteria) or ["Nothing."])]
    if ranking := _ranking(extracts):
        lines += ["", "## Net totals, lowest first", "", *ranking]
    notes = [f"- {_text(extract['document'])}: {note}" for extract in extracts for note in extract["notes"]]
    notes += [f"- {_text(name)}: left out, {reason}" for name, reason in left_out]
    if notes:
        lines += ["", "## Notes", "", *notes]
    lines += ["", "## Where it says so", "", *_evidence(extracts, criteria)]
    return "\n".join(lines) + "\n"


def tables(extracts: Sequence[Extract], width: int = _CELL, criteria: Mapping[str, str] = CRITERIA) -> Iterator[str]:
    """Tables of at most COLUMNS documents each, their columns aligned; cells are cut to `width`."""
    for at in range(0, len(extracts), COLUMNS):
        group = extracts[at : at + COLUMNS]
        rows = [["Criterion", *(_text(extract["document"]) for extract in group)]]
        for key, title in criteria.items():
            rows.append([title, *(cell(extract["criteria"][key]) for extract in group)])
        rows = [[_cut(text, width) for text in row] for row in rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        rows.insert(1, ["-" * size for size in widths])
        yield "\n".join(
            f"| {' | '.join(text.ljust(size) for text, size in zip(row, widths, strict=True))} |" for row in rows
        )


def cell(entry: dict[str, Any]) -> str:
    """What the table shows of one criterion of one document."""
    values = [_text(value["value"]) for value in entry["values"]]
    if entry["status"] == CONTRADICTORY:
        return f"{FLAG} {' / '.join(values) or 'contradictory'}"
    if entry["status"] == OPEN:
        return values[0] if values else OPEN
    return "; ".join(values) if values else MISSING


def _questions(extracts: Sequence[Extract], criteria: Mapping[str, str]) -> list[str]:
    lines = []
    for extract in extracts:
        name = _text(extract["document"])
        lines += [
            f"- {name}: {criteria[fault['criterion']]}: {_text(fault['text'])}"
            for fault in extract["contradictions"]
            if fault["criterion"] in criteria
        ]
        for status in (OPEN, MISSING):
            gaps = [title for key, title in criteria.items() if extract["criteria"][key]["status"] == status]
            if gaps:
                lines.append(f"- {name}: {status}: {', '.join(gaps)}")
    return lines


def _ranking(extracts: Sequence[Extract]) -> list[str]:
    """Net totals of one currency in order; totals of different currencies are never compared."""
    totals: dict[str, list[tuple[Decimal, str, str]]] = {}
    for extract in extracts:
        entry = extract["criteria"]["total_net"]
        amounts = [money for value in entry["values"][:1] for money in moneys(value["value"])]
        if amounts:
            flag = f" {FLAG}" if entry["status"] == CONTRADICTORY else ""
            totals.setdefault(amounts[0].currency, []).append((amounts[0].amount, _text(extract["document"]), flag))
    return [
        f"- {code}: " + ", ".join(f"{name} {show(amount, '')}{flag}" for amount, name, flag in sorted(group))
        for code, group in totals.items()
        if len(group) > 1
    ]


def _evidence(extracts: Sequence[Extract], criteria: Mapping[str, str]) -> Iterator[str]:
    for extract in extracts:
        yield f"### {_text(extract['document'])}"
        yield ""
        if extract["title"]:
            yield f"{_text(extract['title'])}"
            yield ""
        for key, title in criteria.items():
            for value in extract["criteria"][key]["values"]:
                yield f"- {title}: {_text(value['value'])} (line {value['line']}: {_text(value['quote'])})"
        yield ""


def _documents(count: int) -> str:
    return f"{count} document{'' if count == 1 else 's'}"


def _text(text: str) -> str:
    """Text of a document made harmless: no control characters, nothing that would break the table."""
    text = "".join(c if c.isprintable() else " " for c in text)
    return text.replace("|", "\\|").replace("<", "&lt;").strip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3].rstrip("\\ ") + "..."
