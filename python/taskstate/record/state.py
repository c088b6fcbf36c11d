"""The agent state: where the declared work stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast, final, overload

from .. import core
from ..errors import ConfigurationError
from ..types import WorkItemStatus
from .operations import apply_all
from .types import (
    AgentStateInput,
    AgentStateSnapshot,
    AgentStateSummary,
    Decision,
    DecisionInput,
    Operation,
    WorkItem,
    WorkItemInput,
)

UnknownOption: TypeAlias = Literal["drop", "reject"]


@final
class AgentState:
    """An optional objective, work items with one of four statuses, and decisions, in the order they were added.

    Work items and decisions have ids of the caller's, each unique among its kind. `work_items` and `decisions` are
    lists of dicts as in a snapshot, and nothing that only acts like them. Whatever goes in or comes out is a copy. A
    method that raises has changed nothing;
    what it raises is AgentStateError. `len()` counts work items, `in` looks for the id of one.

    Each method but `apply` takes effect at once, also among threads; `apply` loses what others change meanwhile.

    Source: the agent-state specification; `set_objective`, `set_work_item_content`, `get_decision`,
    `remove_decision`, `apply` and the JSON text are this library's own.
    """

    __slots__ = ("_record",)

    def __init__(
        self,
        *,
        objective: str | None = None,
        work_items: list[WorkItemInput] | None = None,
        decisions: list[DecisionInput] | None = None,
    ) -> None:
        given = {"objective": objective, "workItems": work_items, "decisions": decisions}
        self._record = core.Record.create({key: value for key, value in given.items() if value is not None})

    @classmethod
    def _of(cls, record: core.Record) -> AgentState:
        state = cls.__new__(cls)
        state._record = record
        return state

    @classmethod
    def from_json(cls, text: str | bytes, *, unknown: UnknownOption = "drop") -> AgentState:
        """The agent state whose snapshot this JSON text is (UTF-8 where bytes); see `restore_agent_state`."""
        return cls._of(core.Record.from_json(text, _rejects(unknown)))

    def to_json(self) -> str:
        """The compact JSON text of `snapshot()`."""
        return self._record.to_json()

    def snapshot(self) -> AgentStateSnapshot:
        """The state as plain data; `objective` is the last key, and only there if there is one."""
        return cast(AgentStateSnapshot, self._record.snapshot())

    def summary(self) -> AgentStateSummary:
        """How many work items have each status, and how many there are in `total`."""
        return cast(AgentStateSummary, self._record.summary())

    @property
    def objective(self) -> str | None:
        """The objective, None where there is none."""
        return self._record.objective()

    def set_objective(self, objective: str | None) -> None:
        """Replace the objective; None removes it."""
        self._record.set_objective(objective)

    def add_work_item(self, item: WorkItemInput) -> WorkItem:
        """Add a work item at the end and give it back; `open` unless it says otherwise."""
        return cast(WorkItem, self._record.add_work_item(item))

    def set_work_item_status(self, id: str, status: WorkItemStatus) -> WorkItem:
        """Give a work item any other status, and give it back; it keeps its place."""
        return cast(WorkItem, self._record.set_work_item_status(id, status))

    def set_work_item_content(self, id: str, content: str) -> WorkItem:
        """Give a work item another content, and give it back; it keeps its place."""
        return cast(WorkItem, self._record.set_work_item_content(id, content))

    def get_work_item(self, id: str) -> WorkItem | None:
        """The work item of that id, None where there is none."""
        return cast("WorkItem | None", self._record.get_work_item(id))

    def list_work_items(self) -> list[WorkItem]:
        """The work items in order."""
        return cast(list[WorkItem], self._record.list_work_items())

    def remove_work_item(self, id: str) -> bool:
        """Remove the work item of that id; False where there is none."""
        return self._record.remove_work_item(id)

    def add_decision(self, decision: DecisionInput) -> Decision:
        """Add a decision at the end and give it back."""
        return cast(Decision, self._record.add_decision(decision))

    def get_decision(self, id: str) -> Decision | None:
        """The decision of that id, None where there is none."""
        return cast("Decision | None", self._record.get_decision(id))

    def list_decisions(self) -> list[Decision]:
        """The decisions in order."""
        return cast(list[Decision], self._record.list_decisions())

    def remove_decision(self, id: str) -> bool:
        """Remove the decision of that id; False where there is none."""
        return self._record.remove_decision(id)

    def apply(self, operations: Sequence[Operation]) -> list[Any]:
        """Call methods in order, all or none, and give what each gave.

        An operation is `{"op": name, "args": [...]}`; a name is the method's, or its spelling in the original
        (`addWorkItem`). Where one is refused, the path of the error begins with its place (`operations[2].args[0].id`).
        """
        record = self._record.copy()
        results = apply_all(record, operations)
        self._record = record
        return results

    def copy(self) -> AgentState:
        """An agent state of its own with the same content."""
        return self._of(self._record.copy())

    def __copy__(self) -> AgentState:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> AgentState:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return restore_agent_state, (self.snapshot(),)

    def __eq__(self, other: object) -> bool:
        return self.snapshot() == other.snapshot() if isinstance(other, AgentState) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __len__(self) -> int:
        return self._record.work_count()

    def __bool__(self) -> bool:
        return True  # a state without work items is one all the same

    def __contains__(self, id: object) -> bool:
        return self._record.get_work_item(id) is not None

    def __repr__(self) -> str:
        summary = self._record.summary()
        return f"<AgentState: {', '.join(f'{count} {status}' for status, count in summary.items())}>"


@overload
def create_agent_state(input: AgentStateInput | None = None) -> AgentState: ...
@overload
def create_agent_state(input: AgentStateSnapshot) -> AgentState: ...
def create_agent_state(input: Any = None) -> AgentState:
    """An agent state of what an application declares: `objective`, `workItems`, `decisions`, each of them optional.

    Raises AgentStateError (`invalid_input`, `duplicate_item_id`). Source: the agent-state specification.
    """
    return AgentState._of(core.Record.create(input))


def restore_agent_state(snapshot: AgentStateSnapshot | Any, *, unknown: UnknownOption = "drop") -> AgentState:
    """The agent state that a snapshot was made of; it needn't be trusted, and is checked as a whole.

    `unknown` says what happens to fields that a snapshot doesn't have: `drop` leaves them out,
    `reject` refuses them. Raises AgentStateError (`invalid_input`, `duplicate_item_id`).
    Source: the agent-state specification, "Snapshot and restore".
    """
    return AgentState._of(core.Record.restore(snapshot, _rejects(unknown)))


def summarize_agent_state(snapshot: AgentStateSnapshot | AgentState | Any) -> AgentStateSummary:
    """How many work items of a snapshot (or of an agent state) have each status, and how many there are in `total`.

    A snapshot is checked as `restore_agent_state` checks it. Source: the agent-state specification, "Summary".
    """
    return (snapshot if isinstance(snapshot, AgentState) else restore_agent_state(snapshot)).summary()


def _rejects(unknown: UnknownOption) -> bool:
    if unknown not in ("drop", "reject"):
        raise ConfigurationError(f"unknown is {unknown!r}; it can be drop or reject")
    return unknown == "reject"
