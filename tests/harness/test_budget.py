"""Budgets allocated over layers: properties that hold for any of them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.errors import ConfigurationError, InvalidBudgetError
from taskstate.harness import allocate_budgets

AMOUNT = st.integers(0, 200_000) | st.floats(0, 200_000, allow_nan=False)
RANGE = st.tuples(AMOUNT, AMOUNT).map(lambda pair: {"min": min(pair), "max": max(pair)})
BUDGETS = st.lists(st.just("auto") | AMOUNT | RANGE, max_size=8)


def layers(*budgets: Any) -> list[Any]:
    return [SimpleNamespace(id=f"l{index}", budget=budget) for index, budget in enumerate(budgets)]


def bounds(budget: Any) -> tuple[float, float]:
    if budget == "auto":
        return 0, math.inf
    return (budget["min"], budget["max"]) if isinstance(budget, dict) else (0, budget)


@given(BUDGETS, AMOUNT, AMOUNT, AMOUNT)
def test_no_more_is_given_than_there_is_and_no_layer_gets_too_much(
    budgets: list[Any], total: float, prompt: float, reserve: float
) -> None:
    given = allocate_budgets(layers(*budgets), total, prompt, reserve)
    available = max(0, total - prompt - reserve)
    amounts = [share.allocated for share in given.allocations]
    assert [share.layer_id for share in given.allocations] == [f"l{index}" for index in range(len(budgets))]
    slack = 1e-6 * max(1, available)
    assert sum(amounts) + given.history_budget <= available + slack
    assert given.history_budget >= 0
    enough = sum(bounds(budget)[0] for budget in budgets) <= available and available > 0
    for budget, amount in zip(budgets, amounts, strict=True):
        low, high = bounds(budget)
        assert 0 <= amount <= high + slack
        assert not enough or amount >= low


@given(BUDGETS, st.integers(1, 200_000))
def test_where_a_layer_has_no_maximum_nothing_is_left_over(budgets: list[Any], total: int) -> None:
    given = allocate_budgets(layers(*budgets, "auto"), total)
    if sum(bounds(budget)[0] for budget in budgets) <= total:
        spent = sum(share.allocated for share in given.allocations) + given.history_budget
        assert spent == pytest.approx(total)


@given(BUDGETS, AMOUNT)
def test_the_order_of_layers_changes_no_share(budgets: list[Any], total: float) -> None:
    forwards = allocate_budgets(layers(*budgets), total).allocations
    backwards = allocate_budgets(layers(*budgets[::-1]), total).allocations
    assert [share.allocated for share in forwards] == pytest.approx([share.allocated for share in backwards[::-1]])


@given(BUDGETS, st.integers(0, 100_000), st.integers(0, 100_000))
def test_a_larger_window_never_gives_less(budgets: list[Any], total: int, more: int) -> None:
    small = allocate_budgets(layers(*budgets), total)
    large = allocate_budgets(layers(*budgets), total + more)
    assert large.history_budget >= small.history_budget - 1e-6
    for before, after in zip(small.allocations, large.allocations, strict=True):
        assert after.allocated >= before.allocated - 1e-6


@pytest.mark.parametrize("name", ["total_budget", "system_prompt_tokens", "response_reserve"])
@pytest.mark.parametrize("value", [math.nan, "100", None, True])
def test_an_amount_that_is_no_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidBudgetError, match=f"^{name} is "):
        allocate_budgets([], **{"total_budget": 1, name: value})


@pytest.mark.parametrize(
    "budget", [math.nan, {"min": math.nan, "max": 1}, {"min": 1, "max": math.nan}, {"min": "1", "max": 2}]
)
def test_a_layers_budget_that_is_no_number_is_refused_by_name(budget: Any) -> None:
    with pytest.raises(InvalidBudgetError, match="layer l0: budget"):
        allocate_budgets(layers(budget), 100)


@pytest.mark.parametrize("budget", [None, "some", True, [1, 2], {"min": 1}, {}])
def test_a_budget_of_another_shape_is_refused(budget: Any) -> None:
    with pytest.raises(ConfigurationError, match="layer l0: budget is neither"):
        allocate_budgets(layers(budget), 100)


def test_endless_amounts_that_cancel_out_are_refused() -> None:
    with pytest.raises(InvalidBudgetError, match="NaN"):
        allocate_budgets([], math.inf, math.inf)
