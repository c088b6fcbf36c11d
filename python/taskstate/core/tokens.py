"""Budgets in tokens, and how a text's tokens are counted."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TypeAlias

from ..errors import ConfigurationError, InvalidBudgetError

CountTokens: TypeAlias = Callable[[str], int]
"""Counts the tokens of a text; more text never counts less."""

UNITS_PER_TOKEN = 4
"""UTF-16 code units that the original takes for one token."""


def estimate_tokens(text: str) -> int:
    """The original's estimate: UTF-16 code units divided by four, rounded up."""
    units = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    return -(-units // UNITS_PER_TOKEN)


def whole_tokens(budget: float) -> int | None:
    """The budget as a whole number of tokens, None for no limit."""
    if type(budget) is int:
        return budget if 0 < budget <= 2**53 else None
    if type(budget) is bool or not isinstance(budget, int | float):
        raise InvalidBudgetError(f"budget is no number but {type(budget).__name__}")
    if budget != budget:
        raise InvalidBudgetError("budget is NaN")
    if budget <= 0 or budget > 2**53:
        return None
    return max(math.floor(budget), 1)


def checked(count_tokens: CountTokens) -> CountTokens:
    """The same counter; what it gives that is no number of tokens raises ConfigurationError."""

    def count(text: str) -> int:
        counted = count_tokens(text)
        try:
            number = int(operator.index(counted))
        except TypeError:
            raise ConfigurationError(f"count_tokens gave {type(counted).__name__}, not int") from None
        if type(counted) is bool or number < 0:
            raise ConfigurationError(f"count_tokens gave {counted}, not a number of tokens")
        return number

    return count


def longest_prefix(text: str, closing: str, tokens: int, count: CountTokens) -> str:
    """The longest prefix found by bisection that fits together with `closing`."""
    fits, over = 0, len(text) + 1
    probe = min(4 * tokens, len(text))
    while over - fits > 1:
        if count(text[:probe] + closing) <= tokens:
            fits = probe
        else:
            over = probe
        probe = min(2 * probe, len(text)) if over > len(text) and probe < len(text) else (fits + over) // 2
    return text[:fits]
