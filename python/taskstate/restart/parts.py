"""What a restart record is made of. Every part is immutable; a change makes a new one."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from ..core.limits import BLANKS
from .frozen import FrozenDict, frozen
from .secrets import redact_text


def _no_controls(text: str) -> str:
    if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in text):
        raise ValueError("holds a control character")
    return text


def _not_blank(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate") from None
    if not text.strip(BLANKS):
        raise ValueError("is blank")
    return text


Id: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=200), AfterValidator(_no_controls), AfterValidator(_not_blank)
]
"""A name of the application's own, at most 200 characters without control characters."""
Text: TypeAlias = Annotated[str, AfterValidator(_not_blank)]
Sha256: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Version: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)] | Id
"""The version of a source as the source itself tells it."""
Count: TypeAlias = Annotated[int, Field(ge=1, le=2**63 - 1)]
Millis: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""Milliseconds since the epoch, UTC."""
Size: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)]

Nature: TypeAlias = Literal["fixed", "current"]
"""A fixed historical input, which can't go stale, or an observation of a current state, which can."""
EffectState: TypeAlias = Literal["pending", "unknown", "applied", "not_applied"]
Status: TypeAlias = Literal["open", "paused", "done", "abandoned"]
"""`open`: somebody may work on it. `paused`: nobody may until it is resumed. `done`: the completion rule was met
and checked when this was written. `abandoned`: nobody will finish it."""
UnitState: TypeAlias = Literal["pending", "present", "verified"]
"""`pending`: there is nothing yet. `present`: its artifact exists unchecked, or failed its check. `verified`: its
artifact passed its check."""


_K = TypeVar("_K")
_V = TypeVar("_V")
Frozen: TypeAlias = Annotated[dict[_K, _V], AfterValidator(frozen)]
"""A dict that doesn't change once it is part of a record."""


class Part(BaseModel):
    """Base of all parts: strict types, no other fields, immutable, and shown without what looks like a secret."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True
    )

    def __repr__(self) -> str:
        return redact_text(super().__repr__())

    def __str__(self) -> str:
        return redact_text(super().__str__())


class Scope(Part):
    """Which versions of its sources an objective is about: the latest ones, or those that are named."""

    kind: Literal["latest", "named"] = "latest"
    versions: Frozen[Id, Version] = FrozenDict()

    @model_validator(mode="after")
    def _check(self) -> Scope:
        if (self.kind == "named") != bool(self.versions):
            raise ValueError("versions are for a named scope, which needs them")
        return self


class Objective(Part):
    """What the task is for; `version` grows by one with each change."""

    version: Count = 1
    text: Text
    scope: Scope = Scope()
    since: Millis | None = None


class Criteria(Part):
    """What a result is held against, by id; `version` grows by one with each change."""

    version: Count = 1
    items: Frozen[Id, Text] = FrozenDict()
    since: Millis | None = None


class Source(Part):
    """Something outside that the work reads; `version` is the one last seen, until `expires_at` where that is set."""

    version: Version
    location: str = ""
    sha256: Sha256 | None = None
    nature: Nature = "current"
    seen_at: Millis | None = None
    expires_at: Millis | None = None


class Verification(Part):
    """Whether an artifact was checked: by what, when, on which bytes, by which criteria, and with which evidence.

    `objective` is the version of the objective that it was made for.
    """

    state: Literal["none", "passed", "failed"] = "none"
    verifier: Id | None = None
    verifier_version: Id | None = None
    at: Millis | None = None
    sha256: Sha256 | None = None
    criteria: Count | None = None
    objective: Count | None = None
    evidence: Text | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _check(self) -> Verification:
        told = (self.verifier, self.verifier_version, self.at, self.sha256, self.criteria, self.evidence)
        if self.state == "none" and any(value is not None for value in (*told, self.reason)):
            raise ValueError("what wasn't checked has no verifier, time, hash, evidence or reason")
        if self.state != "none" and any(value is None for value in told):
            raise ValueError(
                "a check names its verifier, that one's version, its time, the hash, the criteria and its evidence"
            )
        if self.state == "failed" and self.reason is None:
            raise ValueError("a failed check keeps its reason")
        return self


class MadeFrom(Part):
    """What an artifact was made from: sources by version, artifacts by hash, and the objective and criteria then."""

    sources: Frozen[Id, Version] = FrozenDict()
    artifacts: Frozen[Id, Sha256] = FrozenDict()
    objective: Count = 1
    criteria: Count = 1


class Artifact(Part):
    """A reference to something that the work made; its content is elsewhere. `earlier_checks` go from old to new."""

    location: Text
    sha256: Sha256
    size: Size
    made_from: MadeFrom = MadeFrom()
    covers: tuple[Id, ...] = ()
    nature: Nature = "fixed"
    made_at: Millis | None = None
    expires_at: Millis | None = None
    verification: Verification = Verification()
    earlier_checks: tuple[Verification, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Artifact:
        if self.nature == "fixed" and self.expires_at is not None:
            raise ValueError("what expires is an observation of a current state")
        return self


class Superseded(Part):
    """An artifact that another one took the place of: evidence of an earlier version."""

    id: Id
    artifact: Artifact
    because: Text


class Effect(Part):
    """A write to the outside. It leaves `unknown` only by a reconciliation or a receipt, which `evidence` refers to."""

    kind: Id
    target: Text
    idempotency_key: Text
    request_hash: Sha256
    state: EffectState = "pending"
    since: Millis | None = None
    evidence: Text | None = None

    @property
    def settled(self) -> bool:
        """Whether it is known what became of it."""
        return self.state in ("applied", "not_applied")

    @model_validator(mode="after")
    def _check(self) -> Effect:
        if self.settled != (self.evidence is not None):
            raise ValueError("an effect is settled by evidence, and by nothing else")
        return self


class Authorization(Part):
    """A kind of external write that is allowed, on one target or on any."""

    kind: Id
    target: Text | None = None


class Decision(Part):
    """What was decided."""

    id: Id
    text: Text


class Issue(Part):
    """What is unresolved."""

    id: Id
    text: Text


class Hypothesis(Part):
    """What may be true; it is no evidence. `confirmed_by` says what would make it one."""

    id: Id
    text: Text
    confirmed_by: Text


class FailedAttempt(Part):
    """What was tried and failed: the command, how it ended, and where its result lies."""

    id: Id
    text: Text
    command: Text | None = None
    exit_status: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    result: Text | None = None


class Step(Part):
    """One bounded step, and when it ends."""

    text: Text
    ends_when: Text


class Unit(Part):
    """A part of the result that is required: made from sources and from other units, kept in an artifact.

    `location` is where its artifact is expected, `verifier` the one that has to check it. One that is `partial` may
    be made before all that it is made from is there. `begun` is the generation of the worker that began it last:
    another one's work counts as nobody's.
    """

    artifact: Id | None = None
    state: UnitState = "pending"
    sources: tuple[Id, ...] = ()
    units: tuple[Id, ...] = ()
    verifier: Id | None = None
    location: Text | None = None
    partial: bool = False
    begun: Count | None = None


class CompletionRule(Part):
    """The required units, and those whose artifacts together must cover every criterion."""

    units: Frozen[Id, Unit] = FrozenDict()
    covering: tuple[Id, ...] = ()
