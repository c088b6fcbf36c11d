"""What may happen to a restart record: transitions and the evidence that each needs, and changes that are declared."""

from __future__ import annotations

from typing import Literal, TypeAlias

from .assessment import Assessment
from .frozen import FrozenDict
from .parts import (
    Artifact,
    Authorization,
    Decision,
    Effect,
    FailedAttempt,
    Frozen,
    Hypothesis,
    Id,
    Issue,
    Millis,
    Part,
    Scope,
    Size,
    Source,
    Step,
    Text,
    Unit,
    Verification,
)

Op: TypeAlias = Literal["reconcile", "observe", "attach", "validate", "recheck", "make", "remake", "complete"]
"""What a transition does, and its evidence:

- `reconcile`: ask the system that an effect writes to what became of it (SettledEffect);
- `observe`: look at a source (SeenState);
- `make`, `remake`: do the work of a unit (Made); `attach`: take in a file that is there without a record (Made);
- `validate`, `recheck`: run the verifier on an artifact that is there (Verified);
- `complete`: say that the task is done (an Assessment of this very record).
"""


class Transition(Part):
    """One bounded step: what to do to what, because of which records and observations, and when it has ended."""

    op: Op
    subject: Text
    because: tuple[str, ...] = ()
    ends_when: str = ""

    @property
    def key(self) -> str:
        """The transition as `next_allowed` has it."""
        return f"{self.op}:{self.subject}"


class Plan(Part):
    """Ordered transitions; each may build on those before it.

    `resumes_from` are the units that stay as they are, the safe boundary; `unresolved` is what no transition settles.
    """

    task_id: Id
    state_version: Size
    scope: str
    transitions: tuple[Transition, ...]
    resumes_from: tuple[str, ...]
    unresolved: tuple[str, ...]


class SettledEffect(Part):
    """What an authoritative source says became of an effect, and where its answer lies."""

    state: Literal["applied", "not_applied"]
    evidence: Text


class SeenState(Part):
    """A source as it was just seen."""

    source: Source


class Verified(Part):
    """How the check of an artifact ended, for the bytes whose hash it names."""

    verification: Verification


class Made(Part):
    """The artifact that the work of a unit gave, under its id; unchecked as yet."""

    artifact_id: Id
    artifact: Artifact


Evidence: TypeAlias = SettledEffect | SeenState | Verified | Made | Assessment


class NewObjective(Part):
    """The user wants something else: the objective's next version."""

    text: Text
    scope: Scope = Scope()
    at: Millis | None = None


class NewCriteria(Part):
    """The user judges by something else: the criteria's next version, all of it."""

    items: Frozen[Id, Text]
    at: Millis | None = None


class NewUnits(Part):
    """Other required units, all of them; one that was there before keeps what it has.

    `sources` are new ones, and others in the place of those with their ids; `covering` None leaves that as it
    is, less the units that are gone.
    """

    units: Frozen[Id, Unit]
    sources: Frozen[Id, Source] = FrozenDict()
    covering: tuple[Id, ...] | None = None


class Notes(Part):
    """What a worker leaves for the next one. None of it is evidence; `next_step` stays until work is recorded."""

    decisions: tuple[Decision, ...] = ()
    unresolved: tuple[Issue, ...] = ()
    resolved: tuple[Id, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    failed_attempts: tuple[FailedAttempt, ...] = ()
    next_step: Step | None = None
    phase: str | None = None


class Authorize(Part):
    """The user allows external writes: these, and no others."""

    authorized: tuple[Authorization, ...]


class BeginEffect(Part):
    """An external write is about to be tried; it has to be stored before it is."""

    effect_id: Id
    effect: Effect


class LoseEffect(Part):
    """Nobody knows whether an external write took place: it timed out, raised, or was cut off."""

    effect_id: Id


class BeginUnit(Part):
    """The worker of this generation begins the work of a unit."""

    unit_id: Id


class SetStatus(Part):
    """Pause the task, open it again (a done one too, when the world moved on), or abandon it.

    `done` is reached by completion alone.
    """

    status: Literal["open", "paused", "abandoned"]


Change: TypeAlias = (
    NewObjective | NewCriteria | NewUnits | Notes | Authorize | BeginEffect | LoseEffect | BeginUnit | SetStatus
)
"""What an application or its user declares; it needs no evidence and is none."""
