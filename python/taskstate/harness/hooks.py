"""Call a layer's hook: plain or async, with the arguments that it takes, within its limit."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..errors import HookTimeoutError, LifecycleError
from ..layer.context import HOOKS, ContextLayer, accepted_arguments


@dataclass(frozen=True)
class Hook:
    """A hook that a layer has."""

    function: Callable[..., Any]
    accepted: frozenset[str] | None
    limit: float

    async def __call__(self, **arguments: Any) -> Any:
        """Call it with those of the arguments that it takes; HookTimeoutError past the limit."""
        if self.accepted is not None:
            arguments = {name: value for name, value in arguments.items() if name in self.accepted}
        try:
            result = self.function(**arguments)
        except asyncio.CancelledError:
            raise LifecycleError("the hook cancelled itself") from None
        if not inspect.isawaitable(result):
            return result
        return await _within(result, self.limit)


def find_hooks(layer: ContextLayer) -> dict[str, Hook]:
    """The hooks that a layer defines, by name."""
    found = {}
    for name in HOOKS:
        function = getattr(layer, name)
        if function is not None:
            found[name] = Hook(function, accepted_arguments(function), layer.timeouts[name])
    return found


async def _within(awaitable: Awaitable[Any], milliseconds: float) -> Any:
    """Await something for so long at most. What is given up is cancelled, and not waited for."""
    task = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait({task}, timeout=milliseconds / 1000 if milliseconds > 0 else None)
    except asyncio.CancelledError:
        _give_up(task)
        raise
    if not task.done():
        _give_up(task)
        raise HookTimeoutError(milliseconds)
    if task.cancelled():
        raise LifecycleError("the hook cancelled itself")
    return task.result()


def _give_up(task: asyncio.Future[Any]) -> None:
    task.cancel()
    task.add_done_callback(lambda late: late.cancelled() or late.exception())
