"""Any calls in any order do the same to a task store as to the memory store, which says what the rules mean."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from postgres.fixtures import Place
from taskstate.tasks.protocol import TaskStore
from taskstate.tasks.records import ENDED, Claim, Ending, Filter, Lease, NewTask, NewWait, TaskRow, Want
from taskstate.tasks.stores.memory import MemoryTaskStore
from taskstate.tasks.stores.sqlite import SQLiteTaskStore

from .clocks import START, ClockedPostgresTaskStore
from .model import (
    NAMES,
    OWNERS,
    SIGNALS,
    STEPS,
    Call,
    delays,
    endings,
    everything,
    faults,
    few,
    first_difference,
    outcome,
    rarely,
    requests,
    texts,
    times,
    waits,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

WANTS = [Want(name, 1, 5) for name in NAMES]


def has_leases(stores: Stores) -> bool:
    return any(lease.id in stores.rows for lease in stores.leases)


def has_tasks(stores: Stores) -> bool:
    return bool(stores.rows)


def at_once(request: dict[str, Any]) -> dict[str, Any]:
    """A request that is sure to become a task that is ready."""
    return {**request, "owner": OWNERS[0], "delay_ms": 0, "step": False, "input_hash": "hash"}


class Stores(RuleBasedStateMachine):
    """The memory store and another one. What is drawn as a small number counts from what is newest."""

    make: Callable[[Callable[[], int]], TaskStore]

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.numbers = itertools.count(1)
        self.leases: list[Lease] = []
        self.rows: dict[str, TaskRow] = {}
        self.signals: list[str] = []
        self.steps: dict[tuple[str, str], tuple[Any, NewWait | None, int]] = {}
        self.generations = {"c": 1, "d": 1}
        self.runner = asyncio.Runner()
        self.model = MemoryTaskStore(clock=lambda: self.now)
        self.other = type(self).make(lambda: self.now)

    def teardown(self) -> None:
        try:
            self.compare()
        finally:
            self.runner.run(self.other.close())
            self.runner.close()

    @initialize(first=st.lists(requests.map(at_once), min_size=3, max_size=3))
    def open(self, first: list[dict[str, Any]]) -> None:
        self.runner.run(self.other.open())
        self.enqueue(first, again=False)
        self.claim(4)

    def both(self, call: Call) -> Any:
        """Make a call to both; their answer."""
        expected = self.runner.run(outcome(self.model, call))
        found = self.runner.run(outcome(self.other, call))
        assert found == expected, f"{found}\nbut memory: {expected}"
        return expected[1] if expected[0] == "result" else None

    def compare(self) -> None:
        expected, found = (self.runner.run(everything(store)) for store in (self.model, self.other))
        assert not first_difference(expected, found), first_difference(expected, found)
        assert not faults(found["rows"])

    def fresh(self, kind: str) -> str:
        return f"{kind}{next(self.numbers):06}"

    def lease(self, place: int) -> Lease:
        """Mostly of a task that is running, which is claimed if there is none."""
        if place < 4 and not self.running():
            self.claim(1)
            self.tasks_are_the_same()
        known = [lease for lease in self.leases if lease.id in self.rows]
        found = (self.running() if place < 4 else known) or known
        return found[-1 - place % len(found)]

    def running(self) -> list[Lease]:
        return [Lease(row.id, row.fence) for row in self.rows.values() if row.state == "running"]

    def task(self, place: int) -> str:
        """Among the tasks that haven't ended, or else any."""
        live = [row.id for row in self.rows.values() if row.state not in ENDED]
        found = live if live and place < 4 else list(self.rows)
        return found[-1 - place % len(found)]

    def new(self, request: dict[str, Any]) -> NewTask:
        parts = dict(request)
        conversation = parts["conversation"]
        if parts.pop("step") and conversation:
            self.generations[conversation] += 1
        return NewTask(id=self.fresh("t"), **parts, generation=self.generations.get(conversation, 0))

    @rule(asked=st.lists(requests, min_size=1, max_size=3), again=rarely)
    def enqueue(self, asked: list[dict[str, Any]], again: bool) -> None:
        tasks = [self.new(request) for request in asked]
        self.both(lambda store: store.enqueue(tasks))
        if again:
            self.both(lambda store: store.enqueue(tasks))

    @rule(limit=st.integers(1, 4))
    def claim(self, limit: int) -> None:
        claims: list[Claim] = self.both(lambda store: store.claim("w", WANTS, limit))
        self.leases += [claim.lease for claim in claims]

    @rule(ending=endings, limit=st.just(1))
    def claim_and_finish(self, ending: Ending, limit: int) -> None:
        claims: list[Claim] = self.both(lambda store: store.claim("w", WANTS, limit))
        for claim in claims:
            self.leases.append(claim.lease)
            self.both(lambda store, lease=claim.lease: store.finish(lease, ending))

    @precondition(has_leases)
    @rule(place=few, ending=endings, again=rarely, late=rarely)
    def finish(self, place: int, ending: Ending, again: bool, late: bool) -> None:
        lease = self.lease(place)
        self.both(lambda store: store.finish(lease, ending))
        if again:
            self.both(lambda store: store.finish(lease, ending))
        if late:
            self.both(lambda store: store.late(lease, ending))

    @precondition(has_leases)
    @rule(place=few, key=st.sampled_from("xyz"), value=texts)
    def write(self, place: int, key: str, value: str) -> None:
        lease = self.lease(place)
        self.both(lambda store: store.checkpoint(lease, key, ord(key), "h", value))
        self.both(lambda store: store.publish(lease, key, value))
        self.both(lambda store: store.current(lease))
        self.both(lambda store: store.load(lease))

    @precondition(has_leases)
    @rule(
        place=few,
        step=st.sampled_from(STEPS),
        asked=st.lists(requests, max_size=4),
        waited=st.integers(0, 3),
        limit=st.integers(0, 2),
        timeout_ms=st.none() | st.none() | st.just(1000),
        suspend=st.booleans(),
    )
    def spawn(
        self,
        place: int,
        step: str,
        asked: list[dict[str, Any]],
        waited: int,
        limit: int,
        timeout_ms: int | None,
        suspend: bool,
    ) -> None:
        lease = self.lease(place)
        wait = NewWait(self.fresh("w"), step, "children", None, timeout_ms) if waited else None
        # A step that is reached again asks for the same, under other ids.
        asked, wait, limit = self.steps.get((lease.id, step), (asked, wait, limit))
        children = [self.new({**request, "step": False}) for request in asked]
        if self.both(lambda store: store.spawn(lease, step, children, wait=wait, limit=limit)) is not None:
            self.steps[lease.id, step] = asked, wait, limit
        if suspend and waited:
            self.both(lambda store: store.suspend(lease, [step], "children"))

    @precondition(has_leases)
    @rule(place=few, asked=waits, suspend=st.booleans(), hold=rarely)
    def wait(self, place: int, asked: list[Any], suspend: bool, hold: bool) -> None:
        lease = self.lease(place)
        new = [NewWait(self.fresh("w"), key, *rest) for key, *rest in asked]
        self.both(lambda store: store.wait(lease, new))
        if suspend:
            self.both(lambda store: store.suspend(lease, [one.key for one in new[:2]], "why", hold=hold))

    @precondition(has_leases)
    @rule(place=few, keys=st.lists(st.sampled_from(["w1", "w2", *STEPS]), min_size=1, unique=True))
    def suspend(self, place: int, keys: list[str]) -> None:
        lease = self.lease(place)
        self.both(lambda store: store.suspend(lease, keys, "why"))

    @precondition(has_tasks)
    @rule(place=few, name=st.sampled_from(SIGNALS), payload=texts, again=rarely, owner=st.sampled_from([None, *OWNERS]))
    def signal(self, place: int, name: str, payload: str, again: bool, owner: str | None) -> None:
        task_id = self.task(place)
        if not again or not self.signals:
            self.signals.append(self.fresh("s"))
        signal_id = self.signals[-1]
        self.both(lambda store: store.signal(task_id, name, payload, signal_id=signal_id, owner=owner))

    @precondition(has_tasks)
    @rule(place=few, which=few, payload=texts)
    def answer(self, place: int, which: int, payload: str) -> None:
        """Answer one of the open waits of a tree by its id."""
        task_id = self.task(place)
        found = self.both(lambda store: store.waits(task_id, below=True))
        for one in found[which : which + 1]:
            signal_id = self.fresh("s")
            self.both(
                lambda store, one=one, s=signal_id: store.signal(one.task_id, "x", payload, signal_id=s, wait_id=one.id)
            )

    @precondition(has_tasks)
    @rule(how=st.sampled_from(["cancel", "advance", "retry", "purge"]), data=st.data())
    def steer(self, how: str, data: st.DataObject) -> None:
        """One rule for what ends things, so that not too much is ended."""
        getattr(self, f"_{how}")(data.draw)

    def _cancel(self, draw: Draw) -> None:
        task_id, grace_ms = self.task(draw(few)), draw(delays)
        self.both(lambda store: store.cancel(task_id, grace_ms=grace_ms))

    def _advance(self, draw: Draw) -> None:
        conversation, owner = draw(st.sampled_from("cd")), draw(st.sampled_from(OWNERS))
        generation = self.generations[conversation] + draw(st.integers(-1, 1))
        if self.both(lambda store: store.advance(conversation, generation, owner=owner)) is not None:
            self.generations[conversation] = generation

    def _retry(self, draw: Draw) -> None:
        rows = [row for row in self.rows.values() if row.state in {"failed", "cancelled"} and row.parent_id is None]
        task_id = rows[draw(few) % len(rows)].id if rows else self.task(draw(few))

        async def retry(store: TaskStore) -> list[str]:
            return sorted(await store.retry(task_id))

        self.both(retry)

    def _purge(self, draw: Draw) -> None:
        ttl_ms = dict.fromkeys(draw(st.lists(st.sampled_from(ENDED), unique=True)), draw(times))
        self.both(lambda store: store.purge(ttl_ms))

    @rule(ending=endings, turns=st.integers(1, 5))
    def work_off(self, ending: Ending, turns: int) -> None:
        """What a worker does that has nothing else to do: mostly it succeeds."""
        for turn in range(turns):
            self.claim_and_finish(Ending("succeeded", result="0") if turn else ending, limit=4)
            self.dispatch()
            self.sweep()

    @rule(ms=times)
    def pass_time(self, ms: int) -> None:
        self.now += ms
        let_pass = getattr(self.other, "let_pass", None)
        if let_pass is not None:
            let_pass(ms)

    @rule(ms=times)
    def pass_time_and_sweep(self, ms: int) -> None:
        self.pass_time(ms)
        self.sweep()

    @rule()
    def sweep(self) -> None:
        self.both(lambda store: store.sweep(1000))

    @rule()
    def dispatch(self) -> None:
        self.both(lambda store: store.dispatch(1000))

    @rule(limit=st.integers(1, 3), offer_ms=delays, conversation=st.sampled_from("cd"), acknowledge=st.booleans())
    def read(self, limit: int, offer_ms: int, conversation: str, acknowledge: bool) -> None:
        async def take(store: TaskStore) -> Any:
            events = await store.take(conversation, owner=None, limit=limit, offer_ms=offer_ms)
            first = [event.delivery_id for event in events[:1] if acknowledge]
            return events, await store.acknowledge(conversation, first), await store.acknowledge(conversation, first)

        self.both(take)

    @precondition(has_leases)
    @rule()
    def beat(self) -> None:
        leases = self.leases[-5:]
        expected = self.model.pulse().beat(leases)
        pulse = self.other.pulse()
        found = pulse.beat(leases)
        pulse.close()
        assert sorted(found) == sorted(expected)

    @invariant()
    def tasks_are_the_same(self) -> None:
        rows = self.both(lambda store: store.list(Filter(limit=10_000)))
        self.rows = {row.id: row for row in reversed(rows)}


@pytest.mark.once
@pytest.mark.parametrize("storage", ["sqlite", "postgres"])
def test_any_calls_do_the_same_to_every_store(storage: str, tmp_path: Path, place_on: Callable[..., Place]) -> None:
    numbers = itertools.count()

    def make(clock: Callable[[], int]) -> TaskStore:
        if storage == "postgres":
            return ClockedPostgresTaskStore(place_on("postgres"))
        return SQLiteTaskStore(tmp_path / f"{next(numbers)}.db", clock=clock)

    class Machine(Stores):
        pass

    Machine.make = staticmethod(make)  # type: ignore[assignment]
    # Few calls do little with tasks: fewer and longer examples than elsewhere.
    enough = settings(max_examples=settings().max_examples, stateful_step_count=60)
    run_state_machine_as_test(Machine, settings=enough)
