"""Who is told that something may have changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from ..records import Topic

_log = logging.getLogger(__name__)

Hear = Callable[[AbstractSet[Topic]], None]


class Hints:
    """The subscribers of a store; they are called from whatever thread made the change.

    A store that hears of other processes overrides `listen` and `hush`, which are called with the first subscriber
    and when the last one has gone.
    """

    def __init__(self) -> None:
        self._hearers: dict[object, Hear] = {}
        self._hearing = threading.Lock()

    def subscribe(self, hear: Hear) -> Callable[[], None]:
        """See `TaskStore.subscribe`."""
        mark = object()
        with self._hearing:
            first = not self._hearers
            self._hearers[mark] = hear
        if first:
            self.listen()

        def end() -> None:
            with self._hearing:
                known = self._hearers.pop(mark, None) is not None
                last = known and not self._hearers
            if last:
                self.hush()

        return end

    def tell(self, topics: AbstractSet[Topic]) -> None:
        """Tell every subscriber."""
        if not topics:
            return
        with self._hearing:
            hearers = list(self._hearers.values())
        for hear in hearers:
            try:
                hear(topics)
            except Exception as error:  # noqa: BLE001 - a change was made, whatever its hearers do
                _log.warning("a subscriber failed: %s", type(error).__name__)

    def listen(self) -> None:
        """Begin to hear of other processes."""

    def hush(self) -> None:
        """Stop that; idempotent."""
