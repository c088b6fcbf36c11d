"""The wire format of an agent state: what it is made of, and what it gives."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from ..types import WorkItemStatus


class WorkItemInput(TypedDict):
    """A work item to add; without a status it is `open`."""

    id: str
    content: str
    status: NotRequired[WorkItemStatus]


class WorkItem(TypedDict):
    """A work item as it stands."""

    id: str
    content: str
    status: WorkItemStatus


class DecisionInput(TypedDict):
    """A decision to add."""

    id: str
    content: str


class Decision(TypedDict):
    """A decision that was taken."""

    id: str
    content: str


class AgentStateInput(TypedDict, total=False):
    """What `create_agent_state` takes; a snapshot will do, too."""

    objective: str
    workItems: list[WorkItemInput]
    decisions: list[DecisionInput]


class AgentStateSnapshot(TypedDict):
    """An agent state as plain data, with its keys in this order."""

    schemaVersion: Literal[1]
    workItems: list[WorkItem]
    decisions: list[Decision]
    objective: NotRequired[str]


class AgentStateSummary(TypedDict):
    """How many work items have each status, and how many there are."""

    open: int
    in_progress: int
    blocked: int
    done: int
    total: int


class DiffItem(TypedDict):
    """An item that is in both snapshots: the fields that differ, as they were and as they are."""

    id: str
    before: dict[str, str]
    after: dict[str, str]


class DiffObjective(TypedDict):
    """The objective of both snapshots, None where there is none."""

    before: str | None
    after: str | None


class DiffItems(TypedDict):
    """Work items and decisions that only one of two snapshots has."""

    workItems: list[WorkItem]
    decisions: list[Decision]


class DiffChanges(TypedDict):
    """What changed in place; `objective` is there only if it did."""

    workItems: list[DiffItem]
    decisions: list[DiffItem]
    objective: NotRequired[DiffObjective]


class AgentStateDiff(TypedDict):
    """What one snapshot has that the other hasn't, and what both have but not alike."""

    added: DiffItems
    removed: DiffItems
    changed: DiffChanges


class Operation(TypedDict):
    """One call of a method of AgentState by its name, such as `addWorkItem`, with its arguments in order."""

    op: str
    args: list[object]
