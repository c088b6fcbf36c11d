"""Rules for the head of a document: who offers, its number, its title, its date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from .findings import Finding
from .segments import Segment, plain
from .values import dates

_HEAD_LINES = 12
_FORMS = (
    r"GmbH(?: & Co\.? KG)?|AG|KG|SE|Ltd\.?|LTD\.?|Limited|LIMITED|LLC|LLP|Inc\.?|INC\.?|Corp\.?|Corporation|PLC|plc"
    r"|[BN]\.?V\.?|S\.?A\.?|S\.?A\.?R\.?L\.?|SAS|S\.?[pP]\.?A\.?|S\.?[rR]\.?[lL]\.?|AB|A/S|ApS|Oyj?|AS"
    r"|Sp\. z o\.o\.|s\.r\.o\.|Kft\.?|Pty Ltd"
)
_COMPANY = rf"[^\W_a-z][\w&.,'\u2019/+-]*(?: [\w&.,'\u2019/+-]+){{0,7}}?,? (?:{_FORMS})"
_ALONE = re.compile(rf"^(?:{_COMPANY})$")
_SIGNED = re.compile(
    rf"\b(?:[Oo]n behalf of|[Ff]or|(?:[Pp]roposal|[Oo]ffer|[Qq]uotation) (?:by|from|of))\s+({_COMPANY})$"
)
_LABELS = re.compile(r"(?:supplier|vendor|bidder|tenderer|offeror|seller|company|contractor|from)\b", re.IGNORECASE)
_DATE_LABEL = re.compile(
    r"(?:date|dated|date of (?:issue|offer|quotation)|issued(?: on)?|quotation date|offer date)$", re.IGNORECASE
)
_NUMBERS = (
    re.compile(r"\bour (?:number|ref(?:erence)?)\b[ :#*.]*((?=[\w./-]*\d)[A-Z\d][\w./-]{2,30})", re.IGNORECASE),
    re.compile(
        r"\b(?:quotation|quote|offer|proposal|ref|reference)\b(?: n(?:o|umber)\b)?[ :#*.]*"
        r"((?=[\w./-]*\d)[A-Z\d][\w./-]{2,30})",
        re.IGNORECASE,
    ),
)
_DATED = re.compile(r"\b(?:issued|dated)(?: on)?\s*$|\s{3,}$|^(?:[A-Z][\w-]+(?: [A-Z][\w-]+)?, )?$", re.IGNORECASE)


def supplier(text: str, parts: Sequence[Segment]) -> Finding | None:
    """The company that offers: by label, by letterhead, by signature, in this order."""
    for part in parts:
        if part.kind == "label" and _LABELS.match(part.label):
            value = part.text.split(":", 1)[-1].strip()
            if 2 <= len(value) <= 80:
                return Finding("supplier", value, part.line(), value.casefold())
    lines = [(number, plain(line).strip(" #|=-\t")) for number, line in enumerate(text.split("\n"), 1)]
    filled = [(number, line) for number, line in lines if line]
    for number, line in filled[:_HEAD_LINES]:
        if len(line) <= 80 and _ALONE.match(line):
            return Finding("supplier", line, number, line.casefold())
    for number, line in filled[:_HEAD_LINES] + filled[-_HEAD_LINES:]:
        if found := _SIGNED.search(line[:200]):
            return Finding("supplier", found[1], number, found[1].casefold())
    for number, line in filled[-_HEAD_LINES:]:
        if len(line) <= 80 and _ALONE.match(line):
            return Finding("supplier", line, number, line.casefold())
    return None


def number(text: str) -> Finding | None:
    """The offerer's own number of the document, from its head."""
    head = list(enumerate(text.split("\n")[: 2 * _HEAD_LINES], 1))
    for pattern in _NUMBERS:
        for line, content in head:
            if found := pattern.search(content[:200]):
                return Finding("number", found[1].rstrip("./-"), line)
    return None


def title(text: str, parts: Sequence[Segment]) -> str:
    """A subject line if there is one, else the first line."""
    for part in parts[:40]:
        if part.kind == "label" and re.fullmatch(r"subject|re|title|object", part.label, re.IGNORECASE):
            return part.text.split(":", 1)[-1].strip()[:100]
    return next((plain(line).strip("# \t")[:100] for line in text.split("\n") if any(c.isalnum() for c in line)), "")


def dated(parts: Sequence[Segment]) -> tuple[Finding, date] | None:
    """The date of the document itself, from a label or from a line of the head that holds little else."""
    for part in parts[:40]:
        labelled = bool(_DATE_LABEL.match(part.label or (part.cells[0] if part.cells else "")))
        for day in dates(part.text):
            if labelled or (part.line() <= 25 and part.kind == "text" and _DATED.search(part.text[: day.at])):
                return Finding("dated", str(day), part.line(day.at), day.day.isoformat()), day.day
    return None
