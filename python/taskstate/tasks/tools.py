"""Task definitions as tools for a model, so that it can hand work out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import ConfigurationError, PayloadError, TaskUnsuccessfulError
from ..types import JSON, ToolSpec
from .definition import Definition
from .payload import text_of
from .steps import current

if TYPE_CHECKING:
    from .durable import DurableTasks

ToolMode: TypeAlias = Literal["foreground", "background"]

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class TaskTools:
    """Chosen definitions as tools: `specs` for the model, `call` for what it asks for.

    `foreground`: a call gives the result. `background`: it gives the task's id at once, and the result comes to the
    conversation's inbox. Called within a task, both start a task below that one. A call with bad arguments, and a task
    that doesn't succeed, give an `error` for the model.
    """

    def __init__(
        self,
        tasks: DurableTasks,
        definitions: Sequence[Definition[Any, Any]],
        *,
        mode: ToolMode = "background",
        owner: str = "",
        conversation: str | None = None,
        generation: int = 0,
    ) -> None:
        if mode not in ("foreground", "background"):
            raise ConfigurationError("mode must be foreground or background")
        self._tasks = tasks
        self._mode = mode
        self._binding = {"owner": owner, "conversation": conversation, "generation": generation}
        self._definitions = {_UNSAFE.sub("_", one.name)[:64]: one for one in definitions}
        if len(self._definitions) < len(definitions):
            raise ConfigurationError("two definitions have the same name as tools")

    @property
    def specs(self) -> list[ToolSpec]:
        """The tools as chat APIs take them."""
        return [_spec(name, one, self._mode) for name, one in self._definitions.items()]

    async def call(self, name: str, arguments: object) -> dict[str, JSON]:
        """What the model is told: `result`, or `task_id` and `state`, or `error`.

        `arguments` are what the model wrote, read as JSON. ConfigurationError for an unknown name.
        """
        definition = self._definitions.get(name)
        if definition is None:
            raise ConfigurationError(f"{name[:100]!r} is not one of these tools")
        if not isinstance(arguments, Mapping):
            return {"error": {"code": "input_invalid", "message": "the arguments must be an object"}}
        wrapped = not _is_object(definition)
        if wrapped and arguments.keys() != {"input"}:
            return {"error": {"code": "input_invalid", "message": "the arguments must be `input` and no other"}}
        input = arguments["input"] if wrapped else dict(arguments)
        binding: dict[str, Any] = self._binding
        try:
            # As JSON, from which a contract takes more than from Python: a date, for one, where it is strict.
            place = f"{definition.name}.input"
            text = text_of(input, "input", place, definition.limits.max_input_bytes)
            input = definition.input.decode(text, place)
            inside = current.get()
            if self._mode == "background" and inside is not None:
                return {"task_id": await inside.start(definition, input), "state": "started"}
            if self._mode == "background":
                handle = await self._tasks.start(definition, input, **binding)
                return {"task_id": handle.id, "state": "started"}
            value = await self._tasks.run(definition, input, **binding)
        except PayloadError as error:
            return {"error": {"code": error.code, "message": str(error)}}
        except TaskUnsuccessfulError as error:
            return {"error": {"code": error.error_code or error.state, "task_id": error.task_id}}
        return {"result": definition.result.plain(value)}


def _is_object(definition: Definition[Any, Any]) -> bool:
    return definition.input.schema().get("type") == "object"


def _spec(name: str, definition: Definition[Any, Any], mode: ToolMode) -> ToolSpec:
    schema = definition.input.schema()
    if not _is_object(definition):
        shared = schema.pop("$defs", None)  # references to it are from the root
        schema = {
            "type": "object",
            "properties": {"input": schema},
            "required": ["input"],
            "additionalProperties": False,
        }
        if shared is not None:
            schema["$defs"] = shared
    how = " Returns at once; the result follows." if mode == "background" else ""
    return ToolSpec(name=name, description=(definition.description or definition.name) + how, parameters=schema)
