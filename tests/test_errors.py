"""Every error crosses a process boundary whole, and tells no content."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from taskstate import errors
from taskstate.tasks import Outcome

pytestmark = pytest.mark.once

S = "SECRET"
FAILED = Outcome("t1", "extract", "failed", error_code="mine", message=S)
DONE = Outcome("t2", "extract", "succeeded", S)

# How each is made. What may be content is SECRET: it may be an attribute, and never part of the message.
MADE: dict[str, tuple[Any, ...]] = {
    "AgentStateError": ("unknown_item_id", "message", "path", "reason", "item"),
    "AlteredError": ("key", "reason"),
    "ConfigurationError": ("message",),
    "ConflictError": ("key", "reason"),
    "ContradictionError": ("transition", "reason"),
    "CorruptRecordError": ("key", "reason"),
    "FanOutError": ("extract", (FAILED, DONE)),
    "HookTimeoutError": (1500.0,),
    "InvalidArgumentError": ("function", ((("a", 0), "reason"),)),
    "InvalidBudgetError": ("message",),
    "InvalidRecordError": ((("place", "reason"), ("", "reason")),),
    "InvalidStateError": ("path", "reason"),
    "InvalidValueError": ("path", "reason"),
    "LeaseLostError": ("t1", 5, "superseded"),
    "LifecycleError": ("message",),
    "MergeConflict": ("path", "parent", "child", "parent"),
    "NondeterminismError": ("t1", "step#2"),
    "NotFoundError": ("task", "t1"),
    "ParallelError": ([S, None], {1: ValueError(S)}),
    "PayloadError": ("input_invalid", "extract.input", "reason"),
    "SchemaError": ("message",),
    "SecretError": (("a.b", "c"),),
    "SignalError": ("t1", "reason", ("w1", "w2")),
    "SingleFlightError": ("extract", "key", "t1"),
    "StaleGenerationError": ("c1", 1, 2),
    "StateTooLargeError": ("path", "reason"),
    "StorageError": ("key", "reason"),
    "TaskEndedError": ("t1", "failed"),
    "TaskError": ("message",),
    "TaskExistsError": ("t1",),
    "TaskFailure": ("mine", "message"),
    "TaskStateError": ("message",),
    "TaskTimeoutError": ("t1", "running"),
    "TaskUnsuccessfulError": ("t1", "extract", "failed", "mine", S),
    "TransitionError": ("transition", "reason"),
    "WaitTimeoutError": ("approval",),
}


def made(name: str) -> errors.TaskStateError:
    error: errors.TaskStateError = getattr(errors, name)(*MADE[name])
    return error


def shown(error: BaseException) -> tuple[Any, ...]:
    facts = {key: repr(value) if key == "errors" else value for key, value in vars(error).items()}
    return type(error), str(error), facts


def test_all_errors_are_looked_at_here() -> None:
    known = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    assert known == set(MADE)
    assert all(issubclass(getattr(errors, name), errors.TaskStateError) for name in known)


@pytest.mark.parametrize("name", MADE)
def test_an_error_comes_back_equal_from_another_process(name: str) -> None:
    error = made(name)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert shown(pickle.loads(pickle.dumps(error, protocol))) == shown(error)
    assert shown(copy.copy(error)) == shown(error)
    assert shown(copy.deepcopy(error)) == shown(error)


@pytest.mark.parametrize("name", MADE)
def test_a_message_tells_no_content(name: str) -> None:
    error = made(name)
    assert S not in str(error)
    assert S not in "".join(getattr(error, "__notes__", []))


@pytest.mark.parametrize("name", MADE)
def test_an_error_has_a_code_for_programs(name: str) -> None:
    code = made(name).code
    assert code == code.lower()
    assert code.replace("_", "").isalpha()


@pytest.mark.parametrize("name", ["NotFoundError", "TaskExistsError", "StaleGenerationError", "SingleFlightError"])
def test_a_long_name_is_told_in_part(name: str) -> None:
    arguments = tuple("x" * 10_000 if argument in ("t1", "c1", "key") else argument for argument in MADE[name])
    if name == "SingleFlightError":
        arguments = ("extract", "x" * 10_000, "t1")
    assert len(str(getattr(errors, name)(*arguments))) < 500


def test_a_failure_keeps_whether_it_may_be_tried_again() -> None:
    error = pickle.loads(pickle.dumps(errors.TaskFailure("mine", "m", retry=True)))
    assert (error.code, error.message, error.retry) == ("mine", "m", True)
    assert str(errors.TaskFailure("mine")) == "mine"


def test_the_errors_that_python_has_a_word_for_are_caught_by_it() -> None:
    assert issubclass(errors.NotFoundError, LookupError)
    for name in ("TaskTimeoutError", "WaitTimeoutError", "HookTimeoutError"):
        assert issubclass(getattr(errors, name), TimeoutError)
    for name in ("PayloadError", "ConfigurationError", "InvalidValueError"):
        assert issubclass(getattr(errors, name), ValueError)
