"""An agent state as a beginner would write it: lists of dicts, searched from the start."""

from __future__ import annotations

import copy
from typing import Any

STATUSES = ("open", "in_progress", "blocked", "done")
BLANKS = {*range(0x9, 0xE), 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF}


class Refused(Exception):
    """What the real one refuses: the code, and the id where one is to blame."""

    def __init__(self, code: str, item_id: str | None = None) -> None:
        super().__init__(code, item_id)
        self.code = code
        self.item_id = item_id


def check_str(value: Any) -> str:
    if type(value) is not str or any(0xD800 <= ord(sign) <= 0xDFFF for sign in value):
        raise Refused("invalid_input")
    return value


def check_text(value: Any) -> str:
    if all(ord(sign) in BLANKS for sign in check_str(value)):
        raise Refused("invalid_input")
    return str(value)


def check_status(value: Any) -> str:
    if type(value) is not str or value not in STATUSES:
        raise Refused("invalid_input")
    return value


class Model:
    def __init__(self) -> None:
        self.objective: str | None = None
        self.work: list[dict[str, str]] = []
        self.decisions: list[dict[str, str]] = []

    def add_work_item(self, item: dict[str, Any]) -> dict[str, str]:
        added = {"id": check_text(item.get("id")), "content": check_text(item.get("content"))}
        added["status"] = check_status(item.get("status", "open"))
        return self._add(self.work, added)

    def add_decision(self, item: dict[str, Any]) -> dict[str, str]:
        return self._add(self.decisions, {"id": check_text(item.get("id")), "content": check_text(item.get("content"))})

    def set_work_item_status(self, item_id: Any, status: Any) -> dict[str, str]:
        return self._set(check_text(item_id), "status", check_status(status))

    def set_work_item_content(self, item_id: Any, content: Any) -> dict[str, str]:
        return self._set(check_text(item_id), "content", check_text(content))

    def get_work_item(self, item_id: Any) -> dict[str, str] | None:
        return copy.deepcopy(self._find(self.work, item_id))

    def get_decision(self, item_id: Any) -> dict[str, str] | None:
        return copy.deepcopy(self._find(self.decisions, item_id))

    def remove_work_item(self, item_id: Any) -> bool:
        return self._remove(self.work, item_id)

    def remove_decision(self, item_id: Any) -> bool:
        return self._remove(self.decisions, item_id)

    def list_work_items(self) -> list[dict[str, str]]:
        return copy.deepcopy(self.work)

    def list_decisions(self) -> list[dict[str, str]]:
        return copy.deepcopy(self.decisions)

    def set_objective(self, objective: Any) -> None:
        self.objective = None if objective is None else check_str(objective)

    def snapshot(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "schemaVersion": 1,
            "workItems": self.list_work_items(),
            "decisions": self.list_decisions(),
        }
        if self.objective is not None:
            found["objective"] = self.objective
        return found

    def summary(self) -> dict[str, int]:
        counts = {status: sum(item["status"] == status for item in self.work) for status in STATUSES}
        return {**counts, "total": len(self.work)}

    def apply(self, operations: list[tuple[Any, ...]]) -> list[Any]:
        trial = copy.deepcopy(self)
        results = [getattr(trial, name)(*args) for name, *args in operations]
        self.__dict__ = trial.__dict__
        return results

    @staticmethod
    def _find(items: list[dict[str, str]], item_id: Any) -> dict[str, str] | None:
        return next((item for item in items if type(item_id) is str and item["id"] == item_id), None)

    def _add(self, items: list[dict[str, str]], added: dict[str, str]) -> dict[str, str]:
        if self._find(items, added["id"]) is not None:
            raise Refused("duplicate_item_id", added["id"])
        items.append(added)
        return dict(added)

    def _set(self, item_id: str, field: str, value: str) -> dict[str, str]:
        item = self._find(self.work, item_id)
        if item is None:
            raise Refused("unknown_item_id", item_id)
        item[field] = value
        return dict(item)

    def _remove(self, items: list[dict[str, str]], item_id: Any) -> bool:
        item = self._find(items, item_id)
        if item is not None:
            items.remove(item)
        return item is not None
