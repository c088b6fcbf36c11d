"""Where the review stands, as it declares it: an item for each document and one for the comparison, and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taskstate.record import AgentState, Operation
from taskstate.restart import Item
from taskstate.types import WorkItemStatus

from .rule import COMPARISON_UNIT
from .show import why

_EXTRACT = "Extract the offer and check the extract against its source"
_COMPARE = "Compare the checked extracts, criterion by criterion"
_DECIDED = {
    "keep": "used again",
    "validate": "to be checked before it is used",
    "recheck": "to be checked again",
    "redo": "to be made again",
    "stale": "to be made again",
}


class Work:
    """The agent state of the review.

    A status says what this process believes or means to do. The next one doesn't take it for evidence: it assesses
    the restart record first, and `begin` puts right what was declared otherwise.
    """

    def __init__(self, layer: Any) -> None:
        self._layer = layer

    def record(self) -> AgentState:
        """A copy of what is declared."""
        record: AgentState = self._layer.view
        return record

    async def begin(
        self, objective: str, criteria: str, items: Mapping[str, Item], unreadable: Mapping[str, str]
    ) -> list[str]:
        """Declare what the assessment of each unit says, in one durable write; gives the units that are no more."""
        record = self.record()
        statuses: dict[str, WorkItemStatus] = {
            **{name: "done" if item.verdict == "keep" else "open" for name, item in items.items()},
            **dict.fromkeys(unreadable, "blocked"),
        }
        decisions = {"criteria": criteria}
        for name, item in items.items():
            if item.verdict in _DECIDED:
                decisions[name] = f"{_DECIDED[item.verdict]}: {why(item)}"
        decisions |= {name: f"left out: {reason}" for name, reason in unreadable.items()}
        await self._apply(_changes(record, objective, statuses, decisions))
        return [item["id"] for item in record.list_work_items() if item["id"] not in statuses]

    async def declare(self, item: str, status: WorkItemStatus, why: str = "") -> None:
        """Declare where one item stands, and why if that is to be a decision; nothing is written twice."""
        record = self.record()
        operations = _status_changes(record, {item: status})
        await self._apply(operations + (_decision_changes(record, {item: why}) if why else []))

    async def _apply(self, operations: list[Operation]) -> None:
        if operations:
            await self._layer.apply(operations=operations)


def _changes(
    record: AgentState, objective: str, statuses: Mapping[str, WorkItemStatus], decisions: Mapping[str, str]
) -> list[Operation]:
    """What makes a record hold these and nothing else; empty where it does already."""
    operations = [] if record.objective == objective else [_call("set_objective", objective)]
    operations += [
        _call("remove_work_item", item["id"]) for item in record.list_work_items() if item["id"] not in statuses
    ]
    operations += [_call("remove_decision", old["id"]) for old in record.list_decisions() if old["id"] not in decisions]
    return operations + _status_changes(record, statuses) + _decision_changes(record, decisions)


def _status_changes(record: AgentState, statuses: Mapping[str, WorkItemStatus]) -> list[Operation]:
    operations = []
    for name, status in statuses.items():
        item = record.get_work_item(name)
        if item is None:
            content = _COMPARE if name == COMPARISON_UNIT else _EXTRACT
            operations.append(_call("add_work_item", {"id": name, "content": content, "status": status}))
        elif item["status"] != status:
            operations.append(_call("set_work_item_status", name, status))
    return operations


def _decision_changes(record: AgentState, decisions: Mapping[str, str]) -> list[Operation]:
    operations = []
    for name, content in decisions.items():
        before = record.get_decision(name)
        if before is None or before["content"] != content:
            # A decision can't be reworded: the later one takes the place of the earlier one.
            operations += [_call("remove_decision", name), _call("add_decision", {"id": name, "content": content})]
    return operations


def _call(op: str, *args: Any) -> Operation:
    return {"op": op, "args": list(args)}
