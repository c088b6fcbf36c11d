"""Cut a document into headings, table rows, labelled lines and sentences that remember their source lines."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .values import CURRENCY, NUMBER

MAX_SEGMENT = 2000
"""Characters of one segment; a longer run of text is cut, so that no pattern meets a megabyte at once."""

MAX_PARAGRAPH = 4 * MAX_SEGMENT
"""Characters after which a run of lines is cut at the next line."""

_TERM_CELL = re.compile(r"^(?:delivery|lead[- ]time|warranty|guarantee|payment|validity|valid|incoterm)", re.IGNORECASE)
_RULE = re.compile(r"^[\s|:=_*~\u2014\u2500+-]{3,}$")
_HASH_HEADING = re.compile(r"^ {0,3}#{1,6}\s+(?P<title>.+?)\s*#*$")
_NUMBERED = re.compile(
    r"^\s{0,4}(?:\d{1,2}(?:\.\d{1,2})*[.)]?|[A-Z][.)]|[IVX]{1,5}[.)])\s+(?P<title>[^\W\d_a-z][^|]*)$"
)
_BULLET = re.compile(r"^\s*(?:[-*\u2022+]|\d{1,2}(?:\.\d{1,2})+\.?|\d{1,2}[.)]|\(?[a-z]\))\s+(?=\S)")
_LABEL = re.compile(
    r"^(?P<label>[^\W\d_](?:[^\W_]|[ /&()'%.-](?!\.\.)){1,40}?)\s*(?::\s+|\s\.{3,}:?\s*|\.{4,}:?\s*|:$)(?P<value>.*)$"
)
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\.\.)(?<!\bNo\.)(?<!\bincl\.)(?<!\bexcl\.)(?<!\bapprox\.)(?<!\bInc\.)(?<!\bLtd\.)(?<!\bCo\.)"
    r"(?<!\bB\.V\.)(?<!\bcert\.)(?<!\bmax\.)(?<!\bmin\.)\s+(?=[A-Z(\"\u201c])"
)
NUMERIC_CELL = re.compile(
    rf"^\(?[-+\u2212]?\s*(?:{CURRENCY}\s?)?[-\u2212]?{NUMBER}(?:,-|\.-|,\u2013)?\s*(?:{CURRENCY}|%|pcs?\.?|x)?\)?$",
    re.IGNORECASE,
)
_HEAD_CELL = re.compile(
    r"\b(?:qty|quantity|pieces|pcs|price|amount|total|sum|cost|unit|value|fee|rate)\b|^no\.?$", re.IGNORECASE
)


@dataclass(frozen=True)
class Segment:
    """A stretch of text with its place; `label` is the line's own label, else empty; `cells` only for rows."""

    kind: str
    text: str
    section: str
    label: str = ""
    cells: tuple[str, ...] = ()
    lines: tuple[tuple[int, int], ...] = ()

    def line(self, offset: int = 0) -> int:
        """The number of the source line that holds this offset of `text`, counted from 1."""
        index = bisect.bisect_right(self.lines, (offset, 1 << 60)) - 1
        return self.lines[max(index, 0)][1]

    @property
    def topic(self) -> str:
        """What the segment says that it is about: its label, first cell or section."""
        return self.label or (self.cells[0] if self.cells else "") or self.section


@dataclass
class _Paragraph:
    """Lines being joined to one run of text."""

    label: str = ""
    indent: int = 0
    width: int = 0
    text: str = ""
    lines: list[tuple[int, int]] = field(default_factory=list)
    open_list: bool = False

    def add(self, line: str, number: int) -> None:
        if self.text:
            self.text += " "
        self.lines.append((len(self.text), number))
        self.text += line.strip()
        self.width = len(line.rstrip())
        self.open_list = self.text.endswith(":")


def plain(line: str) -> str:
    """The line without Markdown emphasis."""
    line = re.sub(r"\*\*|__|`", "", line.expandtabs(4))
    return re.sub(r"(?<![\w*])[*_](?=\S)([^*_]*?\S)[*_](?![\w*])", r"\1", line)


def cells_of(line: str) -> tuple[str, ...]:
    """The cells of a Markdown table row or of a line with columns; empty if it is neither."""
    stripped = line.strip()
    if stripped.count("|") >= 2 or (stripped.startswith("|") and len(stripped) > 1):
        return tuple(cell.strip() for cell in stripped.strip("|").split("|"))
    cells = tuple(re.split(r" {2,}", stripped))
    if len(cells) >= 2 and any(NUMERIC_CELL.match(cell) for cell in cells[1:]):
        return cells
    if len(cells) >= 3 and all(len(cell) <= 34 for cell in cells) and sum(map(_is_head, cells)) >= 2:
        return cells
    return ()


