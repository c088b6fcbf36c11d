"""The base of all errors, and those of state, records and storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias


class TaskStateError(Exception):
    """Base of every error raised by taskstate; `code` names the kind for programs."""

    code: str = "error"


class InvalidValueError(TaskStateError, ValueError):
    """A value that is not plain JSON data was offered where state is kept.

    `path` names the place (`data.report.when`), `reason` says what is wrong there.
    """

    code = "invalid_value"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.reason)


class StateTooLargeError(InvalidValueError):
    """A value is larger than the configured limit."""

    code = "too_large"


class InvalidStateError(InvalidValueError):
    """A value is JSON data but not a task state (`checkpoints`, `files`, `data`)."""

    code = "invalid_state"


class InvalidBudgetError(TaskStateError, ValueError):
    """A token budget is not a number, or is NaN."""

    code = "invalid_budget"


class InvalidArgumentError(TaskStateError, ValueError):
    """Arguments of a model-facing function break its schema.

    `issues` lists each fault as `(path, reason)`; `path` is a tuple of keys into the arguments.
    """

    code = "invalid_argument"

    def __init__(self, function: str, issues: Sequence[tuple[tuple[str | int, ...], str]]) -> None:
        places = "; ".join(f"{'.'.join(map(str, path)) or 'arguments'}: {reason}" for path, reason in issues)
        super().__init__(f"{function}: {places}")
        self.function = function
        self.issues = tuple(issues)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.function, self.issues)


AgentStateErrorCode: TypeAlias = Literal["invalid_input", "duplicate_item_id", "unknown_item_id"]


class AgentStateError(TaskStateError, ValueError):
    """An agent state was given something malformed, an id that it has already, or one that it hasn't.

    `code` is `invalid_input`, `duplicate_item_id` or `unknown_item_id`. `path` names the place
    in what was given (`workItems[3].status`), `reason` says what is wrong there; a traceback shows
    both below the message, which is the original's. `item_id` is the id that was met twice or not at all.
    """

    code: AgentStateErrorCode

    def __init__(
        self, code: AgentStateErrorCode, message: str, path: str, reason: str, item_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path
        self.reason = reason
        self.item_id = item_id
        self.add_note(f"{path}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.path, self.reason, self.item_id)


class ConfigurationError(TaskStateError, ValueError):
    """An option has a value that taskstate doesn't know."""

    code = "configuration"


class LifecycleError(TaskStateError, RuntimeError):
    """An object was used before it was opened, after it ended, or from the wrong place."""

    code = "lifecycle"


class HookTimeoutError(TaskStateError, TimeoutError):
    """A layer's hook took longer than its limit."""

    code = "hook_timeout"

    def __init__(self, milliseconds: float) -> None:
        super().__init__(f"Timeout after {milliseconds:g}ms")
        self.milliseconds = milliseconds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.milliseconds,)


class ParallelError(TaskStateError):
    """One or more parallel paths failed.

    `results` holds, in the order of the paths, the value of each path that succeeded
    and None for each that failed; `errors` maps the index of a failed path to its exception.
    """

    code = "fork_partial"

    def __init__(self, results: Sequence[Any], errors: dict[int, BaseException]) -> None:
        kinds = ", ".join(f"path {index}: {type(error).__name__}" for index, error in errors.items())
        super().__init__(f"{len(errors)} of {len(results)} parallel paths failed ({kinds})")
        self.results = list(results)
        self.errors = errors

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.results, self.errors)


class MergeConflict(TaskStateError):
    """Parent and child changed one place in different ways; `kept` says whose change was kept.

    Never raised: it arrives as the `error` of a Diagnostic.
    """

    code = "merge_conflict"

    def __init__(self, path: str, parent_id: str, child_id: str, kept: Literal["parent", "child"] = "child") -> None:
        super().__init__(f"{path}: changed by {parent_id} and by its child {child_id}; kept: the {kept}'s")
        self.path = path
        self.parent_id = parent_id
        self.child_id = child_id
        self.kept = kept

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.parent_id, self.child_id, self.kept)


class StorageError(TaskStateError):
    """A storage could not do what was asked of it; `key` names the record."""

    code = "storage"

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key[:200]}: {reason}")
        self.key = key
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.key, self.reason)


class CorruptRecordError(StorageError):
    """A stored record can't be read back; it is left as it is."""

    code = "corrupt_record"


class ConflictError(StorageError):
    """Another execution wrote this record since it was read; nothing was overwritten."""

    code = "conflict"


class InvalidRecordError(TaskStateError, ValueError):
    """Data is no restart record; `faults` lists each place and what is wrong there."""

    code = "invalid_record"

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{place or 'record'}: {reason}" for place, reason in faults))
        self.faults = tuple(faults)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.faults,)


class TransitionError(TaskStateError, ValueError):
    """A restart record doesn't allow this transition, or not by this evidence; nothing changed."""

    code = "transition"

    def __init__(self, transition: str, reason: str) -> None:
        super().__init__(f"{transition}: {reason}")
        self.transition = transition
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.transition, self.reason)


class ContradictionError(TransitionError):
    """What an effect is said to have become contradicts what is recorded by evidence; that was kept."""

    code = "contradiction"


class SecretError(TaskStateError, ValueError):
    """Data holds what looks like a secret, and was not taken; `paths` names the places, nothing holds the value."""

    code = "secret"

    def __init__(self, paths: Sequence[str], reason: str = "looks like a secret") -> None:
        shown = ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
        super().__init__(f"{shown}: {reason}")
        self.paths = tuple(paths)
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.paths, self.reason)


class AlteredError(StorageError):
    """Other bytes are there than those that were to be checked."""

    code = "altered"
