"""What can be run: trusted code with a name, contracts and limits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, get_type_hints, overload

from ..errors import ConfigurationError, NotFoundError
from .payload import Contract

I_contra = TypeVar("I_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)

MAX_NAME = 200
"""Characters that a name, an owner, a conversation, a key may have at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a task may use. Times in seconds, sizes in bytes of JSON text.

    `timeout_s` is running time per attempt: waits don't count. `lease_s` is how long a worker that died keeps
    others out. `cancel_grace_s` is how long a function may go on once it is asked to stop. `concurrency` is how many
    run at once in one worker. A failed attempt is followed after a random time up to
    `backoff_s * 2 ** failures`, at most `backoff_max_s`.
    """

    attempts: int = 3
    backoff_s: float = 1.0
    backoff_max_s: float = 60.0
    timeout_s: float | None = None
    lease_s: float = 30.0
    cancel_grace_s: float = 5.0
    max_input_bytes: int = 1_000_000
    max_result_bytes: int = 1_000_000
    max_checkpoint_bytes: int = 1_000_000
    concurrency: int | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("attempts", 1),
            ("max_input_bytes", 1),
            ("max_result_bytes", 1),
            ("max_checkpoint_bytes", 1),
        ):
            check_whole(name, getattr(self, name), least)
        if self.concurrency is not None:
            check_whole("concurrency", self.concurrency, 1)
        for name, low in (("backoff_s", 0), ("backoff_max_s", 0), ("cancel_grace_s", 0), ("lease_s", 0.1)):
            check_seconds(name, getattr(self, name), low)
        if self.timeout_s is not None:
            check_seconds("timeout_s", self.timeout_s, 0.001)


def check_whole(name: str, value: object, least: int) -> None:
    """ConfigurationError unless `value` is a whole number of at least `least`, within 31 bits."""
    if type(value) is not int or not least <= value < 2**31:
        raise ConfigurationError(f"{name} must be a whole number of at least {least}")


def check_seconds(name: str, value: object, least: float) -> None:
    """ConfigurationError unless `value` is a number of seconds of at least `least`, up to 10^9."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 10**9:
        raise ConfigurationError(f"{name} must be a number of seconds of at least {least}")


@dataclass(frozen=True, eq=False)
class Definition(Generic[I_contra, O_co]):
    """A task that can be run; made by `task`. Calling it calls the function."""

    name: str
    function: Callable[..., Any]
    input: Contract[Any]
    result: Contract[Any]
    version: int = 1
    accepts: tuple[int, ...] = ()
    description: str = ""
    limits: Limits = field(default_factory=Limits)

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of stored tasks that this code can run."""
        return (self.version, *self.accepts)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function; any other one runs in a thread."""
        call = getattr(self.function, "__call__", None)  # noqa: B004 - the method of an object that is called
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(call)

    def __call__(self, ctx: Any, input: Any) -> Any:
        """What the function gives; a coroutine, if it is async."""
        return self.function(ctx, input)


class TaskDecorator(Protocol):
    """Makes a definition of a function `(ctx, input)`, and keeps its types."""

    @overload
    def __call__(
        self, function: Callable[[Any, I_contra], Coroutine[Any, Any, O_co]]
    ) -> Definition[I_contra, O_co]: ...

    @overload
    def __call__(self, function: Callable[[Any, I_contra], O_co]) -> Definition[I_contra, O_co]: ...


def task(
    name: str,
    *,
    input: Any = None,
    result: Any = None,
    version: int = 1,
    accepts: tuple[int, ...] = (),
    description: str | None = None,
    limits: Limits | None = None,
) -> TaskDecorator:
    """Make a task of a function `(ctx, input)`, async or not.

    `input` and `result` are types that pydantic knows; left out, they are what the function is annotated with, else
    any JSON data. Stored tasks keep the `version` that they were started with, and run only where the code has that
    version or `accepts` it. A function that isn't async runs in a thread, with a context whose methods block.
    """
    check_name("name", name)
    for number in (version, *accepts):
        check_whole("version", number, 1)

    def decorate(function: Callable[..., Any]) -> Definition[Any, Any]:
        hints = _hints(function)
        parameters = list(inspect.signature(function).parameters)
        if len(parameters) < 2:
            raise ConfigurationError(f"{name}: a task's function takes a context and an input")
        return Definition(
            name,
            function,
            Contract(hints.get(parameters[1], Any) if input is None else input, "input"),
            Contract(hints.get("return", Any) if result is None else result, "result"),
            version,
            tuple(accepts),
            (inspect.getdoc(function) or "") if description is None else description,
            limits or Limits(),
        )

    return decorate


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (NameError, TypeError):  # a name that exists for type checkers only
        return {}


def check_name(what: str, value: object, most: int = MAX_NAME) -> str:
    """`value`, if it can be a name: a text of 1 to `most` characters that every store can keep."""
    if type(value) is not str or not 0 < len(value) <= most:
        raise ConfigurationError(f"{what} must be a text of 1 to {most} characters")
    if not _can_be_kept(value):
        raise ConfigurationError(f"{what} must hold no NUL and no lone surrogate")
    return value


def check_known(kind: str, id: str, owner: str | None = None) -> str:
    """`id`; NotFoundError for one, or for an owner, that no store can have kept."""
    if type(id) is not str or not _can_be_kept(id):
        raise NotFoundError(kind, ascii(id))
    if owner is not None and (type(owner) is not str or not _can_be_kept(owner)):
        raise NotFoundError(kind, id)
    return id


def _can_be_kept(text: str) -> bool:
    return "\x00" not in text and not any(0xD800 <= ord(char) <= 0xDFFF for char in text)
