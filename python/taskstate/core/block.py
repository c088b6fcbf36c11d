"""The `<task_state>` block within a token budget, above either twin."""

from __future__ import annotations

from typing import Any, TypeAlias

from . import twin
from .tokens import UNITS_PER_TOKEN, CountTokens, checked, longest_prefix, whole_tokens

_Parts: TypeAlias = tuple[str, list[str], int, str]

_CLOSING = "\n</task_state>"


def render(state: Any, budget: float, count_tokens: CountTokens | None = None) -> tuple[str, int]:
    """The block that shows `state` to a model, and its size in tokens.

    The state is written as indented JSON. While it is over `budget` tokens the older half of the
    checkpoints is left out, and at last the text is cut; the closing tag always stays. A budget
    above 0 is floored, but not below 1; one of 0 or less, or infinity, gives the whole block.
    A string that holds `</task_state` is written `<\\/task_state`, so that it can't close the block.

    `count_tokens` counts with a real tokenizer; without it a token is four UTF-16 code units.
    Only what the budget can show is read: values in `data` and names in `files` are checked where
    they are written. Raises InvalidBudgetError for NaN or no number, InvalidStateError and
    InvalidValueError for what is no task state.

    Source: the task-state specification, "How It Works", recall.
    """
    tokens = whole_tokens(budget)
    if count_tokens is None:
        text, units = twin.render_block(state, None if tokens is None else tokens * UNITS_PER_TOKEN)
        return text, -(-units // UNITS_PER_TOKEN)
    return _render_counted(state, tokens, count_tokens)


def _render_counted(state: Any, tokens: int | None, count_tokens: CountTokens) -> tuple[str, int]:
    count = checked(count_tokens)
    if tokens is None:
        text, _ = twin.render_block(state, None)
        return text, count(text)
    bare, parts = _parts_to_judge(state, tokens, count)
    if parts:
        head, entries, kept, tail = parts
        while True:
            text = head + _array(entries, kept) + tail
            size = count(text)
            if size <= tokens:
                return text, size
            if not kept:
                break
            kept //= 2
    # Without its own closing tag: a tokenizer that isn't monotone could let that through, and a second one after it.
    text = longest_prefix(bare.removesuffix(_CLOSING), _CLOSING, tokens, count) + _CLOSING
    return text, count(text)


def _parts_to_judge(state: Any, tokens: int, count: CountTokens) -> tuple[str, _Parts | None]:
    """The block without checkpoints, and its pieces; only a part and None where that is seen to be over the budget."""
    limit = 64 * tokens + 256
    while True:
        head, entries, total, tail, whole = twin.render_parts(state, limit)
        if whole:
            if len(entries) < total:
                head, entries, total, tail, _ = twin.render_parts(state, None)
            return head + "[]" + tail, (head, entries, total, tail)
        # How far past the limit a twin reads is its own business; half as many characters are never past it.
        part = (head + "[]" + tail)[: limit // 2]
        if count(part) > tokens:
            return part, None
        limit *= 8


def _array(entries: list[str], kept: int) -> str:
    return "[\n" + ",\n".join(entries[len(entries) - kept :]) + "\n  ]" if kept else "[]"
