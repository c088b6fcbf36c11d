"""The arguments of the agent-state functions, kept apart so that pydantic loads when first needed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ..types import WorkItemStatus
from .schemas import PlainStr, exact_str

Id = Annotated[PlainStr, Field(description="The id, unique among its kind.")]
Content = Annotated[PlainStr, Field(description="What it is, in a few words.")]
Status = Annotated[WorkItemStatus, BeforeValidator(exact_str), Field(description="Where the work item stands.")]


def _listed(value: Any) -> Any:
    return list(value) if type(value) is tuple else value


class _Arguments(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class ReadAgentState(_Arguments):
    """Arguments of readAgentState."""

    status: Annotated[
        WorkItemStatus | None, BeforeValidator(exact_str), Field(description="Only work items of this status.")
    ] = None


class AddWorkItem(_Arguments):
    """Arguments of addWorkItem."""

    id: Id
    content: Content
    status: Status = "open"


class SetWorkItemStatus(_Arguments):
    """Arguments of setWorkItemStatus."""

    id: Annotated[PlainStr, Field(description="The id of the work item.")]
    status: Status


class AddDecision(_Arguments):
    """Arguments of addDecision."""

    id: Id
    content: Content


class SetObjective(_Arguments):
    """Arguments of setObjective."""

    objective: Annotated[str | None, BeforeValidator(exact_str)]


class SetWorkItemContent(_Arguments):
    """Arguments of setWorkItemContent."""

    id: PlainStr
    content: Content


class RemoveWorkItem(_Arguments):
    """Arguments of removeWorkItem."""

    id: PlainStr


class RemoveDecision(_Arguments):
    """Arguments of removeDecision."""

    id: PlainStr


class ApplyOperations(_Arguments):
    """Arguments of applyOperations."""

    operations: Annotated[list[Any], BeforeValidator(_listed)]
