"""A transaction as the operations see it: named statements, and what others are told once it is committed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ....errors import LeaseLostError, TaskError
from ....storage.worker import Outcome
from ...records import Lease, Topic
from .columns import Held
from .queries import Query

Row: TypeAlias = tuple[Any, ...]


class Session(ABC):
    """One connection within a transaction."""

    def __init__(self, queries: Mapping[str, Query]) -> None:
        self._queries = queries
        self.topics: set[Topic] = set()
        self.writes = 0
        """How many statements ran that may have changed something."""

    def all(self, name: str, /, **values: Any) -> list[Row]:
        """The rows that the statement of this name gives."""
        return self._run(name, values)[0]

    def one(self, name: str, /, **values: Any) -> Row | None:
        """The first of those rows."""
        rows = self._run(name, values)[0]
        return rows[0] if rows else None

    def run(self, name: str, /, **values: Any) -> int:
        """How many rows the statement of this name changed."""
        return self._run(name, values)[1]

    def filtered(self, name: str, filters: Sequence[str], /, **values: Any) -> list[Row]:
        """The rows of a statement to which only some of its conditions are put (blocks `<name>_<filter>`)."""
        conditions = " AND ".join(self._queries[f"{name}_{one}"].text for one in filters)
        where = f" WHERE {conditions} " if conditions else " "
        text = self._queries[name].text + where + self._queries[f"{name}_order"].text
        return self.execute(text, values)[0]

    def many(self, name: str, rows: Sequence[dict[str, Any]]) -> bool:
        """Run a statement for each of `rows`; False, and nothing is changed, if one of them changed no row."""
        self.writes += 1
        return self.execute_many(self._queries[name].text, rows)

    def attempt(self, work: Callable[[], Any]) -> Outcome:
        """The outcome of an operation; one that refused before it changed anything need not undo the others."""
        self.writes = 0
        try:
            return Outcome(work())
        except TaskError as error:
            if self.writes:
                raise
            return Outcome(None, error)

    def touch(self, *topics: Topic) -> None:
        """Have subscribers told once this is committed."""
        self.topics.update(topics)

    def _run(self, name: str, values: dict[str, Any]) -> tuple[list[Row], int]:
        query = self._queries[name]
        self.writes += query.writes
        return self.execute(query.text, values)

    @abstractmethod
    def execute(self, text: str, values: dict[str, Any]) -> tuple[list[Row], int]:
        """Run a statement; its rows and how many it changed."""

    @abstractmethod
    def execute_many(self, text: str, rows: Sequence[dict[str, Any]]) -> bool:
        """Run a statement for all `rows`, as `many` says."""

    def begin(self) -> None:  # noqa: B027 - most are within one anyway
        """Begin the transaction, for an operation that may do without one and finds that it can't."""

    def held(self, lease: Lease) -> Held:
        """Lock a task whose lease holds; LeaseLostError if it doesn't."""
        row = self.one("lease_lock", id=lease.id, fence=lease.fence)
        if row is None:
            raise self.lost(lease)
        return Held(*row)

    def lost(self, lease: Lease) -> LeaseLostError:
        """Why a lease doesn't hold."""
        row = self.one("lease_why", id=lease.id)
        reason = "lost"
        if row is not None and row[0] in ("cancelled", "superseded"):
            reason = row[0]
        return LeaseLostError(lease.id, lease.fence, reason)
