"""Task stores whose clock a test sets."""

from __future__ import annotations

from typing import Any

from postgres.fixtures import Place
from taskstate.tasks.stores.postgres import PostgresTaskStore

START = 1_700_000_000_000


class InjectedClock:
    """Goes on only when it is told to."""

    now = START

    def advance_clock(self, store: Any, ms: int) -> None:
        self.now += ms


class ClockedPostgresTaskStore(PostgresTaskStore):
    """Its clock is a number in a table."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.conninfo, schema=place.schema)
        self.place = place

    async def open(self, *, verify_only: bool = False) -> None:
        await super().open(verify_only=verify_only)
        (found,) = self.place.cluster.execute("SELECT to_regclass(%s)", [f'"{self.place.schema}".clock'])
        if found[0] is not None:
            return
        clock = f'"{self.place.schema}".clock'
        self.place.cluster.execute(f"CREATE TABLE {clock} AS SELECT CAST({START} AS bigint) AS at")
        self.place.cluster.execute(
            f'CREATE OR REPLACE FUNCTION "{self.place.schema}".taskstate_now() RETURNS bigint '
            f"LANGUAGE sql VOLATILE AS $$ SELECT at FROM {clock} $$"
        )

    def empty(self) -> None:
        """Take everything out of the tables, and set the clock back."""
        schema = self.place.schema
        tables = self.place.cluster.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename LIKE 'taskstate_%%'"
            " AND tablename <> 'taskstate_schema_version'",
            [schema],
        )
        if tables:
            # Rows go with the tasks and conversations that they belong to.
            for table in ("task", "conversation"):
                self.place.cluster.execute(f'DELETE FROM "{schema}".taskstate_{table}')
            self.place.cluster.execute(f'UPDATE "{schema}".clock SET at = {START}')

    def let_pass(self, ms: int) -> None:
        self.place.cluster.execute(f'UPDATE "{self.place.schema}".clock SET at = at + %s', [ms])
