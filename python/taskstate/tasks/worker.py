"""Claims tasks and runs them, at most so many at once."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from .backoff import jittered, nap
from .definition import Definition
from .heart import Heart
from .leg import Leg
from .logs import shown
from .protocol import TaskStore
from .records import Beat, Claim, Lease, Topic, Want
from .telemetry import Spans

_log = logging.getLogger(__name__)

_SLACK = 5.0  # seconds beyond a time-out for which a lease is still kept, for the loop to notice it


@dataclass(frozen=True, slots=True)
class Stopped:
    """What became of the tasks that a worker held when it was told to stop, by id."""

    finished: Sequence[str] = field(default=())
    released: Sequence[str] = field(default=())
    lost: Sequence[str] = field(default=())


class Worker:
    """One worker; it lives in the event loop in which `start` is called."""

    def __init__(
        self,
        name: str,
        store: TaskStore,
        definitions: Sequence[Definition[Any, Any]],
        find: Callable[[Definition[Any, Any] | str], Definition[Any, Any]],
        *,
        concurrency: int,
        poll_s: float,
    ) -> None:
        self.name = name
        self._store = store
        self._code = {(one.name, version): one for one in definitions for version in one.versions}
        self._find = find
        self._concurrency = concurrency
        self._poll = poll_s
        self._spans = Spans()
        self._legs: dict[Lease, Leg] = {}
        self._busy: Counter[str] = Counter()  # legs by name, without those whose function has ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._hurried = asyncio.Event()
        self._claimer: asyncio.Task[None] | None = None
        self._heart: Heart | None = None

    def start(self) -> None:
        """Begin to claim."""
        loop = asyncio.get_running_loop()

        def hear(beats: Sequence[Beat]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._beaten, beats)

        self._heart = Heart(self._store.pulse(), hear)
        self._heart.start()
        self._claimer = asyncio.create_task(self._claim())

    async def stop(self, grace_s: float) -> Stopped:
        """Claim nothing more, wait so long for what runs, give the rest back; what became of each."""
        self._stopping = True
        self._wake.set()
        try:
            if self._claimer is not None:
                await self._claimer
            held = dict(self._legs)
            if self._tasks:
                hurried = asyncio.create_task(self._hurried.wait())
                either: set[asyncio.Future[Any]] = {hurried, asyncio.gather(*self._tasks, return_exceptions=True)}
                await asyncio.wait(either, timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
                hurried.cancel()
            for leg in self._legs.values():
                leg.stop("released")
            if self._tasks:
                await asyncio.wait(self._tasks)
            if self._heart is not None:
                await asyncio.to_thread(self._heart.stop)
        except BaseException:  # the loop is coming to its end, and would leave the thread behind
            if self._heart is not None:
                self._heart.stop()
            raise
        ends: dict[str, list[str]] = {"finished": [], "released": [], "lost": []}
        for leg in held.values():
            kind = {"ready": "released", "lost": "lost"}.get(leg.outcome, "finished")
            ends[kind].append(leg.claim.id)
        return Stopped(**ends)

    def hurry(self) -> None:
        """Have `stop` wait no longer for what runs."""
        self._hurried.set()

    def hear(self, topics: AbstractSet[Topic]) -> None:
        """Something may have changed."""
        if "ready" in topics:
            self._wake.set()
        if "leases" in topics and self._heart is not None and self._legs:
            self._heart.look()
        if "waits" in topics:
            for leg in self._legs.values():
                leg.look()

    async def _claim(self) -> None:
        while not self._stopping:
            self._wake.clear()
            await asyncio.sleep(0)  # others may leave in this round, see `Leg`
            free = self._concurrency - self._busy.total()
            wants = self._wants(free)
            claims: list[Claim] = []
            if wants and free > 0:
                asked = time.monotonic()
                try:
                    claims = await self._store.claim(self.name, wants, free)
                except Exception as error:  # noqa: BLE001 - a worker that stops claiming would go unseen
                    _log.warning("%s: could not claim: %s", self.name, shown(error))
                for claim in claims:
                    self._begin(claim, asked)
            if len(claims) < free or free <= 0 or not wants:
                await nap(self._wake, jittered(self._poll))

    def _wants(self, free: int) -> list[Want]:
        wants: list[Want] = []
        for (name, version), definition in self._code.items():
            most = definition.limits.concurrency
            quota = free if most is None else min(free, most - self._busy[name])
            if quota > 0:
                wants.append(Want(name, version, quota))
        return wants

    def _begin(self, claim: Claim, asked: float) -> None:
        definition = self._code[claim.name, claim.version]
        assert self._heart is not None
        heart, lease = self._heart, claim.lease
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                self._busy[claim.name] -= 1
                self._wake.set()

        leg = Leg(claim, definition, self._store, self._find, self._spans, lambda: heart.deadline(lease), leave)
        limits = definition.limits
        until = math.inf
        if limits.timeout_s is not None:
            until = asked + limits.timeout_s - claim.spent_ms / 1000 + _SLACK
        heart.add(claim, asked, until)
        self._legs[lease] = leg
        self._busy[claim.name] += 1
        task = asyncio.create_task(leg.run())
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(leg, done, leave))

    def _ended(self, leg: Leg, task: asyncio.Task[None], leave: Callable[[], None]) -> None:
        leave()
        self._tasks.discard(task)
        self._legs.pop(leg.claim.lease, None)
        if self._heart is not None:
            self._heart.remove(leg.claim.lease)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("task %s: the worker failed: %s", leg.claim.id, type(error).__name__)

    def _beaten(self, beats: Sequence[Beat]) -> None:
        for beat in beats:
            leg = self._legs.get(Lease(beat.id, beat.fence))
            if leg is None:
                continue
            if not beat.holds:
                leg.stop("lost")
            elif beat.cancel:
                leg.cancel()
