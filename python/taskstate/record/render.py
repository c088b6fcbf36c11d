"""The `<agent_state>` block that shows an agent state to a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from json import JSONEncoder
from typing import Any

from ..core.tokens import CountTokens, checked, estimate_tokens, longest_prefix, whole_tokens
from .diff import snapshot_of
from .state import AgentState
from .types import AgentStateSnapshot

_OPENING = "<agent_state>\n"
_CLOSING = "\n</agent_state>"

_encode = JSONEncoder(ensure_ascii=False).encode
_ENDS_LINE = re.compile("[\x7f-\x9f\u2028\u2029]")

_UNFINISHED = ("in_progress", "blocked", "open")
_LONGEST_TOKEN = 64
"""Characters; a text with more for each token of the budget is over it."""
_SHORTEST_CUT = 40
"""Characters that a text keeps at least when it has to be cut."""
_NOT_WORTH_A_CUT = 20
"""About as many characters as the note of a cut has."""


def render_agent_state(
    snapshot: AgentStateSnapshot | AgentState | Any, budget: float, count_tokens: CountTokens | None = None
) -> str:
    """The block that shows an agent state to a model in at most `budget` tokens; a snapshot is checked first.

    It begins with how much there is and, where the budget can't hold everything, how much of what is left out.
    Then come the objective, unfinished work (in progress, blocked, open), decisions and finished work; what comes
    first is kept longest. Long texts are cut before anything is left out, and say by how much. The closing tag
    always stays. A budget above 0 is floored, but not below 1; one of 0 or less, or infinity, gives the whole block.

    `count_tokens` counts with a real tokenizer; without it a token is four UTF-16 code units.
    Raises AgentStateError, and InvalidBudgetError for NaN or no number. This library's own.
    """
    return render(snapshot, budget, count_tokens)[0]


def render(snapshot: Any, budget: float, count_tokens: CountTokens | None = None) -> tuple[str, int]:
    """`render_agent_state`, and how many tokens the block has."""
    tokens = whole_tokens(budget)
    count = estimate_tokens if count_tokens is None else checked(count_tokens)
    text = _within(snapshot_of(snapshot), tokens, count)
    return text, count(text)


def _within(snapshot: AgentStateSnapshot, tokens: int | None, count: CountTokens) -> str:
    if tokens is None:
        block = _Block(snapshot, None)
        return block.text(len(block))
    if _characters(snapshot) <= _LONGEST_TOKEN * tokens:
        block = _Block(snapshot, None)
        whole = block.text(len(block))
        if count(whole) <= tokens:
            return whole
    # An eighth of the budget at four characters a token, so that no text crowds out all others.
    block = _Block(snapshot, max(_SHORTEST_CUT, tokens // 2))
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
    for text in (block.briefly(), _OPENING.removesuffix("\n") + _CLOSING):
        if count(text) <= tokens:
            return text
    return longest_prefix(_OPENING.removesuffix("\n"), _CLOSING, tokens, count) + _CLOSING


class _Block:
    """The entries of a block in the order of their importance, with long texts cut to `cut` characters."""

    def __init__(self, snapshot: AgentStateSnapshot, cut: int | None) -> None:
        self._cut = cut
        work = snapshot["workItems"]
        self._work, self._decisions = len(work), len(snapshot["decisions"])
        by_status = {status: [item for item in work if item["status"] == status] for status in (*_UNFINISHED, "done")}
        self._groups: list[tuple[str, Sequence[Any]]] = [
            ("objective", [snapshot["objective"]] if "objective" in snapshot else []),
            ("unfinished work item", [item for status in _UNFINISHED for item in by_status[status]]),
            ("decision", snapshot["decisions"]),
            ("finished work item", by_status["done"]),
        ]
        self._entries = [(group, entry) for group, entries in self._groups for entry in entries]
        self._lines: list[str] = []
        statuses = ", ".join(f"{len(items)} {status}" for status, items in by_status.items() if items)
        counted = f"{len(work)} ({statuses})" if work else "0"
        self._totals = f"Work items: {counted}. Decisions: {self._decisions}."

    def __len__(self) -> int:
        return len(self._entries)

    def text(self, shown: int) -> str:
        """The block with the first `shown` entries."""
        for group, entry in self._entries[len(self._lines) : shown]:
            self._lines.append(self._line(group, entry))
        return _OPENING + "\n".join([self._totals, *self._left_out(shown), *self._lines[:shown]]) + _CLOSING

    def briefly(self) -> str:
        """The block that says only that nothing is shown."""
        objective = "the objective, " if self._groups[0][1] else ""
        return f"{_OPENING}Not shown here: {objective}{self._work} work items, {self._decisions} decisions.{_CLOSING}"

    def _left_out(self, shown: int) -> Iterator[str]:
        parts = []
        for group, entries in self._groups:
            missing = len(entries) - min(max(shown, 0), len(entries))
            shown -= len(entries)
            if missing:
                parts.append("the objective" if group == "objective" else f"{missing} {group}{'s' * (missing > 1)}")
        if parts:
            yield f"Not shown here: {', '.join(parts)}."

    def _line(self, group: str, entry: Any) -> str:
        if group == "objective":
            return f"Objective: {self._quoted(entry)}"
        return f"- [{entry.get('status', group)}] {self._quoted(entry['id'])}: {self._quoted(entry['content'])}"

    def _quoted(self, text: str) -> str:
        """A text as a JSON string, and how much of it is left out."""
        cut = len(text) if self._cut is None or len(text) <= self._cut + _NOT_WORTH_A_CUT else self._cut
        quoted = _quote(text[:cut])
        return quoted if cut == len(text) else f"{quoted} (+{len(text) - cut} characters)"


def _quote(text: str) -> str:
    """A text as a JSON string on one line, whatever a reader takes for the end of one, that can't close the block."""
    escaped = _ENDS_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", _encode(text))
    return escaped.replace("</agent_state", "<\\/agent_state")


def _characters(snapshot: AgentStateSnapshot) -> int:
    """How many characters the texts of a snapshot have."""
    items: list[Any] = [*snapshot["workItems"], *snapshot["decisions"]]
    return len(snapshot.get("objective", "")) + sum(len(item["id"]) + len(item["content"]) for item in items)
