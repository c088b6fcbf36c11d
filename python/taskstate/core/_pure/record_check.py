"""Check what an agent state's record is made of: the reference for `rust/src/record/check.rs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...types import STATUSES
from ..limits import AGENT_STATE_VERSION, BLANKS
from ..record_faults import Given, invalid

_STATUSES = frozenset(STATUSES)
TOP_FIELDS = frozenset({"schemaVersion", "workItems", "decisions", "objective"})
WORK_FIELDS = frozenset({"id", "content", "status"})
DECISION_FIELDS = frozenset({"id", "content"})
ABSENT: Any = object()


def named(value: dict[Any, Any]) -> dict[str, Any]:
    """The fields of a dict; a key that isn't a str, or of a class derived from it, names none."""
    if all(type(key) is str for key in value):
        return value
    return {key: item for key, item in list(value.items()) if type(key) is str}


def check_body(item: Any, given: Given, place: Sequence[Any], argument: str) -> tuple[dict[str, Any], str, str]:
    """The fields, the id and the content of a work item or a decision; one in no list is the `argument` itself."""
    if type(item) is not dict:
        raise invalid(given, place or (argument,), "a dict", item)
    fields = named(item)
    item_id, content = fields.get("id", ABSENT), fields.get("content", ABSENT)
    check_text(item_id, given, (*place, "id"))
    check_text(content, given, (*place, "content"))
    return fields, item_id, content


def check_text(value: Any, given: Given, keys: Sequence[Any]) -> None:
    """An id or a content: a str of more than white space."""
    check_str(value, given, keys)
    if not value.strip(BLANKS):
        raise invalid(given, keys, "blank")


def check_str(value: Any, given: Given, keys: Sequence[Any]) -> None:
    if type(value) is not str:
        raise _wrong(given, keys, "a str", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise invalid(given, keys, "surrogate") from None


def check_status(value: Any, given: Given, keys: Sequence[Any]) -> None:
    if type(value) is not str:
        raise _wrong(given, keys, "a str", value)
    if value not in _STATUSES:
        raise invalid(given, keys, "status")


def check_version(value: Any) -> None:
    if value is ABSENT:
        raise invalid("snapshot", ("schemaVersion",), "missing")
    if (type(value) is not int and type(value) is not float) or value != AGENT_STATE_VERSION:
        raise invalid("snapshot", ("schemaVersion",), "version", value)


def check_list(value: dict[str, Any], field: str, given: Given) -> list[Any]:
    items = value.get(field, ABSENT)
    if items is ABSENT and given == "input":
        return []
    if type(items) is not list:
        raise _wrong(given, (field,), "a list", items)
    return list(items)


def refuse_unknown(value: dict[Any, Any], fields: frozenset[str], given: Given, place: Sequence[Any]) -> None:
    for key in list(value):
        if type(key) is not str or key not in fields:
            raise invalid(given, (*place, key), "unknown")


def _wrong(given: Given, keys: Sequence[Any], wanted: str, value: Any) -> Exception:
    return invalid(given, keys, "missing") if value is ABSENT else invalid(given, keys, wanted, value)
