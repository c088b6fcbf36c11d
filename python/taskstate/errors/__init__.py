"""Every exception that taskstate raises, under one base class.

Both twins of the core raise these classes with the same arguments, so an error
reads the same whichever twin met it. No message holds state content: a path and
the name of a type are enough to find the place.
"""

from __future__ import annotations

from .state import (
    AgentStateError,
    AgentStateErrorCode,
    AlteredError,
    ConfigurationError,
    ConflictError,
    ContradictionError,
    CorruptRecordError,
    HookTimeoutError,
    InvalidArgumentError,
    InvalidBudgetError,
    InvalidRecordError,
    InvalidStateError,
    InvalidValueError,
    LifecycleError,
    MergeConflict,
    ParallelError,
    SecretError,
    StateTooLargeError,
    StorageError,
    TaskStateError,
    TransitionError,
)
from .tasks import (
    FanOutError,
    LeaseLostError,
    NondeterminismError,
    NotFoundError,
    PayloadError,
    SchemaError,
    SignalError,
    SingleFlightError,
    StaleGenerationError,
    TaskEndedError,
    TaskError,
    TaskExistsError,
    TaskFailure,
    TaskTimeoutError,
    TaskUnsuccessfulError,
    WaitTimeoutError,
)

__all__ = [
    "AgentStateError",
    "AgentStateErrorCode",
    "AlteredError",
    "ConfigurationError",
    "ConflictError",
    "ContradictionError",
    "CorruptRecordError",
    "FanOutError",
    "HookTimeoutError",
    "InvalidArgumentError",
    "InvalidBudgetError",
    "InvalidRecordError",
    "InvalidStateError",
    "InvalidValueError",
    "LeaseLostError",
    "LifecycleError",
    "MergeConflict",
    "NondeterminismError",
    "NotFoundError",
    "ParallelError",
    "PayloadError",
    "SchemaError",
    "SecretError",
    "SignalError",
    "SingleFlightError",
    "StaleGenerationError",
    "StateTooLargeError",
    "StorageError",
    "TaskEndedError",
    "TaskError",
    "TaskExistsError",
    "TaskFailure",
    "TaskStateError",
    "TaskTimeoutError",
    "TaskUnsuccessfulError",
    "TransitionError",
    "WaitTimeoutError",
]

for _name in __all__:  # a traceback names the place from which an error is imported
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
