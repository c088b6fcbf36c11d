"""The restart record: what is true of a task after an interruption, and what may happen next."""

from __future__ import annotations

from ..errors import AlteredError, ContradictionError, InvalidRecordError, SecretError, TransitionError
from .allowed import inputs_of
from .apply import apply
from .assess import assess
from .assessment import Assessment, Item, Missing
from .change import change
from .effects import effect, settle
from .facts import Fact, Facts
from .handoff import handoff
from .observed import Observed, SeenEffect, SeenFile, SeenSource
from .packet import PacketState, judge_handoff, read_handoff, write_handoff
from .parts import (
    Artifact,
    Authorization,
    CompletionRule,
    Criteria,
    Decision,
    Effect,
    FailedAttempt,
    Hypothesis,
    Issue,
    MadeFrom,
    Objective,
    Scope,
    Source,
    Step,
    Unit,
    Verification,
)
from .plan import plan
from .probes import CallableProbe, FileProbe, observe
from .record import RestartRecord
from .render import render_restart_record
from .secrets import find_secrets, redact_secrets
from .store import RecordStore
from .transitions import (
    Authorize,
    BeginEffect,
    BeginUnit,
    LoseEffect,
    Made,
    NewCriteria,
    NewObjective,
    NewUnits,
    Notes,
    Plan,
    SeenState,
    SetStatus,
    SettledEffect,
    Transition,
    Verified,
)
from .verifiers import Finding, Subject, Verifiers, command_check, hash_check, schema_check

__all__ = [
    "AlteredError",
    "Artifact",
    "Assessment",
    "Authorization",
    "Authorize",
    "BeginEffect",
    "BeginUnit",
    "CallableProbe",
    "CompletionRule",
    "ContradictionError",
    "Criteria",
    "Decision",
    "Effect",
    "Fact",
    "Facts",
    "FailedAttempt",
    "FileProbe",
    "Finding",
    "Hypothesis",
    "InvalidRecordError",
    "Issue",
    "Item",
    "LoseEffect",
    "Made",
    "MadeFrom",
    "Missing",
    "NewCriteria",
    "NewObjective",
    "NewUnits",
    "Notes",
    "Objective",
    "Observed",
    "PacketState",
    "Plan",
    "RecordStore",
    "RestartRecord",
    "Scope",
    "SecretError",
    "SeenEffect",
    "SeenFile",
    "SeenSource",
    "SeenState",
    "SetStatus",
    "SettledEffect",
    "Source",
    "Step",
    "Subject",
    "Transition",
    "TransitionError",
    "Unit",
    "Verification",
    "Verified",
    "Verifiers",
    "apply",
    "assess",
    "change",
    "command_check",
    "effect",
    "find_secrets",
    "handoff",
    "hash_check",
    "inputs_of",
    "judge_handoff",
    "observe",
    "plan",
    "read_handoff",
    "redact_secrets",
    "render_restart_record",
    "schema_check",
    "settle",
    "write_handoff",
]
