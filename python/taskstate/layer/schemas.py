"""The arguments of the task-state functions, kept apart so that pydantic loads when first needed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def exact_str(value: Any) -> Any:
    """The value itself, unless it is of a class derived from str."""
    if isinstance(value, str) and type(value) is not str:
        raise ValueError(f"{type(value).__name__} is a subclass of str")
    return value


PlainStr = Annotated[str, BeforeValidator(exact_str), Field(min_length=1)]
"""A str of at least one character, and no subclass of it."""


class RecordArtifact(BaseModel):
    """Arguments of recordArtifact."""

    model_config = ConfigDict(strict=True, extra="ignore")

    path: Annotated[PlainStr, Field(description="Path of a file that the task produced.")]


class SetTaskData(BaseModel):
    """Arguments of setTaskData."""

    model_config = ConfigDict(strict=True, extra="ignore")

    key: Annotated[PlainStr, Field(description="Name under which the value is kept.")]
    value: Annotated[Any, Field(description="Any JSON value.")]
