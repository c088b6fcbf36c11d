"""Budgets in tokens: what a number of them means, what a counter may give, and how a text is cut to fit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.core.tokens import checked, estimate_tokens, longest_prefix, whole_tokens
from taskstate.errors import ConfigurationError, InvalidBudgetError


class Number(int):
    """An int of somebody's own."""


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("budget", "tokens"),
    [
        (1, 1),
        (150, 150),
        (150.9, 150),
        (0.1, 1),
        (1e-300, 1),
        (Number(7), 7),
        (2**53, 2**53),
        (float(2**53), 2**53),
        (0, None),
        (0.0, None),
        (-0.0, None),
        (-1, None),
        (-0.5, None),
        (2**53 + 1, None),
        (10**400, None),
        (-(10**400), None),
        (math.inf, None),
        (-math.inf, None),
    ],
)
def test_a_budget_is_floored_but_not_below_one_and_none_is_no_limit(budget: float, tokens: int | None) -> None:
    found = whole_tokens(budget)
    assert found == tokens
    assert tokens is None or type(found) is int


@pytest.mark.parametrize("budget", [math.nan, True, False, None, "1", [1], 1j, Fraction(1, 2)], ids=repr)
def test_what_is_no_number_is_no_budget(budget: Any) -> None:
    with pytest.raises(InvalidBudgetError):
        whole_tokens(budget)


@given(st.text(st.characters(), max_size=30))
def test_the_estimate_is_the_utf16_code_units_by_four_rounded_up(text: str) -> None:
    assert estimate_tokens(text) == math.ceil(sum(1 + (ord(sign) > 0xFFFF) for sign in text) / 4)


@pytest.mark.parametrize("counted", [0, 3, 2**80, Number(5)])
def test_a_count_is_any_integer_that_is_not_negative(counted: int) -> None:
    found = checked(lambda text: counted)("x")
    assert found == counted
    assert type(found) is int


@pytest.mark.parametrize("counted", [-1, Number(-1), True, False, 1.0, math.nan, "1", None, [1]], ids=repr)
def test_what_is_no_count_is_refused(counted: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^count_tokens gave "):
        checked(lambda text: counted)("x")


@pytest.mark.parametrize("count", [len, words, estimate_tokens])
@given(text=st.text("ab 日😀\n", max_size=80), tokens=st.integers(1, 60))
def test_a_prefix_is_the_longest_that_fits_together_with_its_closing(count: Any, text: str, tokens: int) -> None:
    found = longest_prefix(text, "\n!", tokens, count)
    fitting = [text[:end] for end in range(len(text) + 1) if count(text[:end] + "\n!") <= tokens]
    assert found == (fitting[-1] if fitting else "")


@given(text=st.text(max_size=60), tokens=st.integers(1, 9), counts=st.lists(st.integers(0, 20), min_size=200))
def test_a_prefix_is_found_whatever_is_counted(text: str, tokens: int, counts: list[int]) -> None:
    asked: list[str] = []

    def count(given: str) -> int:
        asked.append(given)
        return counts[len(asked) % len(counts)]

    found = longest_prefix(text, "!", tokens, count)
    assert text.startswith(found)
    assert len(asked) <= 20


def test_a_long_text_is_cut_without_counting_all_of_it() -> None:
    longest = 0

    def count(text: str) -> int:
        nonlocal longest
        longest = max(longest, len(text))
        return len(text) // 4

    assert len(longest_prefix("x" * 1_000_000, "", 100, count)) == 403
    assert longest <= 1000
