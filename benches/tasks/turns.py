"""Who runs when: each engine's turn is followed by one of ours, in the same second and on the same server."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .peers import OURS, PEERS, Entry
from .place import Place
from .remote import Remote


@dataclass(frozen=True)
class Turn:
    """One engine, once: tasks a second with and without its start, storing them, and the steps of one task."""

    rate: float
    rate_with_start: float
    enqueue_s: float
    steps_ms: list[float] = field(repr=False)

    @property
    def step_p50(self) -> float | None:
        """The median time of a step in milliseconds, None where none was asked for."""
        return statistics.median(self.steps_ms) if self.steps_ms else None

    @property
    def step_p95(self) -> float | None:
        """What 95 % of the steps stayed below."""
        return percentile(self.steps_ms, 95) if self.steps_ms else None


@dataclass(frozen=True)
class Pair:
    """A peer's turn and the one of ours after it; None where ours is left out."""

    peer: str
    theirs: Turn
    ours: Turn | None


@dataclass(frozen=True)
class Claims:
    """Milliseconds of one claim after the other, by the number of tasks that were waiting."""

    by_waiting: dict[int, list[float]]


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many percent of them don't exceed."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def run_turn(entry: Entry, place: Place, scale: float) -> Turn:
    """Give one engine an empty database and time it."""
    tasks, steps = (int(n * scale) for n in (entry.tasks, entry.steps))
    with place.fresh(entry.database) as conninfo, Remote(entry.module, entry.variant) as engine:
        engine.setup(conninfo)
        enqueue_s = engine.enqueue(tasks)
        place.settle(conninfo)
        drained = engine.drain(tasks)
        steps_ms = engine.checkpoints(steps) if steps else []
    return Turn(drained.tasks / drained.seconds, tasks / drained.whole, enqueue_s, steps_ms)


def run_pairs(
    names: Sequence[str], place: Place, *, rounds: int, scale: float, ours: bool, more: Callable[[float], bool]
) -> list[Pair]:
    """Up to `rounds` rounds of all these peers, as long as `more` says that there is time for another one."""
    pairs: list[Pair] = []
    longest = 0.0
    for number in range(rounds):
        if number and not more(longest):
            break
        begun = time.monotonic()
        for name in names:
            entry = PEERS[name]
            theirs = run_turn(entry, place, scale)
            pairs.append(Pair(name, theirs, run_turn(OURS[entry.database], place, scale) if ours else None))
        longest = max(longest, time.monotonic() - begun)
    return pairs


def run_claims(place: Place, waiting: tuple[int, int], *, claims: int) -> Claims:
    """Claim from a short and a long queue by turns, ten claims each, with an engine for each of them."""
    times: dict[int, list[float]] = {n: [] for n in waiting}
    with (
        place.fresh("postgres") as short,
        place.fresh("postgres") as long,
        Remote("ours") as few,
        Remote("ours") as many,
    ):
        engines = dict(zip(waiting, (few, many), strict=True))
        for (n, engine), conninfo in zip(engines.items(), (short, long), strict=True):
            engine.setup(conninfo)
            engine.enqueue(n)
            place.settle(conninfo)
            engine.claims(10)  # statements are prepared by then
        for _ in range(claims // 10):
            for n, engine in engines.items():
                times[n] += engine.claims(10)
    return Claims(times)


def run_enqueue(place: Place, n: int, *, rounds: int) -> list[float]:
    """Store `n` tasks in one call, into an empty database each time; in seconds."""
    times = []
    for _ in range(rounds):
        with place.fresh("postgres") as conninfo, Remote("ours") as engine:
            engine.setup(conninfo)
            times.append(engine.enqueue(n))
    return times
