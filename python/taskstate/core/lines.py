"""Blocks of whole lines within a token budget: what comes first is kept longest, and what is left out is counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from json import JSONEncoder
from typing import Any, NamedTuple, TypeAlias

from .tokens import CountTokens, longest_prefix

Quote: TypeAlias = Callable[[str], str]
"""Gives a text as a JSON string on one line, cut where it is too long."""

_encode = JSONEncoder(ensure_ascii=False).encode
_ENDS_LINE = re.compile("[\x7f-\x9f\u2028\u2029]")

_LONGEST_TOKEN = 64
"""Characters; a text with more for each token of the budget is over it."""
_SHORTEST_CUT = 40
"""Characters that a text keeps at least when it has to be cut."""
_NOT_WORTH_A_CUT = 20
"""About as many characters as the note of a cut has."""


class Group(NamedTuple):
    """Entries of one kind. Without a plural there is but one, and its name has its article."""

    name: str
    plural: str
    entries: Sequence[Any]


class Layout(NamedTuple):
    """What a block consists of.

    `head` gives the lines that stand first in it, `groups` go by importance, `line` writes an entry of the group that
    it is given the name of, `brief` says what there is where nothing can be shown; `characters` is how many there are
    in all texts.
    """

    tag: str
    head: Callable[[Quote], Sequence[str]]
    groups: Sequence[Group]
    line: Callable[[str, Any, Quote], str]
    brief: str
    characters: int


def fit(layout: Layout, tokens: int | None, count: CountTokens) -> str:
    """The block with as much as `tokens` allow, None for all; the closing tag always stays.

    Long texts are cut before an entry is left out, and say by how much; a line is shown whole or not at all.
    """
    if tokens is None:
        block = _Block(layout, None)
        return block.text(len(block))
    if layout.characters <= _LONGEST_TOKEN * tokens:
        block = _Block(layout, None)
        whole = block.text(len(block))
        if count(whole) <= tokens:
            return whole
    # An eighth of the budget at four characters a token, so that no text crowds out all others.
    block = _Block(layout, max(_SHORTEST_CUT, tokens // 2))
    shown, over, probe = -1, len(block) + 1, min(8, len(block))
    while over - shown > 1:
        if count(block.text(probe)) <= tokens:
            shown = probe
        else:
            over = probe
        grown = 2 * max(shown, 1)
        probe = min(grown, len(block)) if over > len(block) else (shown + over) // 2
    if shown >= 0:
        return block.text(shown)
    # Whole lines only: half of one could say something else.
    opening, closing = f"<{layout.tag}>", f"\n</{layout.tag}>"
    for text in (f"{opening}\nNot shown here: {layout.brief}.{closing}", opening + closing):
        if count(text) <= tokens:
            return text
    return longest_prefix(opening, closing, tokens, count) + closing


class _Block:
    """The entries of a block in the order of their importance, with long texts cut to `cut` characters."""

    def __init__(self, layout: Layout, cut: int | None) -> None:
        self._layout = layout
        self._cut = cut
        self._entries = [(group.name, entry) for group in layout.groups for entry in group.entries]
        self._lines: list[str] = []
        self._head = list(layout.head(self._quoted))

    def __len__(self) -> int:
        return len(self._entries)

    def text(self, shown: int) -> str:
        """The block with the first `shown` entries."""
        for name, entry in self._entries[len(self._lines) : shown]:
            self._lines.append(self._layout.line(name, entry, self._quoted))
        lines = [*self._head, *self._left_out(shown), *self._lines[:shown]]
        return "\n".join([f"<{self._layout.tag}>", *lines, f"</{self._layout.tag}>"])

    def _left_out(self, shown: int) -> Iterator[str]:
        parts = []
        for name, plural, entries in self._layout.groups:
            missing = len(entries) - min(max(shown, 0), len(entries))
            shown -= len(entries)
            if missing:
                parts.append(f"{missing} {plural if missing > 1 else name}" if plural else name)
        if parts:
            yield f"Not shown here: {', '.join(parts)}."

    def _quoted(self, text: str) -> str:
        """A text as a JSON string, and how much of it is left out."""
        cut = len(text) if self._cut is None or len(text) <= self._cut + _NOT_WORTH_A_CUT else self._cut
        quoted = quote(text[:cut], self._layout.tag)
        return quoted if cut == len(text) else f"{quoted} (+{len(text) - cut} characters)"


def quote(text: str, tag: str) -> str:
    """A text as a JSON string on one line, whatever a reader takes for the end of one, that can't close the block."""
    escaped = _ENDS_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", _encode(text))
    return escaped.replace(f"</{tag}", f"<\\/{tag}")
