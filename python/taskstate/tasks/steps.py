"""How the function of a step is called."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, get_type_hints

from ..storage.worker import attempt
from .payload import Contract

if TYPE_CHECKING:
    from .context import TaskContext

current: contextvars.ContextVar[TaskContext | None] = contextvars.ContextVar("taskstate_task", default=None)
"""The context of the task whose function is running here; None in its steps."""

_ANY: Contract[Any] = Contract(Any, "checkpoint")


def returned(function: Callable[..., Any]) -> Contract[Any]:
    """The contract of what a step gives: what its function is annotated with, else any JSON data."""
    try:
        return _returned(function)
    except TypeError:  # an object that is called, and can't be a key
        return _ANY


@lru_cache(maxsize=1024)
def _returned(function: Callable[..., Any]) -> Contract[Any]:
    try:
        kind = get_type_hints(function).get("return", Any)
        return _ANY if kind is Any else Contract(kind, "checkpoint")
    except Exception:  # noqa: BLE001 - no annotations, or none that pydantic knows
        return _ANY


def wants_key(function: Callable[..., Any]) -> bool:
    """Whether a step's function has a parameter `idempotency_key`."""
    try:
        return _wants_key(function)
    except TypeError:  # as above
        return _wants_key.__wrapped__(function)


@lru_cache(maxsize=1024)
def _wants_key(function: Callable[..., Any]) -> bool:
    try:
        return "idempotency_key" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


async def called(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a function gives; one that isn't async is called in a thread."""
    token = current.set(None)  # a step is whole in itself: what it starts has nothing to do with the context
    try:
        if inspect.iscoroutinefunction(function):
            return await function(*args, **kwargs)
        # A future takes no StopIteration: one that a thread raised would never be heard of.
        value, error = await asyncio.to_thread(attempt, partial(function, *args, **kwargs))
        if error is not None:
            raise error
        return await value if inspect.isawaitable(value) else value
    except SystemExit as error:  # from a branch of the function it would end the event loop
        raise RuntimeError(f"SystemExit: {error}") from error
    finally:
        current.reset(token)
