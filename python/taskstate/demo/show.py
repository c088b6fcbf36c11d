"""Assessments and plans as short tables for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from taskstate.restart import Assessment, Item, Plan

_WIDTHS = (40, 96)
"""Of a name, and of a reason, at most."""


def why(item: Item) -> str:
    """What the verdict on an item rests on, in a few words."""
    told = [part for part in item.because if not part.startswith(("artifact:", "evidence:"))]
    return re.sub(r"file:\S+", "the file", "; ".join(told)).replace(f"unit:{item.id} ", "it ") or item.verdict


def assessment_table(found: Assessment, criteria: int) -> Iterator[str]:
    """What is true: every unit, and of the rest what isn't as it was recorded."""
    rows = [("what", "verdict", "bytes", "sources", "because")]
    expected = {item.found_at for item in found.items}
    for item in found.items:
        if item.kind == "unit" or (item.verdict not in ("keep", "settled") and item.id not in expected):
            name = item.id if item.kind == "unit" else f"{item.kind} {item.id}"
            reason = item.prior if item.verdict == "history" else why(item)
            rows.append((name, item.verdict, _dash(item.integrity), _dash(item.freshness), reason))
    yield f"Assessment of state version {found.state_version}: {found.scope}; criteria {criteria}."
    yield from _aligned(rows)
    missing = sum(entry.what == "unit" for entry in found.missing)
    yield "Nothing is missing." if found.complete else f"Not complete: {missing} to do."


def plan_table(planned: Plan) -> Iterator[str]:
    """What is to be done, in order; what is kept isn't in it."""
    rows = [(str(number), step.op, step.subject) for number, step in enumerate(planned.transitions, 1)]
    yield f"Plan: {len(rows) or 'no'} step{'' if len(rows) == 1 else 's'}; {len(planned.resumes_from)} to be kept."
    yield from _aligned(rows)


def _dash(text: str) -> str:
    return "-" if text == "none" else text


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    cells = [[_cut(cell, _WIDTHS[at == len(row) - 1]) for at, cell in enumerate(row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