def _is_head(cell: str) -> bool:
    return bool(_HEAD_CELL.search(cell))


def _heading(lines: list[str], index: int) -> str:
    line = lines[index]
    if found := _HASH_HEADING.match(line):
        return found["title"]
    text = line.strip()
    before = lines[index - 1] if index else ""
    after = lines[index + 1] if index + 1 < len(lines) else ""
    if len(text) > 70 or (before.strip() and not _RULE.match(before)):
        return ""
    if re.match(r"^\s*[=\-~]{3,}\s*$", after) and len(after.strip()) <= len(text) + 4:
        return text
    if after.strip() and not _RULE.match(after):
        return ""
    bare = re.sub(r"\(.*?\)", "", text)
    letters = [c for c in bare if c.isalpha()]
    if len(letters) >= 4 and bare == bare.upper() and not text.endswith(".") and not re.search(r"\d{3}", bare):
        return text
    if (found := _NUMBERED.match(line)) and not text.endswith((".", ",", ";")) and len(text) <= 60:
        return found["title"].rstrip(":")
    if text.endswith(":") and len(text.split()) <= 4:
        return text[:-1]
    return ""


def segments(text: str) -> Iterator[Segment]:
    """Every segment of the document in order; empty and ruled lines are passed over."""
    lines = [plain(line) for line in text.split("\n")]
    section = ""
    current: _Paragraph | None = None
    blank = True
    head: tuple[str, ...] = ()
    for index, line in enumerate(lines):
        number = index + 1
        if not line.strip() or _RULE.match(line):
            # A list may stand apart from the sentence that announces it.
            if current and not (current.open_list and not line.strip()):
                yield from _finish(current, section)
                current = None
            head = head if line.strip() else ()
            blank = True
            continue
        if title := _heading(lines, index):
            if current:
                yield from _finish(current, section)
                current = None
            section = re.sub(r"^\d{1,2}(?:\.\d{1,2})*[.)]?\s+", "", title.strip())
            yield Segment("heading", section, section, lines=((0, number),))
            continue
        cells = cells_of(line)
        bullet = _BULLET.match(line)
        body = line[bullet.end() :] if bullet else line.strip()
        label = None if len(cells) > 3 or "|" in line else _LABEL.match(body)
        if label and len(label["label"].split()) > 5:
            label = None
        if cells and not label:
            if current:
                yield from _finish(current, section)
                current = None
            yield Segment("row", " | ".join(cells)[:MAX_SEGMENT], section, cells=cells, lines=((0, number),))
            yield from _under_head(head, cells, section, number)
            head = head or cells
            continue
        head = ()
        indent = len(line) - len(line.lstrip())
        if current and not _continues(current, body, indent, bool(bullet), bool(label), blank):
            yield from _finish(current, section)
            current = None
        if current is None:
            current = _Paragraph(label["label"].strip(" .") if label else "", indent)
        current.add(body, number)
        blank = False
    if current:
        yield from _finish(current, section)


def _under_head(head: tuple[str, ...], cells: tuple[str, ...], section: str, number: int) -> Iterator[Segment]:
    """Terms that stand in columns: each cell under a head such as `Warranty` reads like a labelled line."""
    if len(head) == len(cells):
        for title, cell in zip(head, cells, strict=True):
            if _TERM_CELL.match(title) and cell:
                yield Segment("label", f"{title}: {cell}"[:MAX_SEGMENT], section, title, lines=((0, number),))


def _continues(current: _Paragraph, body: str, indent: int, bullet: bool, label: bool, blank: bool) -> bool:
    if label or len(current.text) > MAX_PARAGRAPH:
        return False
    if bullet:
        return current.open_list or current.text.endswith((",", ";", " and", " or"))
    if blank:
        return False
    if not current.label or indent > current.indent or current.open_list:
        return True
    # A label's value may wrap to the same indent, but a capital more likely begins a line of its own.
    return current.width >= 60 and (not body[:1].isupper() or current.text.endswith((",", ";")))


def _finish(paragraph: _Paragraph, section: str) -> Iterator[Segment]:
    kind = "label" if paragraph.label else "text"
    for start, end in _sentences(paragraph.text):
        first = bisect.bisect_right(paragraph.lines, (start, 1 << 60)) - 1
        marks = [(max(at - start, 0), number) for at, number in paragraph.lines[first:] if at < end]
        yield Segment(kind, paragraph.text[start:end], section, paragraph.label, lines=tuple(marks))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _SENTENCE_END.finditer(text):
        yield from _chunks(start, found.start())
        start = found.end()
    yield from _chunks(start, len(text))


def _chunks(start: int, end: int) -> Iterator[tuple[int, int]]:
    for at in range(start, end, MAX_SEGMENT):
        yield at, min(at + MAX_SEGMENT, end)
