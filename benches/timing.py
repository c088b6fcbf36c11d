"""Timing by turns: what is compared runs in the same process, the same second, with the collector on."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import thread_time_ns
from typing import Any

Call = Callable[[], Any]
_TURN_NS = 300_000
_TABLE_NS = 2_500_000_000


@dataclass(frozen=True)
class Timing:
    """Medians over all rounds, in nanoseconds a call; `ratios` holds each round's ratio to the first entry."""

    nanoseconds: float
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of the ratio."""
        low, _, high = statistics.quantiles(self.ratios, n=4)
        return low, high


def race(calls: Mapping[str, Call]) -> dict[str, Timing]:
    """Time the calls in turns, each round in another order; the first one is what the others are held against."""
    loops = {name: _loops(call) for name, call in calls.items()}
    names = list(calls)
    round_ns = sum(_time(calls[name], loops[name]) * loops[name] for name in names)
    rounds = min(max(round(_TABLE_NS / round_ns), 21), 401)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        shift = turn % len(names)
        order = names[shift:] + names[:shift]
        for name in order if turn % 2 else reversed(order):
            times[name].append(_time(calls[name], loops[name]))
    first = times[names[0]]
    return {
        name: Timing(statistics.median(taken), tuple(one / base for one, base in zip(taken, first, strict=True)))
        for name, taken in times.items()
    }


def _loops(call: Call) -> int:
    """How many calls fill one turn."""
    assert gc.isenabled(), "users run with the collector on"
    call()
    return max(1, round(_TURN_NS / max(1.0, min(_time(call, 1) for _ in range(3)))))


def _time(call: Call, loops: int) -> float:
    """Nanoseconds of processor time a call, the loop's own cost (some 20 ns) included.

    Processor time, because everything here runs in one thread and never waits: what other programs
    do on the machine meanwhile is left out.
    """
    turns = range(loops)
    start = thread_time_ns()
    for _ in turns:
        call()
    return (thread_time_ns() - start) / loops
