"""Functions that a layer offers, to code and to the model as tools."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import ConfigurationError, CorruptRecordError, InvalidArgumentError
from ..storage import decode
from ..types import JSON, ToolSpec

if TYPE_CHECKING:
    from pydantic import BaseModel

    from .context import ExecutionContext

ToolStyle: TypeAlias = Literal["plain", "openai-chat", "openai-responses", "anthropic"]

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_ALIAS = 64
_AMBIGUOUS = re.compile("___|_[0-9a-f]{10}\\Z")


@dataclass(frozen=True)
class Change:
    """What a function gives back: its result, and the new state where it changed one."""

    result: JSON
    state: JSON = None


@dataclass(frozen=True)
class LayerFunction:
    """A function over a layer's state.

    `name` is the model's (`recordArtifact`), `attribute` the code's (`record_artifact`).
    `arguments` gives the pydantic model of the arguments; it is called when first needed.
    `apply(state, arguments, ctx)` is a plain function that never changes `state` in place.
    `for_model` says whether it is one of the model's tools, too. A `redact` sees each text among the arguments
    before `apply` does, and what is nested in an argument only where `nested` names it.
    """

    name: str
    attribute: str
    description: str
    arguments: Callable[[], type[BaseModel]]
    apply: Callable[[Any, Any, ExecutionContext], Change]
    for_model: bool = True
    nested: frozenset[str] = frozenset()

    @cached_property
    def model(self) -> type[BaseModel]:
        """The pydantic model of the arguments."""
        return self.arguments()

    def parse(self, label: str, arguments: Any) -> BaseModel:
        """Check arguments against the model; `label` names the function in errors."""
        from pydantic import ValidationError

        if type(arguments) is not dict:
            raise InvalidArgumentError(label, [((), f"{type(arguments).__name__} is not a dict of arguments")])
        try:
            return self.model.model_validate(arguments)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            raise InvalidArgumentError(label, [(fault["loc"], fault["msg"]) for fault in faults]) from None

    def parameters(self) -> dict[str, JSON]:
        """The JSON schema of the arguments."""
        return copy.deepcopy(self._schema)

    @cached_property
    def _schema(self) -> dict[str, JSON]:
        schema = self.model.model_json_schema()
        schema.pop("title", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return schema


def alias(tool_name: str) -> str:
    """A name that every model provider takes: at most 64 of `A-Za-z0-9_-`.

    A name that had to be changed beyond its `/`, or could be mistaken for the alias of another, carries
    a digest, so that two tools never share one.
    """
    layer, _, function = tool_name.rpartition("/")
    safe = f"{_UNSAFE.sub('_', layer)}__{_UNSAFE.sub('_', function)}"
    plain = f"{layer}__{function}"
    if safe == plain and safe.count("__") == 1 and not _AMBIGUOUS.search(safe) and len(safe) <= _LONGEST_ALIAS:
        return safe
    digest = hashlib.sha256(tool_name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{safe[: _LONGEST_ALIAS - 11]}_{digest}"


def tool_specs(tools: Mapping[str, LayerFunction], style: ToolStyle) -> list[dict[str, JSON]]:
    """Describe tools (full name to function) in the form that a provider's API takes."""
    if style not in _STYLES:
        raise ConfigurationError(f"style {style!r} is none of {', '.join(_STYLES)}")
    return [_STYLES[style](_spec(name, function)) for name, function in tools.items()]


def decode_arguments(label: str, arguments: Any) -> Any:
    """Arguments as a model sends them: a dict, or the JSON text of one."""
    if type(arguments) is not str and type(arguments) is not bytes:
        return arguments
    try:
        return decode(arguments if isinstance(arguments, bytes) else arguments.encode(), label)
    except CorruptRecordError as error:
        raise InvalidArgumentError(label, [((), error.reason)]) from None
    except UnicodeEncodeError:
        raise InvalidArgumentError(label, [((), "string holds a lone surrogate")]) from None


def _spec(name: str, function: LayerFunction) -> ToolSpec:
    return {"name": alias(name), "description": function.description, "parameters": function.parameters()}


_STYLES: dict[str, Callable[[ToolSpec], dict[str, JSON]]] = {
    "plain": lambda spec: {**spec},
    "openai-chat": lambda spec: {"type": "function", "function": {**spec}},
    "openai-responses": lambda spec: {"type": "function", **spec},
    "anthropic": lambda spec: {
        "name": spec["name"],
        "description": spec["description"],
        "input_schema": spec["parameters"],
    },
}

TOOL_STYLES: Sequence[str] = tuple(_STYLES)
