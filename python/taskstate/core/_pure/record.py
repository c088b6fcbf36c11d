"""Keep an agent state's record: the reference for `rust/src/record`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from ...types import STATUSES
from ..limits import SCHEMA_VERSION
from ..record_faults import Given, duplicate, invalid, unknown
from .record_check import (
    ABSENT,
    DECISION_FIELDS,
    TOP_FIELDS,
    WORK_FIELDS,
    check_body,
    check_fields,
    check_list,
    check_objective,
    check_status,
    check_text,
    check_version,
    named,
)
from .record_text import parse


class Record:
    """An objective, work items and decisions, in the order in which they were added.

    Made by `create`, `restore` or `from_json`. Every method checks its arguments before it changes anything;
    what it gives is a copy. A fault raises AgentStateError, which names its place by the fields of the snapshot.

    Source: the agent-state specification.
    """

    __slots__ = ("_decisions", "_objective", "_work")

    def __init__(self) -> None:
        self._objective: str | None = None
        self._work: dict[str, _Item] = {}
        self._decisions: dict[str, str] = {}

    @staticmethod
    def create(value: Any = None) -> Record:
        """A record of what an application declares; None stands for nothing. A missing status is `open`."""
        record = Record()
        if value is not None:
            record._fill(value, "input", reject_unknown=False)
        return record

    @staticmethod
    def restore(snapshot: Any, reject_unknown: bool = False) -> Record:
        """The record that a snapshot, which needn't be trusted, was made of."""
        record = Record()
        record._fill(snapshot, "snapshot", reject_unknown=reject_unknown)
        return record

    @staticmethod
    def from_json(text: Any, reject_unknown: bool = False) -> Record:
        """`restore` from the JSON text of a snapshot, a str or UTF-8 bytes, nested at most 200 deep."""
        return Record.restore(parse(text), reject_unknown)

    def copy(self) -> Record:
        """A record of its own with the same content."""
        other = Record()
        other._objective = self._objective
        other._work = {item_id: _Item(item.content, item.status) for item_id, item in self._work.copy().items()}
        other._decisions = dict(self._decisions)
        return other

    def snapshot(self) -> dict[str, Any]:
        """The record as plain data; `objective` comes last, and only where there is one."""
        snapshot: dict[str, Any] = {
            "schemaVersion": SCHEMA_VERSION,
            "workItems": self.list_work_items(),
            "decisions": self.list_decisions(),
        }
        if self._objective is not None:
            snapshot["objective"] = self._objective
        return snapshot

    def to_json(self) -> str:
        """The compact JSON text of the snapshot."""
        return orjson.dumps(self.snapshot()).decode()

    def counts(self) -> dict[str, int]:
        """How many work items have each status, and how many there are in `total`."""
        counts = dict.fromkeys((*STATUSES, "total"), 0)
        for item in self._work.copy().values():
            counts[item.status] += 1
        counts["total"] = sum(counts.values())
        return counts

    def objective(self) -> str | None:
        """The objective, None where there is none."""
        return self._objective

    def set_objective(self, objective: Any) -> None:
        """Replace the objective; None removes it."""
        self._objective = None if objective is None else check_objective(objective, "input")

    def work_count(self) -> int:
        """How many work items there are."""
        return len(self._work)

    def add_work_item(self, item: Any) -> dict[str, str]:
        """Add a work item at the end and give it back; its status is `open` unless it says otherwise."""
        return self._shown(self._add_work_item(item, "input", (), default_status=True, reject_unknown=False))

    def set_work_item_status(self, item_id: Any, status: Any) -> dict[str, str]:
        """Give a work item another status; it keeps its place."""
        check_text(item_id, "input", ("id",))
        check_status(status, "input", ("status",))
        item = self._known(self._work, "work item", item_id)
        item.status = status
        return self._shown(item_id)

    def set_work_item_content(self, item_id: Any, content: Any) -> dict[str, str]:
        """Give a work item another content; it keeps its place."""
        check_text(item_id, "input", ("id",))
        check_text(content, "input", ("content",))
        item = self._known(self._work, "work item", item_id)
        item.content = content
        return self._shown(item_id)

    def get_work_item(self, item_id: Any) -> dict[str, str] | None:
        """The work item of that id; None where there is none, whatever was given."""
        return self._shown(item_id) if type(item_id) is str and item_id in self._work else None

    def list_work_items(self) -> list[dict[str, str]]:
        """The work items in order."""
        return [{"id": item_id, "content": item.content, "status": item.status} for item_id, item in self._work.items()]

    def remove_work_item(self, item_id: Any) -> bool:
        """Remove the work item of that id; False where there is none."""
        return type(item_id) is str and self._work.pop(item_id, None) is not None

    def add_decision(self, decision: Any) -> dict[str, str]:
        """Add a decision at the end and give it back."""
        item_id = self._add_decision(decision, "input", (), reject_unknown=False)
        return {"id": item_id, "content": self._decisions[item_id]}

    def get_decision(self, item_id: Any) -> dict[str, str] | None:
        """The decision of that id; None where there is none, whatever was given."""
        known = type(item_id) is str and item_id in self._decisions
        return {"id": item_id, "content": self._decisions[item_id]} if known else None

    def list_decisions(self) -> list[dict[str, str]]:
        """The decisions in order."""
        return [{"id": item_id, "content": content} for item_id, content in self._decisions.copy().items()]

    def remove_decision(self, item_id: Any) -> bool:
        """Remove the decision of that id; False where there is none."""
        return type(item_id) is str and self._decisions.pop(item_id, None) is not None

    def _fill(self, value: Any, given: Given, *, reject_unknown: bool) -> None:
        if type(value) is not dict:
            raise invalid(given, (), "a dict", value)
        fields = named(value)
        strict = given == "snapshot"
        if strict:
            check_version(fields.get("schemaVersion", ABSENT))
        objective = fields.get("objective", ABSENT)
        if objective is not ABSENT:
            self._objective = check_objective(objective, given)
        work = check_list(fields, "workItems", given)
        decisions = check_list(fields, "decisions", given)
        if reject_unknown:
            check_fields(value, TOP_FIELDS, given, ())
        for index, item in enumerate(work):
            self._add_work_item(
                item, given, ("workItems", index), default_status=not strict, reject_unknown=reject_unknown
            )
        for index, item in enumerate(decisions):
            self._add_decision(item, given, ("decisions", index), reject_unknown=reject_unknown)

    def _add_work_item(
        self, item: Any, given: Given, place: Sequence[Any], *, default_status: bool, reject_unknown: bool
    ) -> str:
        fields, item_id, content = check_body(item, given, place)
        status = fields.get("status", ABSENT)
        if status is ABSENT and default_status:
            status = "open"
        check_status(status, given, (*place, "status"))
        if reject_unknown:
            check_fields(item, WORK_FIELDS, given, place)
        if item_id in self._work:
            raise duplicate("work item", (*place, "id"), item_id)
        self._work[item_id] = _Item(content, status)
        return item_id

    def _add_decision(self, item: Any, given: Given, place: Sequence[Any], *, reject_unknown: bool) -> str:
        _, item_id, content = check_body(item, given, place)
        if reject_unknown:
            check_fields(item, DECISION_FIELDS, given, place)
        if item_id in self._decisions:
            raise duplicate("decision", (*place, "id"), item_id)
        self._decisions[item_id] = content
        return item_id

    def _shown(self, item_id: str) -> dict[str, str]:
        item = self._work[item_id]
        return {"id": item_id, "content": item.content, "status": item.status}

    @staticmethod
    def _known(items: dict[str, _Item], noun: str, item_id: str) -> _Item:
        if item_id not in items:
            raise unknown(noun, ("id",), item_id)
        return items[item_id]


class _Item:
    __slots__ = ("content", "status")

    def __init__(self, content: str, status: str) -> None:
        self.content = content
        self.status = status
