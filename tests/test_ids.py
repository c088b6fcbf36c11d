"""Identifiers that sort by when they were made, and those that are always the same."""

from __future__ import annotations

import threading
import time
import uuid

import pytest

from taskstate import ids
from taskstate.ids import derived_id, ordered_id, random_id

pytestmark = pytest.mark.once

HOUR_NS = 3600 * 10**9


def test_an_ordered_id_is_a_uuid_of_version_7_of_now() -> None:
    before = time.time_ns() // 1_000_000
    found = uuid.UUID(ordered_id())
    assert (found.version, found.variant) == (7, uuid.RFC_4122)
    assert str(found) == str(found).lower()
    # Ids made faster than the counter counts are ahead of the clock a little.
    assert before <= found.int >> 80 <= time.time_ns() // 1_000_000 + 1000


def test_ordered_ids_are_distinct_and_sort_as_they_were_made() -> None:
    made = [ordered_id() for _ in range(20_000)]
    assert made == sorted(set(made))


def test_order_and_distinctness_hold_over_threads() -> None:
    made: list[list[str]] = [[] for _ in range(4)]

    def make(into: list[str]) -> None:
        into.extend(ordered_id() for _ in range(2000))

    threads = [threading.Thread(target=make, args=(into,)) for into in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == sorted(each) for each in made)
    assert len({one for each in made for one in each}) == 8000


def test_a_clock_that_is_set_back_or_stands_still_keeps_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(ids, "_last", 0)
    made = []
    for ns in (now, now, now - HOUR_NS, now - 2 * HOUR_NS, now + 10**9):
        monkeypatch.setattr(time, "time_ns", lambda ns=ns: ns)
        made += [ordered_id() for _ in range(5000)]
    assert made == sorted(set(made))
    assert all(uuid.UUID(one).version == 7 for one in made)


def test_a_derived_id_depends_on_base_and_name_only() -> None:
    base = ordered_id()
    assert derived_id(base, "a") == derived_id(base, "a")
    found = {derived_id(base, f"{number}") for number in range(1000)}
    found |= {derived_id(ordered_id(), "1") for _ in range(1000)}
    assert len(found) == 2000
    assert base not in found


@pytest.mark.parametrize("base", ["", "mine", "\x00", "ä" * 200, "\ud800", str(uuid.UUID(int=2**128 - 1))])
def test_a_derived_id_is_a_uuid_of_version_7_for_any_base_and_name(base: str) -> None:
    for name in ("", "\ud800", "\x00", "/" * 1000):
        found = uuid.UUID(derived_id(base, name))
        assert (found.version, found.variant) == (7, uuid.RFC_4122)


def test_a_derived_id_has_the_time_of_an_ordered_base() -> None:
    base = ordered_id()
    assert uuid.UUID(derived_id(base, "a")).int >> 80 == uuid.UUID(base).int >> 80


def test_a_random_id_is_32_hexadecimal_digits() -> None:
    assert len({random_id() for _ in range(1000)}) == 1000
    assert set(random_id()) <= set("0123456789abcdef")
    assert len(random_id()) == 32
