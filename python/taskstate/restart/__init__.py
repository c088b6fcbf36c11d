"""The restart record: what is true of a task after an interruption, and what may happen next."""

from __future__ import annotations

from ..errors import AlteredError, ContradictionError, InvalidRecordError, SecretError, TransitionError
from .apply import apply
from .assess import assess
from .assessment import Assessment, Item, Missing
from .change import change
from .effects import effect, settle
from .facts import Fact, Facts
from .handoff import handoff
from .observed import Observed, SeenEffect, SeenFile, SeenSource
from .packet import PacketState, judge_handoff, read_handoff, write_handoff
from .plan import plan
from .probes import CallableProbe, FileProbe, observe
from .record import RestartRecord
from .render import render_restart_record
from .secrets import find_secrets, redact_secrets
from .store import RecordStore
from .transitions import Plan, Transition
from .verifiers import Finding, Subject, Verifiers, command_check, hash_check, schema_check

__all__ = [
    "AlteredError",
    "Assessment",
    "CallableProbe",
    "ContradictionError",
    "Fact",
    "Facts",
    "FileProbe",
    "Finding",
    "InvalidRecordError",
    "Item",
    "Missing",
    "Observed",
    "PacketState",
    "Plan",
    "RecordStore",
    "RestartRecord",
    "SecretError",
    "SeenEffect",
    "SeenFile",
    "SeenSource",
    "Subject",
    "Transition",
    "TransitionError",
    "Verifiers",
    "apply",
    "assess",
    "change",
    "command_check",
    "effect",
    "find_secrets",
    "handoff",
    "hash_check",
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
