"""Run workers side by side, each in a child execution."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ConfigurationError, LifecycleError, ParallelError
from .diagnostics import Reporter
from .waiting import ended

if TYPE_CHECKING:
    from .execution import Execution

Worker: TypeAlias = "Callable[[Execution], Any]"
"""Async (or plain) callable that is given the child execution of its path."""


@dataclass(frozen=True)
class Settled:
    """How one path ended: `value` if it succeeded, else `error`."""

    value: Any = None
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        """Whether the path succeeded."""
        return self.error is None


async def run_paths(
    parent: Execution,
    workers: Sequence[Worker],
    mode: str,
    limit: int | None,
    ids: Sequence[str] | None,
    reporter: Reporter,
) -> Any:
    """See Execution.in_parallel."""
    if mode not in ("all", "race", "settle"):
        raise ConfigurationError(f"mode {mode!r} is none of all, race and settle")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise ConfigurationError("limit is a whole number of at least 1, or None")
    if ids is not None and len(ids) != len(workers):
        raise ConfigurationError(f"{len(ids)} ids for {len(workers)} workers")
    if mode == "race" and not workers:
        raise ConfigurationError("a race needs at least one worker")
    race = _Race() if mode == "race" else None
    gate = asyncio.Semaphore(limit or max(len(workers), 1))

    async def path(index: int) -> Any:
        async with gate, parent.spawn(execution_id=None if ids is None else ids[index]) as child:
            value = workers[index](child)
            child.result = await value if inspect.isawaitable(value) else value
            if race is not None:
                race.arrive(index)
        return child.result

    tasks = [asyncio.create_task(path(index)) for index in range(len(workers))]
    try:
        if race is not None:
            return await _first(tasks, race, parent, reporter)
        if tasks:
            await asyncio.wait(tasks)
    except BaseException:
        await _stop(tasks)
        raise
    settled = [_settled(task) for task in tasks]
    if mode == "settle":
        return settled
    errors = {index: path.error for index, path in enumerate(settled) if path.error is not None}
    if errors:
        raise ParallelError([path.value for path in settled], errors) from next(iter(errors.values()))
    return [path.value for path in settled]


class _Race:
    """Who came first; the others find out as they arrive, before anything of theirs is merged."""

    def __init__(self) -> None:
        self.winner: int | None = None

    def arrive(self, index: int) -> None:
        if self.winner is not None:
            raise LifecycleError("another path won the race")
        self.winner = index


async def _first(tasks: list[asyncio.Task[Any]], race: _Race, parent: Execution, reporter: Reporter) -> Any:
    pending = set(tasks)
    while pending and race.winner is None:
        _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    winner = None if race.winner is None else tasks[race.winner]
    losers = [task for task in tasks if task is not winner]
    if winner is not None:
        await _stop([task for task in losers if not task.done()])
        await asyncio.wait({winner})
        for task in losers:
            failure = _settled(task).error
            error = failure if isinstance(failure, Exception) else LifecycleError("another path won the race")
            reporter.report("", "in_parallel", parent.execution_id, error)
        return winner.result()
    settled = [_settled(task) for task in tasks]
    raise ParallelError([None] * len(tasks), {index: path.error for index, path in enumerate(settled) if path.error})


def _settled(task: asyncio.Task[Any]) -> Settled:
    if task.cancelled():
        return Settled(error=asyncio.CancelledError())
    error = task.exception()
    return Settled(value=task.result()) if error is None else Settled(error=error)


async def _stop(tasks: list[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until each has ended."""
    for task in tasks:
        task.cancel()
    cancelled = await ended(tasks)
    if cancelled is not None:
        raise cancelled
