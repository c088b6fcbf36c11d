"""The restart record: what is true of a task, by evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal

import orjson
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from .. import core
from ..errors import InvalidRecordError, InvalidValueError
from .allowed import allowed
from .frozen import FrozenDict
from .parts import (
    Artifact,
    Authorization,
    CompletionRule,
    Count,
    Criteria,
    Decision,
    Effect,
    FailedAttempt,
    Frozen,
    Hypothesis,
    Id,
    Issue,
    Objective,
    Part,
    Size,
    Source,
    Status,
    Step,
    Superseded,
    Text,
    Unit,
)
from .secrets import redact_text


def _exact_int(value: Any) -> Any:
    if type(value) is not int:
        raise ValueError("is no int")
    return value


class RestartRecord(Part):
    """What is true of a task after an interruption, so that it can go on without the conversation.

    `state_version` grows with every save, `generation` with every worker that takes the task over. `phase` is the
    application's word for what it is doing; `status` says only what its definition says. `objective` and `criteria`
    are the current ones, their histories the earlier ones, oldest first. `authorized` lists the external writes that
    are allowed: none, unless it says so. Artifacts are references, never contents; `superseded` keeps the earlier ones.
    `next_allowed` are transitions that `apply` takes, as `operation:subject`: all of them, unless fewer are given.

    Source: the restart lesson, "Inspect the restart packet".
    """

    schema_version: Annotated[Literal[1], BeforeValidator(_exact_int)] = Field(default=1, alias="schemaVersion")
    task_id: Id
    state_version: Size = 0
    generation: Count = 1
    status: Status = "open"
    phase: str = ""
    revision: str | None = None
    objective: Objective
    objective_history: tuple[Objective, ...] = ()
    criteria: Criteria = Criteria()
    criteria_history: tuple[Criteria, ...] = ()
    constraints: tuple[Text, ...] = ()
    authorized: tuple[Authorization, ...] = ()
    sources: Frozen[Id, Source] = FrozenDict()
    artifacts: Frozen[Id, Artifact] = FrozenDict()
    superseded: tuple[Superseded, ...] = ()
    pending_effects: Frozen[Id, Effect] = FrozenDict()
    decisions: tuple[Decision, ...] = ()
    unresolved: tuple[Issue, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    failed_attempts: tuple[FailedAttempt, ...] = ()
    next_allowed: tuple[str, ...] | None = None
    next_step: Step | None = None
    completion_rule: CompletionRule = CompletionRule()

    @classmethod
    def from_json(cls, text: str | bytes) -> RestartRecord:
        """The record of this JSON text. Raises InvalidRecordError, which names the place of every fault."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise invalid(error) from None

    @classmethod
    def from_data(cls, data: Any) -> RestartRecord:
        """The record of plain JSON data, which needn't be trusted."""
        try:
            core.validate(data, "")
        except InvalidValueError as error:
            raise InvalidRecordError([(error.path, error.reason)]) from None
        return cls.from_json(orjson.dumps(data))

    def to_data(self) -> dict[str, Any]:
        """The record as plain JSON data, without what is at its default."""
        data = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        if self.next_allowed == allowed(self):
            del data["next_allowed"]
        return {"schemaVersion": self.schema_version, **data}

    def to_json(self) -> bytes:
        """The record as compact JSON text, the same bytes for the same record."""
        return orjson.dumps(self.to_data())

    def sha256(self) -> str:
        """The hash of the record's JSON text: what an assessment of this very record names."""
        return hashlib.sha256(self.to_json()).hexdigest()

    def order(self) -> tuple[str, ...]:
        """The ids of the units, each after those that it is made from."""
        return tuple(
            TopologicalSorter(
                {unit_id: unit.units for unit_id, unit in self.completion_rule.units.items()}
            ).static_order()
        )

    @model_validator(mode="after")
    def _check(self) -> RestartRecord:
        for name in ("objective", "criteria"):
            versions = [earlier.version for earlier in getattr(self, f"{name}_history")]
            if [*versions, getattr(self, name).version] != sorted({*versions, getattr(self, name).version}):
                raise ValueError(f"{name}_history holds the earlier versions, oldest first, each once")
        for name in ("decisions", "unresolved", "hypotheses", "failed_attempts"):
            _check_unique(name, (entry.id for entry in getattr(self, name)))
        _check_known("objective.scope.versions", self.objective.scope.versions, self.sources)
        owned = [unit.artifact for unit in self.completion_rule.units.values() if unit.artifact is not None]
        if len(owned) != len(set(owned)):
            raise ValueError("completion_rule.units: two units have one artifact")
        for unit_id, unit in self.completion_rule.units.items():
            self._check_unit(f"completion_rule.units.{unit_id}", unit)
        _check_known("completion_rule.covering", self.completion_rule.covering, self.completion_rule.units)
        try:
            self.order()
        except CycleError:
            raise ValueError("completion_rule.units: some are made from each other") from None
        if self.status == "done":
            self._check_done()
        permitted = allowed(self)
        if self.next_allowed is None:
            object.__setattr__(self, "next_allowed", permitted)
        elif not set(self.next_allowed) <= set(permitted):
            raise ValueError("next_allowed: names a transition that the record doesn't allow")
        return self

    def _check_unit(self, place: str, unit: Unit) -> None:
        _check_known(f"{place}.sources", unit.sources, self.sources)
        _check_known(f"{place}.units", unit.units, self.completion_rule.units)
        if (unit.state == "pending") != (unit.artifact is None):
            raise ValueError(f"{place}: a unit has an artifact unless it is pending")
        if unit.artifact is None:
            return
        _check_known(f"{place}.artifact", [unit.artifact], self.artifacts)
        if (unit.state == "verified") != has_passed(unit, self.artifacts[unit.artifact]):
            raise ValueError(f"{place}: verified is one whose artifact has passed its verifier's check of these bytes")

    def _check_done(self) -> None:
        units = self.completion_rule.units.values()
        if not units or any(unit.state != "verified" for unit in units):
            raise ValueError("status: done, but a required unit isn't verified, or none is required")
        rule = self.completion_rule
        artifacts = [self.artifacts[rule.units[unit_id].artifact or ""] for unit_id in rule.covering]
        covered = {criterion for artifact in artifacts for criterion in artifact.covers}
        if rule.covering and not covered >= set(self.criteria.items):
            raise ValueError("status: done, but a criterion isn't covered")
        if any(not effect.settled for effect in self.pending_effects.values()):
            raise ValueError("status: done, but an effect isn't settled")


def has_passed(unit: Unit, artifact: Artifact) -> bool:
    """Whether an artifact has passed a check of its bytes, by the verifier that its unit names where it names one."""
    check = artifact.verification
    by_right_one = unit.verifier is None or check.verifier == unit.verifier
    return check.state == "passed" and check.sha256 == artifact.sha256 and by_right_one


def invalid(error: ValidationError) -> InvalidRecordError:
    """The error for data that is no restart record: the place and the kind of every fault, and nothing of the data."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    told = [(".".join(map(str, fault["loc"])), fault["msg"]) for fault in faults]
    return InvalidRecordError([(redact_text(place), redact_text(reason)) for place, reason in told])


def _check_unique(name: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for entry_id in ids:
        if entry_id in seen:
            raise ValueError(f"{name}: an id is there twice")
        seen.add(entry_id)


def _check_known(place: str, ids: Iterable[str], known: Container[str]) -> None:
    if not all(each in known for each in ids):
        raise ValueError(f"{place}: names something that isn't there")
