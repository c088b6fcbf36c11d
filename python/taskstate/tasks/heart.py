"""The leases of one worker, kept from an OS thread: a function that blocks the event loop keeps its lease."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import StorageError
from .protocol import Pulse
from .records import Beat, Claim, Lease

_log = logging.getLogger(__name__)

_BEATS = 3  # within one lease
_MARGIN = 0.1  # of the lease: what a worker's own deadline is earlier
_LATE = 0.2  # seconds between attempts while the store is out of reach


@dataclass(slots=True)
class _Held:
    lease: Lease
    seconds: float
    deadline: float
    next: float
    until: float


class Heart:
    """Beats for every lease that is added until it is removed; `hear` is told what it found, from its thread.

    All times here are of the monotonic clock. A lease counts as lost when its deadline has passed without a beat:
    the moment before it was last asked for, plus the lease time, less a margin.
    """

    def __init__(self, pulse: Pulse, hear: Callable[[Sequence[Beat]], None]) -> None:
        self._pulse = pulse
        self._hear = hear
        self._held: dict[Lease, _Held] = {}
        self._guard = threading.Lock()
        self._wake = threading.Event()
        self._stop = False
        self._look = False
        self._planned = 0.0
        self._thread = threading.Thread(target=self._serve, name="taskstate-tasks-heart", daemon=True)

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def stop(self) -> None:
        """Stop beating and close the line; returns when the thread has ended."""
        self._stop = True
        self._wake.set()
        self._thread.join()

    def add(self, claim: Claim, asked: float, until: float) -> None:
        """Keep a lease that was asked for at `asked`, but not beyond `until`."""
        seconds = claim.lease_ms / 1000
        first = asked + seconds / _BEATS
        held = _Held(claim.lease, seconds, asked + seconds * (1 - _MARGIN), first, until)
        with self._guard:
            self._held[claim.lease] = held
            sooner = first < self._planned
        if sooner:
            self._wake.set()

    def remove(self, lease: Lease) -> None:
        """Let go of a lease."""
        with self._guard:
            self._held.pop(lease, None)

    def deadline(self, lease: Lease) -> float:
        """Until when a lease is surely held; in the past if it isn't kept."""
        held = self._held.get(lease)
        return 0.0 if held is None else held.deadline

    def look(self) -> None:
        """Find out soon how the leases stand, without waiting for the next beat."""
        self._look = True
        self._wake.set()

    def _serve(self) -> None:
        while not self._stop:
            with self._guard:
                self._planned = min((held.next for held in self._held.values()), default=time.monotonic() + 60)
            self._wake.wait(max(0.0, self._planned - time.monotonic()))
            self._wake.clear()
            try:
                self._round()
            except Exception as error:  # noqa: BLE001 - a heart that stops would lose every lease
                _log.warning("heartbeats failed: %s", type(error).__name__)
        self._pulse.close()

    def _round(self) -> None:
        now = time.monotonic()
        looks, self._look = self._look, False
        with self._guard:
            held = list(self._held.values())
        due = [one for one in held if one.next <= now < one.until]
        late = [one for one in held if one.next <= now and now >= one.until]
        for one in late:  # not extended any more; whether it is lost is found by looking
            one.next = now + one.seconds / _BEATS
        found = self._ask(due, extend=True) if due else []
        if looks or late:
            found += self._ask([one for one in held if one not in due], extend=False)
        lost = [Beat(*one.lease, False, False) for one in held if one.deadline <= time.monotonic()]
        if found or lost:
            self._hear([*found, *lost])

    def _ask(self, held: Sequence[_Held], *, extend: bool) -> list[Beat]:
        asked = time.monotonic()
        try:
            beats = self._pulse.beat([one.lease for one in held], extend=extend)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next attempt comes in its time
            shown = error.reason if isinstance(error, StorageError) else type(error).__name__
            _log.warning("heartbeats failed: %s", shown)
            for one in held:
                one.next = asked + _LATE
            return []
        if extend:
            for one in held:
                one.deadline, one.next = asked + one.seconds * (1 - _MARGIN), asked + one.seconds / _BEATS
        return list(beats)
