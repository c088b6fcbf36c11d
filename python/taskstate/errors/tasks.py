"""What can go wrong with durable tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .state import TaskStateError


class TaskError(TaskStateError):
    """Base of what goes wrong with durable tasks."""

    code = "task"


class NotFoundError(TaskError, LookupError):
    """There is no such task or conversation, or it is another owner's: the two read the same."""

    code = "not_found"

    def __init__(self, kind: str, id: str) -> None:
        super().__init__(f"{kind} {id[:100]}: not found")
        self.kind = kind
        self.id = id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, self.id)


class TaskExistsError(TaskError):
    """A task of this id is there already, with another name, owner or input."""

    code = "task_exists"

    def __init__(self, task_id: str) -> None:
        super().__init__(f"task {task_id[:100]}: is there already, with another name, owner or input")
        self.task_id = task_id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task_id,)


class SingleFlightError(TaskError):
    """A single-flight key is held by a task with another input."""

    code = "single_flight"

    def __init__(self, name: str, key: str, task_id: str) -> None:
        super().__init__(f"{name}: single-flight key {key[:60]!r} is held by task {task_id}, whose input is another")
        self.name = name
        self.key = key
        self.task_id = task_id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.key, self.task_id)


class StaleGenerationError(TaskError):
    """The conversation has gone on: `generation` is older than its `current` one."""

    code = "stale_generation"

    def __init__(self, conversation: str, generation: int, current: int) -> None:
        super().__init__(f"conversation {conversation[:100]}: is at generation {current}, not {generation}")
        self.conversation = conversation
        self.generation = generation
        self.current = current

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.conversation, self.generation, self.current)


class LeaseLostError(TaskError):
    """What was to be written came too late: the task isn't owned under this fence any more; nothing changed.

    `reason` is `cancelled`, `superseded` or `lost` (somebody else owns it, or has ended it).
    """

    code = "lease_lost"

    def __init__(self, task_id: str, fence: int, reason: str = "lost") -> None:
        super().__init__(f"task {task_id}: fence {fence} no longer holds ({reason})")
        self.task_id = task_id
        self.fence = fence
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task_id, self.fence, self.reason)


class TaskEndedError(TaskError):
    """The state of the task doesn't allow this any more."""

    code = "task_ended"

    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(f"task {task_id}: is {state}")
        self.task_id = task_id
        self.state = state

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task_id, self.state)


class SignalError(TaskError):
    """A signal can't be told which wait it answers; `open_waits` lists the ids that can be answered."""

    code = "signal"

    def __init__(self, task_id: str, reason: str, open_waits: Sequence[str]) -> None:
        super().__init__(f"task {task_id}: {reason}; open: {', '.join(open_waits) or 'none'}")
        self.task_id = task_id
        self.reason = reason
        self.open_waits = tuple(open_waits)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task_id, self.reason, self.open_waits)


class NondeterminismError(TaskError):
    """A task reached a step again with another input than the one that is recorded; it isn't tried again."""

    code = "nondeterminism"

    def __init__(self, task_id: str, key: str) -> None:
        super().__init__(f"task {task_id}: step {key!r} is recorded with another input")
        self.task_id = task_id
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task_id, self.key)


class SchemaError(TaskError):
    """The tables of a database aren't those that this version of taskstate works with; nothing was changed."""

    code = "schema"


class PayloadError(TaskError, ValueError):
    """An input, a result or a checkpoint breaks its contract, is no JSON data or is too large; it isn't tried again.

    `code` says which: `input_invalid`, `input_too_large`, `result_invalid`, `result_too_large`, `checkpoint_invalid`
    or `checkpoint_too_large`. `place` names what it is, `reason` what is wrong there, without the value.
    """

    code = "payload"

    def __init__(self, code: str, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.code = code
        self.place = place
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.place, self.reason)


class TaskFailure(TaskError):
    """Raised by a task's own code to fail with a code of its choice; `retry=False`: at once and for good."""

    code = "failure"

    def __init__(self, code: str, message: str = "", *, retry: bool = False) -> None:
        super().__init__(message or code)
        self.code = code
        self.message = message
        self.retry = retry

    def __reduce__(self) -> tuple[Any, ...]:
        return _task_failure, (self.code, self.message, self.retry)


def _task_failure(code: str, message: str, retry: bool) -> TaskFailure:
    return TaskFailure(code, message, retry=retry)


class TaskUnsuccessfulError(TaskError):
    """A task that was waited for ended otherwise than by success.

    `state` is `failed`, `cancelled` or `superseded`, `error_code` and `message` are what is recorded of it.
    """

    code = "task_unsuccessful"

    def __init__(self, task_id: str, name: str, state: str, error_code: str | None, message: str | None = None) -> None:
        detail = f" ({error_code})" if error_code else ""
        super().__init__(f"{name} {task_id}: {state}{detail}")
        self.task_id = task_id
        self.name = name
        self.state = state
        self.error_code = error_code
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task_id, self.name, self.state, self.error_code, self.message)


class FanOutError(TaskError):
    """Some children of a fan-out did not succeed; `outcomes` has that of every child, in order."""

    code = "fan_out"

    def __init__(self, name: str, outcomes: Sequence[Any]) -> None:
        bad = [number for number, outcome in enumerate(outcomes) if outcome.state != "succeeded"]
        super().__init__(f"{name}: {len(bad)} of {len(outcomes)} did not succeed ({', '.join(map(str, bad[:10]))})")
        self.name = name
        self.outcomes = tuple(outcomes)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.outcomes)


class TaskTimeoutError(TaskError, TimeoutError):
    """A task was not at its end in time; it goes on. `state` is where it stood at the last look."""

    code = "task_timeout"

    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(f"task {task_id}: still {state}")
        self.task_id = task_id
        self.state = state

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task_id, self.state)


class WaitTimeoutError(TaskError, TimeoutError):
    """Within a task: the signal that it waited for didn't come in time."""

    code = "wait_timeout"

    def __init__(self, name: str) -> None:
        super().__init__(f"no signal {name!r} in time")
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name,)
