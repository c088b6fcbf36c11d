"""Share a context window among layers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import ConfigurationError, InvalidBudgetError

_NUMBER = (int, float)
_LAYERS_SHARE = 0.6
_HISTORY_SHARE = 0.4


class HasBudget(Protocol):
    """What allocation needs to know of a layer."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def budget(self) -> Any:
        """A number, `{"min": ..., "max": ...}` or `auto`."""
        ...


@dataclass(frozen=True)
class Allocation:
    """Tokens for one layer; a fraction is kept as it is."""

    layer_id: str
    allocated: float


@dataclass(frozen=True)
class Allocations:
    """Tokens for every layer, in the order given, and for the history of the conversation."""

    allocations: tuple[Allocation, ...]
    history_budget: float


def allocate_budgets(
    layers: Sequence[HasBudget],
    total_budget: float,
    system_prompt_tokens: float = 0,
    response_reserve: float = 0,
) -> Allocations:
    """Divide the tokens that system prompt and response leave over.

    Each layer gets its minimum first. Of the rest, 40 % is for history and 60 % for layers: by their
    headroom, none above its maximum; where some layers have no maximum (`auto`), those with one share
    half by headroom and the others divide what is left. If the minimums alone don't fit, each layer
    gets its share of them, rounded down, and history gets nothing.

    Raises InvalidBudgetError for NaN, given or arising, and ConfigurationError for a budget that is
    neither a number, `{"min": ..., "max": ...}` nor `auto`.

    Source: the original's budget allocation, as recorded in tests/vectors/task_state/budget.json.
    """
    for name, value in (
        ("total_budget", total_budget),
        ("system_prompt_tokens", system_prompt_tokens),
        ("response_reserve", response_reserve),
    ):
        _check_number(name, value)
    bounds = [budget_bounds(layer) for layer in layers]
    available = total_budget - response_reserve - system_prompt_tokens
    _refuse_nan(available)
    minimum = sum(low for low, _ in bounds)
    if available <= 0:
        return _result(layers, [0] * len(bounds), 0)
    if minimum > available:
        return _result(layers, [math.floor(available * low / minimum) for low, _ in bounds], 0)
    rest = available
    for low, _ in bounds:  # one by one, as the original: a sum subtracted at once differs in the last digit
        rest -= low
    shares = _shares([max(0, high - low) for low, high in bounds], rest * _LAYERS_SHARE)
    return _result(layers, [low + share for (low, _), share in zip(bounds, shares, strict=True)], rest * _HISTORY_SHARE)


def _shares(headrooms: list[float], pool: float) -> list[float]:
    finite = sum(room for room in headrooms if math.isfinite(room))
    endless = sum(1 for room in headrooms if not math.isfinite(room))
    finite_pool = pool * 0.5 if endless else pool
    shares = [min(room, room / finite * finite_pool) if 0 < room < math.inf else 0 for room in headrooms]
    left_over = pool - sum(shares)
    return [
        share if math.isfinite(room) else left_over / endless for room, share in zip(headrooms, shares, strict=True)
    ]


def budget_bounds(layer: HasBudget) -> tuple[float, float]:
    """The tokens that a layer needs at least and can use at most; ConfigurationError where that can't be told."""
    budget = layer.budget
    if budget == "auto":
        return 0, math.inf
    if type(budget) is dict and budget.keys() >= {"min", "max"}:
        _check_number(f"layer {layer.id}: budget.min", budget["min"])
        _check_number(f"layer {layer.id}: budget.max", budget["max"])
        return budget["min"], budget["max"]
    if isinstance(budget, _NUMBER) and not isinstance(budget, bool):
        _check_number(f"layer {layer.id}: budget", budget)
        return 0, budget
    raise ConfigurationError(f"layer {layer.id}: budget is neither a number, min and max, nor 'auto'")


def _check_number(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, _NUMBER):
        raise InvalidBudgetError(f"{name} is no number but {type(value).__name__}")
    if math.isnan(value):
        raise InvalidBudgetError(f"{name} is NaN")


def _refuse_nan(value: float) -> None:
    if math.isnan(value):
        raise InvalidBudgetError("the budgets add up to NaN")


def _result(layers: Iterable[HasBudget], allocated: Sequence[float], history: float) -> Allocations:
    for value in (*allocated, history):
        _refuse_nan(value)
    pairs = zip(layers, allocated, strict=True)
    return Allocations(tuple(Allocation(layer.id, value) for layer, value in pairs), max(0, history))
