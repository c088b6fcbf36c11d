"""Leases are kept from a thread, and given up when they can't be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import pytest

from taskstate.errors import StorageError
from taskstate.tasks.heart import Heart
from taskstate.tasks.records import Beat, Claim, Lease

pytestmark = pytest.mark.once


class Pulse:
    """Answers as it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[Lease], bool]] = []
        self.error: Exception | None = None
        self.cancel = False
        self.closed = 0

    def beat(self, leases: Sequence[Lease], *, extend: bool = True) -> list[Beat]:
        self.asked.append((list(leases), extend))
        if self.error is not None:
            raise self.error
        return [Beat(*lease, True, self.cancel) for lease in leases]

    def close(self) -> None:
        self.closed += 1


class Beating:
    """A heart with what it told."""

    def __init__(self) -> None:
        self.pulse = Pulse()
        self.told: list[Beat] = []
        self.heart = Heart(self.pulse, self.told.extend)

    def __enter__(self) -> Self:
        self.heart.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.heart.stop()
        assert self.pulse.closed == 1

    def add(self, id: str, lease_s: float, *, until: float = float("inf"), asked: float | None = None) -> Lease:
        claim = Claim(
            id, 1, "a", 1, "background", 0, 3, round(lease_s * 1000), 0, True, "1", "", None, 0, id, None, None
        )
        self.heart.add(claim, time.monotonic() if asked is None else asked, until)
        return claim.lease


def soon(condition: Callable[[], Any], patience: float = 5) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_lease_is_extended_some_times_within_its_time_and_not_after_it_was_removed() -> None:
    with Beating() as beating:
        lease = beating.add("t", 0.9)
        soon(lambda: len(beating.pulse.asked) >= 2)
        assert all(asked == ([lease], True) for asked in beating.pulse.asked)
        assert beating.heart.deadline(lease) > time.monotonic()
        beating.heart.remove(lease)
        assert beating.heart.deadline(lease) == 0.0
        seen = len(beating.pulse.asked)
        time.sleep(0.4)
        assert len(beating.pulse.asked) == seen
        assert all(beat.holds for beat in beating.told)


def test_many_leases_are_extended_in_one_call() -> None:
    with Beating() as beating:
        claimed = time.monotonic()
        leases = {beating.add(f"t{number}", 0.9, asked=claimed) for number in range(100)}
        soon(lambda: beating.pulse.asked)
        assert set(beating.pulse.asked[0][0]) == leases


@pytest.mark.parametrize("error", [StorageError("tasks", "gone"), ValueError("bug")], ids=repr)
def test_a_lease_that_cannot_be_extended_counts_as_lost_before_it_is_over_and_beats_go_on(error: Exception) -> None:
    with Beating() as beating:
        beating.pulse.error = error
        begun = time.monotonic()
        lease = beating.add("t", 0.6)
        soon(lambda: any(not beat.holds for beat in beating.told))
        assert time.monotonic() - begun >= 0.5
        assert len(beating.pulse.asked) < 20
        beating.heart.remove(lease)
        beating.pulse.error = None
        other = beating.add("u", 0.15)
        soon(lambda: beating.told and beating.told[-1].id == other.id and beating.told[-1].holds)


def test_a_lease_is_not_extended_beyond_the_time_that_its_function_has() -> None:
    with Beating() as beating:
        beating.add("t", 0.15, until=time.monotonic() + 0.1)
        soon(lambda: any(not extend for _, extend in beating.pulse.asked))
        soon(lambda: any(not beat.holds for beat in beating.told))


def test_a_look_tells_of_a_cancel_at_once_and_extends_nothing() -> None:
    with Beating() as beating:
        beating.add("t", 60)
        beating.pulse.cancel = True
        beating.heart.look()
        soon(lambda: beating.told, 1)
        assert beating.pulse.asked == [([Lease("t", 1)], False)]
        assert beating.told[0].cancel


def test_a_look_with_nothing_held_tells_nothing() -> None:
    with Beating() as beating:
        beating.heart.look()
        time.sleep(0.05)
        assert beating.told == []
