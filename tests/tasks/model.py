"""Calls made to two task stores alike, and their answers made comparable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from taskstate import TaskStateError
from taskstate.tasks.protocol import TaskStore
from taskstate.tasks.records import ENDED, Beat, Dispatched, Ending, Filter, StoredEvent

Call = Callable[[TaskStore], Awaitable[Any]]

OWNERS = ("u",) * 9 + ("v",)
NAMES = ("m", "n")
STEPS = ("a", "b")
SIGNALS = ("yes", "no")
LEASE_MS = 60_000

rarely = st.integers(0, 9).map(lambda n: n == 9)
texts = st.sampled_from(["1", '"two"', "[3]"])
delays = st.sampled_from([0, 0, 0, 1000, 5000])
times = st.sampled_from([1, 500, 1000, 5000, LEASE_MS, LEASE_MS])
few = st.integers(0, 5)
"""Counts from what is newest; most of it among what is live."""

requests = st.fixed_dictionaries(
    {
        "name": st.sampled_from(NAMES),
        "version": st.just(1),
        "mode": st.sampled_from(["foreground", "background"]),
        "input": st.just("{}"),
        "input_hash": rarely.map(lambda odd: "another" if odd else "hash"),
        "max_attempts": st.integers(1, 3),
        "lease_ms": st.just(LEASE_MS),
        "max_result_bytes": st.just(100),
        "owner": st.sampled_from(OWNERS),
        "conversation": st.sampled_from([None, "c", "d"]),
        "step": rarely,
        "notify": st.booleans(),
        "single_flight": st.sampled_from([None, None, "k"]),
        "priority": st.integers(-1, 1),
        "delay_ms": delays,
        "traceparent": st.none(),
    }
)
"""What a `NewTask` is made of but its id; `step` tells whether its conversation is to advance."""

endings = st.one_of(
    st.builds(Ending, st.just("succeeded"), result=texts),
    st.builds(
        Ending,
        st.just("failed"),
        code=st.sampled_from(["x", "y"]),
        message=st.none() | st.just("why"),
        retry_ms=st.none() | delays,
        in_flight=st.sampled_from([(), ("a",), ("a", "b")]),
    ),
    st.builds(Ending, st.just("released")),
    st.builds(Ending, st.just("cancelled"), result=st.none() | texts, in_flight=st.sampled_from([(), ("a",)])),
)
waits = st.lists(
    st.tuples(
        st.sampled_from(["w1", "w2", "w3"]),
        st.sampled_from(["sleep", "signal"]),
        st.sampled_from(SIGNALS),
        st.none() | st.sampled_from([0, 1000, 5000]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda wait: wait[0],
)


async def outcome(store: TaskStore, call: Call) -> Any:
    """What a call gives, without what may differ between stores that are right."""
    try:
        return "result", plain(await call(store))
    except TaskStateError as error:
        return type(error).__name__, vars(error)


def plain(answer: Any) -> Any:
    """An answer as it may be compared."""
    if isinstance(answer, StoredEvent):
        return replace(answer, delivery_id=0)
    if isinstance(answer, Dispatched):
        return answer.resumed, answer.delivered, answer.suppressed, answer.failed
    if isinstance(answer, list | tuple) and not hasattr(answer, "_fields"):
        found = [plain(one) for one in answer]
        return sorted(found) if found and isinstance(found[0], Beat) else found
    return answer


async def everything(store: TaskStore) -> dict[str, Any]:
    """All that can be known of a store."""
    rows = await store.list(Filter(limit=10_000))
    found: dict[str, Any] = {"rows": rows}
    for row in rows:
        found[row.id] = (
            await store.history(row.id),
            await store.waits(row.id, below=True),
            [await store.children(row.id, step) for step in STEPS],
        )
    for name in ("c", "d"):
        found[name] = await store.generation(name)
    return found


def first_difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Where two stores differ, short enough to read."""
    for key in one.keys() | other.keys():
        if one.get(key) != other.get(key):
            return f"{key}:\n  {one.get(key)}\n  {other.get(key)}"
    return ""


def faults(rows: Sequence[Any]) -> list[str]:
    """What must be true of the tasks of any store at any time."""
    by_id = {row.id: row for row in rows}
    found: list[str] = []
    flights = [
        (row.owner, row.name, row.single_flight)
        for row in rows
        if row.single_flight and row.state not in ENDED and row.cancel_requested_at is None
    ]
    for row in rows:
        ended = row.state in ENDED
        found += [
            f"{row.id}: {why}"
            for wrong, why in (
                (ended != (row.finished_at is not None), "finished_at"),
                ((row.worker is None) == (row.state == "running"), "worker"),
                (row.result is not None and row.state != "succeeded", "a result without success"),
                (row.failures > row.max_attempts, "more failures than attempts"),
                (row.parent_id is not None and row.parent_id not in by_id, "its parent is missing"),
                (row.root_id not in by_id, "its root is missing"),
            )
            if wrong
        ]
    if len(flights) != len(set(flights)):
        found.append(f"a single-flight key is held twice: {flights}")
    return found
