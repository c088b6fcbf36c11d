"""How code and models reach a layer's functions, bound to one execution."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import core
from ..layer.context import ContextLayer
from ..layer.functions import LayerFunction
from ..types import JSON

if TYPE_CHECKING:
    from .execution import Execution


class LayerHandle:
    """A layer as one execution sees it.

    The layer's functions are async methods that take keyword arguments; fields of its state are
    attributes that give copies. Both work from any thread and event loop while the execution runs.
    """

    __slots__ = ("_execution", "_layer")  # so that setting a field is an error, not an attribute without effect

    def __init__(self, execution: Execution, layer: ContextLayer) -> None:
        self._execution = execution
        self._layer = layer

    @property
    def state(self) -> JSON:
        """A copy of the layer's state."""
        return self._execution.state(self._layer.id)

    @property
    def view(self) -> Any:
        """The state as the layer's own type has it (an AgentState for the agent-state layer); a copy, too."""
        return self._execution._view(self._layer)

    def __getattr__(self, name: str) -> Any:
        for function in self._layer.functions:
            if function.attribute == name:
                return self._bind(function)
        state = self._execution._peek(self._layer.id)
        if not name.startswith("_") and type(state) is dict and name in state:
            return core.clone(state[name], name, max_bytes=sys.maxsize)
        known = ", ".join(dir(self))
        raise AttributeError(f"layer {self._layer.id} has nothing named {name!r}; there are {known}")

    def __dir__(self) -> list[str]:
        state = self._execution._peek(self._layer.id)
        fields = state if type(state) is dict else {}
        return ["state", "view", *(function.attribute for function in self._layer.functions), *fields]

    def __repr__(self) -> str:
        return f"<LayerHandle {self._layer.id!r} of execution {self._execution.execution_id}>"

    def _bind(self, function: LayerFunction) -> Callable[..., Awaitable[JSON]]:
        async def call(**arguments: Any) -> JSON:
            return await self._execution._call_function(self._layer.id, function, arguments)

        call.__name__ = call.__qualname__ = function.attribute
        call.__doc__ = function.description
        return call


class LayerHandles(Mapping[str, LayerHandle]):
    """The layers of an execution by id."""

    def __init__(self, execution: Execution, layers: tuple[ContextLayer, ...]) -> None:
        self._handles = {layer.id: LayerHandle(execution, layer) for layer in layers}

    def __getitem__(self, layer_id: str) -> LayerHandle:
        try:
            return self._handles[layer_id]
        except KeyError:
            raise KeyError(f"no layer has the id {layer_id!r}; there are {', '.join(self._handles)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._handles)

    def __len__(self) -> int:
        return len(self._handles)
