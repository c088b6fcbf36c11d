"""The functions of the task-state layer, which code calls and the model sees as tools."""

from __future__ import annotations

from typing import Any

from .. import core
from ..types import JSON
from .context import ExecutionContext
from .functions import Change, LayerFunction


def _record_artifact(state: JSON, arguments: Any, ctx: ExecutionContext) -> Change:
    core.check_state(state)
    path = arguments.path
    if path in state["files"]:
        return Change(f"Already recorded: {path}")
    return Change(f"Recorded artifact: {path}", {**state, "files": [*state["files"], path]})


def _set_task_data(state: JSON, arguments: Any, ctx: ExecutionContext) -> Change:
    core.check_state(state)
    key = arguments.key
    if key == core.OUTCOME_KEY:
        return Change(f'Cannot set reserved key "{core.OUTCOME_KEY}".')
    place = core.format_path("data", [key])
    value = core.clone(arguments.value, place, max_bytes=ctx.max_state_bytes, depth=2)
    return Change(f"Recorded {key}.", {**state, "data": {**state["data"], key: value}})


def _record_artifact_arguments() -> Any:
    from .schemas import RecordArtifact

    return RecordArtifact


def _set_task_data_arguments() -> Any:
    from .schemas import SetTaskData

    return SetTaskData


TASK_STATE_FUNCTIONS = (
    LayerFunction(
        name="recordArtifact",
        attribute="record_artifact",
        description="Record the path of a file that this task produced. Recording one path twice changes nothing.",
        arguments=_record_artifact_arguments,
        apply=_record_artifact,
    ),
    LayerFunction(
        name="setTaskData",
        attribute="set_task_data",
        description=f'Keep a JSON value under a key of the task data. The key "{core.OUTCOME_KEY}" is reserved.',
        arguments=_set_task_data_arguments,
        apply=_set_task_data,
    ),
)
