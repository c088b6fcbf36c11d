"""What a probe sees when a task is taken up again."""

from __future__ import annotations

from typing import Literal

from .frozen import FrozenDict
from .parts import Frozen, Id, Millis, Part, Sha256, Size, Text, Version


class SeenFile(Part):
    """A file as it is now."""

    sha256: Sha256
    size: Size


class SeenSource(Part):
    """What a source says of itself now."""

    version: Version
    sha256: Sha256 | None = None


class SeenEffect(Part):
    """What the system that an effect writes to says became of it; `evidence` refers to its answer."""

    state: Literal["applied", "not_applied", "unknown"]
    evidence: Text | None = None


class Observed(Part):
    """What is there now. What isn't mentioned wasn't looked at; None is what was looked for and isn't there.

    `files` go by location, `sources` and `effects` by id; `unindexed` are files in the task's artifact location.
    A transcript has no place here.
    """

    now: Millis
    files: Frozen[Text, SeenFile | None] = FrozenDict()
    sources: Frozen[Id, SeenSource | None] = FrozenDict()
    effects: Frozen[Id, SeenEffect] = FrozenDict()
    unindexed: Frozen[Text, SeenFile] = FrozenDict()
