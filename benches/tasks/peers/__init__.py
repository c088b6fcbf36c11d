"""The engines that are compared, a file for each; `load` imports one, in the process that runs it."""

from __future__ import annotations

from importlib import import_module
from typing import Literal, NamedTuple

from ..peer import Peer


class Entry(NamedTuple):
    """An engine, how many tasks and steps take it some two seconds, and by what taskstate is to beat it."""

    title: str
    database: Literal["postgres", "sqlite"]
    module: str
    packages: tuple[str, ...]
    tasks: int
    steps: int = 0
    variant: str = ""
    faster: float | None = None
    """At least so many times its tasks a second."""
    step_share: float | None = None
    """At most this part of its median time for a step."""
    caveat: str = ""


PEERS = {
    "dbos": Entry("DBOS queue", "postgres", "dbos", ("dbos",), 500, 300, faster=4),
    "dbos-unbounded": Entry(
        "DBOS queue, no bound",
        "postgres",
        "dbos",
        ("dbos",),
        1200,
        variant="unbounded",
        caveat="claims the whole backlog at once and runs it with all the threads of its pool, not with ten",
    ),
    "procrastinate": Entry("procrastinate", "postgres", "procrastinate", ("procrastinate",), 800, faster=3),
    "absurd": Entry("Absurd", "postgres", "absurd", ("absurd-sdk", "absurdctl"), 1000, 400, step_share=0.6),
    "pgqueuer": Entry(
        "PgQueuer",
        "postgres",
        "pgqueuer",
        ("pgqueuer", "asyncpg"),
        6000,
        caveat="keeps completions in memory until ten have gathered: a crash runs those tasks again",
    ),
    "dbos-sqlite": Entry("DBOS queue", "sqlite", "dbos", ("dbos",), 250, 200, faster=8),
}
OURS = {
    "postgres": Entry("taskstate", "postgres", "ours", ("taskstate", "psycopg"), 3000, 400),
    "sqlite": Entry("taskstate", "sqlite", "ours", ("taskstate",), 3000, 400),
}


def load(module: str, variant: str = "") -> Peer:
    """Make the engine that is in this module here."""
    engine = import_module(f"{__name__}.{module}").Engine
    peer: Peer = engine(variant) if variant else engine()
    return peer
