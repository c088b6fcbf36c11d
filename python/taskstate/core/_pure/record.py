"""Keep an agent state's record: the reference for `rust/src/record`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, NamedTuple, NoReturn, ParamSpec, TypeVar, final

import orjson

from ...types import STATUSES
from ..limits import AGENT_STATE_VERSION
from ..record_faults import Given, duplicate, invalid, unknown
from .record_check import (
    ABSENT,
    DECISION_FIELDS,
    TOP_FIELDS,
    WORK_FIELDS,
    check_body,
    check_list,
    check_status,
    check_str,
    check_text,
    check_version,
    named,
    refuse_unknown,
)
from .record_text import parse

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _at_once(method: Callable[Concatenate[Record, _P], _R]) -> Callable[Concatenate[Record, _P], _R]:
    """A method that no other thread's comes in between."""

    @wraps(method)
    def locked(self: Record, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self._lock:
            return method(self, *args, **kwargs)

    return locked


class _Item(NamedTuple):
    content: str
    status: str


@final
class Record:
    """An objective, work items and decisions, in the order in which they were added.

    Made by `create`, `restore` or `from_json`. Every method checks its arguments before it changes anything;
    what it gives is a copy. A fault raises AgentStateError, which names its place by the fields of the snapshot.

    Source: the agent-state specification.
    """

    __slots__ = ("_decisions", "_lock", "_objective", "_work")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'Record' is not an acceptable base type")

    def __init__(self) -> None:
        self._objective: str | None = None
        self._work: dict[str, _Item] = {}
        self._decisions: dict[str, str] = {}
        self._lock = RLock()  # a finalizer may call in while a method runs

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

    @_at_once
    def copy(self) -> Record:
        """A record of its own with the same content."""
        other = Record()
        other._objective = self._objective
        other._work = self._work.copy()
        other._decisions = self._decisions.copy()
        return other

    def __copy__(self) -> Record:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Record:
        return self.copy()

    def snapshot(self) -> dict[str, Any]:
        """The record as plain data; `objective` comes last, and only where there is one."""
        now = self.copy()
        snapshot: dict[str, Any] = {
            "schemaVersion": AGENT_STATE_VERSION,
            "workItems": now.list_work_items(),
            "decisions": now.list_decisions(),
        }
        if now._objective is not None:
            snapshot["objective"] = now._objective
        return snapshot

    def to_json(self) -> str:
        """The compact JSON text of the snapshot."""
        return orjson.dumps(self.snapshot()).decode()

    def summary(self) -> dict[str, int]:
        """How many work items have each status, and how many there are in `total`."""
        summary = dict.fromkeys((*STATUSES, "total"), 0)
        for item in self.copy()._work.values():
            summary[item.status] += 1
            summary["total"] += 1
        return summary

    def objective(self) -> str | None:
        """The objective, None where there is none."""
        return self._objective

    def set_objective(self, objective: Any) -> None:
        """Replace the objective; None removes it."""
        if objective is not None:
            check_str(objective, "input", ("objective",))
        self._objective = objective

    def work_count(self) -> int:
        """How many work items there are."""
        return len(self._work)

    @_at_once
    def add_work_item(self, item: Any) -> dict[str, str]:
        """Add a work item at the end and give it back; its status is `open` unless it says otherwise."""
        item_id = self._add_work_item(item, "input", (), reject_unknown=False)
        return _work_item(item_id, self._work[item_id])

    @_at_once
    def set_work_item_status(self, item_id: Any, status: Any) -> dict[str, str]:
        """Give a work item another status; it keeps its place."""
        check_text(item_id, "input", ("id",))
        check_status(status, "input", ("status",))
        return self._change(item_id, status=status)

    @_at_once
    def set_work_item_content(self, item_id: Any, content: Any) -> dict[str, str]:
        """Give a work item another content; it keeps its place."""
        check_text(item_id, "input", ("id",))
        check_text(content, "input", ("content",))
        return self._change(item_id, content=content)

    def get_work_item(self, item_id: Any) -> dict[str, str] | None:
        """The work item of that id; None where there is none, whatever was given."""
        item = self._work.get(item_id) if type(item_id) is str else None
        return None if item is None else _work_item(item_id, item)

    @_at_once
    def list_work_items(self) -> list[dict[str, str]]:
        """The work items in order."""
        return [_work_item(item_id, item) for item_id, item in self._work.copy().items()]

    @_at_once
    def remove_work_item(self, item_id: Any) -> bool:
        """Remove the work item of that id; False where there is none."""
        return type(item_id) is str and self._work.pop(item_id, None) is not None

    @_at_once
    def add_decision(self, decision: Any) -> dict[str, str]:
        """Add a decision at the end and give it back."""
        item_id = self._add_decision(decision, "input", (), reject_unknown=False)
        return {"id": item_id, "content": self._decisions[item_id]}

    def get_decision(self, item_id: Any) -> dict[str, str] | None:
        """The decision of that id; None where there is none, whatever was given."""
        content = self._decisions.get(item_id) if type(item_id) is str else None
        return None if content is None else {"id": item_id, "content": content}

    @_at_once
    def list_decisions(self) -> list[dict[str, str]]:
        """The decisions in order."""
        return [{"id": item_id, "content": content} for item_id, content in self._decisions.copy().items()]

    @_at_once
    def remove_decision(self, item_id: Any) -> bool:
        """Remove the decision of that id; False where there is none."""
        return type(item_id) is str and self._decisions.pop(item_id, None) is not None

    def _fill(self, value: Any, given: Given, *, reject_unknown: bool) -> None:
        if type(value) is not dict:
            raise invalid(given, (), "a dict", value)
        fields = named(value)
        if given == "snapshot":
            check_version(fields.get("schemaVersion", ABSENT))
        if "objective" in fields:
            check_str(fields["objective"], given, ("objective",))
        work = check_list(fields, "workItems", given)
        decisions = check_list(fields, "decisions", given)
        if reject_unknown:
            refuse_unknown(value, TOP_FIELDS, given, ())
        self._objective = fields.get("objective")
        for index, item in enumerate(work):
            self._add_work_item(item, given, ("workItems", index), reject_unknown=reject_unknown)
        for index, item in enumerate(decisions):
            self._add_decision(item, given, ("decisions", index), reject_unknown=reject_unknown)

    def _add_work_item(self, item: Any, given: Given, place: Sequence[Any], *, reject_unknown: bool) -> str:
        fields, item_id, content = check_body(item, given, place, "item")
        status = fields.get("status", "open" if given == "input" else ABSENT)
        check_status(status, given, (*place, "status"))
        if reject_unknown:
            refuse_unknown(item, WORK_FIELDS, given, place)
        if item_id in self._work:
            raise duplicate("work item", (*place, "id"), item_id)
        self._work[item_id] = _Item(content, status)
        return item_id

    def _add_decision(self, item: Any, given: Given, place: Sequence[Any], *, reject_unknown: bool) -> str:
        _, item_id, content = check_body(item, given, place, "decision")
        if reject_unknown:
            refuse_unknown(item, DECISION_FIELDS, given, place)
        if item_id in self._decisions:
            raise duplicate("decision", (*place, "id"), item_id)
        self._decisions[item_id] = content
        return item_id

    def _change(self, item_id: str, **fields: str) -> dict[str, str]:
        if item_id not in self._work:
            raise unknown("work item", ("id",), item_id)
        item = self._work[item_id] = self._work[item_id]._replace(**fields)
        return _work_item(item_id, item)


def _work_item(item_id: str, item: _Item) -> dict[str, str]:
    return {"id": item_id, "content": item.content, "status": item.status}
