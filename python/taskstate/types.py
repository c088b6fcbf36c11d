"""Enums and small types that several rooms share."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, get_args

JSON: TypeAlias = Any
"""Plain JSON data: dict with str keys, list, str, bool, int, float or None."""

Outcome: TypeAlias = Literal["success", "failure", "aborted"]
Scope: TypeAlias = Literal["thread", "resource", "global", "execution"]
MergeMode: TypeAlias = Literal["shallow", "namespace", "three_way"]
WorkItemStatus: TypeAlias = Literal["open", "in_progress", "blocked", "done"]

OUTCOMES: tuple[str, ...] = get_args(Outcome)
SCOPES: tuple[str, ...] = get_args(Scope)
MERGE_MODES: tuple[str, ...] = get_args(MergeMode)
STATUSES: tuple[WorkItemStatus, ...] = get_args(WorkItemStatus)


class Slot(IntEnum):
    """Well-known places in the order of recall; lower comes first."""

    REMINDER = 80
    STEERING = 90
    SCRATCHPAD = 100
    ENTITY = 150
    OBSERVATIONS = 200
    PROCEDURAL = 250
    EPISODIC = 300
    RAG = 350
    SEMANTIC_RECALL = 400


class Checkpoint(TypedDict):
    """One store cycle: `timestamp` in milliseconds since the epoch, `depth` of the execution."""

    timestamp: int | float
    depth: int | float


class TaskState(TypedDict):
    """What a thread has produced. Other keys are kept, except at a shallow or namespace merge."""

    checkpoints: list[Checkpoint]
    files: list[str]
    data: dict[str, JSON]


class Message(TypedDict):
    """A message for the model, in the shape that chat APIs take."""

    role: str
    content: str


class Budget(TypedDict):
    """Tokens that a layer needs at least and can use at most."""

    min: float
    max: float


class ToolSpec(TypedDict):
    """A model-facing function: provider-safe name, description and JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, JSON]
    strict: NotRequired[bool]
