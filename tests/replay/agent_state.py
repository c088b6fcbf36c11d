"""Recorded cases of the agent state, over `taskstate.record`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from taskstate.record import (
    AgentState,
    AgentStateError,
    create_agent_state,
    restore_agent_state,
    summarize_agent_state,
)

UNDEFINED = {"$undefined": True}

_METHODS: dict[str, tuple[str, int]] = {
    "addWorkItem": ("add_work_item", 1),
    "setWorkItemStatus": ("set_work_item_status", 2),
    "getWorkItem": ("get_work_item", 1),
    "listWorkItems": ("list_work_items", 0),
    "removeWorkItem": ("remove_work_item", 1),
    "addDecision": ("add_decision", 1),
    "listDecisions": ("list_decisions", 0),
    "snapshot": ("snapshot", 0),
}


def create(given: Any) -> Any:
    return attempt(lambda: _create(given).snapshot())


def restore(given: Any) -> Any:
    return attempt(lambda: restore_agent_state(given).snapshot())


def summary(given: Any) -> Any:
    return attempt(lambda: summarize_agent_state(given))


def operations(given: dict[str, Any]) -> Any:
    def run() -> Any:
        state = _init(given["init"])
        results = [attempt(lambda call=call: {"return": _call(state, call)}) for call in given["calls"]]
        return {"results": results, "snapshot": state.snapshot()}

    return attempt(run)


def json_text(given: dict[str, Any]) -> Any:
    def run() -> Any:
        state = _init(given["init"])
        for call in given["calls"]:
            attempt(lambda call=call: _call(state, call))
        return state.to_json()

    return attempt(run)


def restore_text(given: str) -> str:
    found = attempt(lambda: AgentState.from_json(given).to_json())
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def attempt(run: Callable[[], Any]) -> Any:
    """What `run` gives, or its error in the notation of the recording."""
    try:
        return run()
    except AgentStateError as error:
        return {"error": {"code": error.code, "itemId": error.item_id, "message": str(error)}}


def _init(init: dict[str, Any]) -> AgentState:
    return _create(init["create"]) if "create" in init else restore_agent_state(init["restore"])


def _create(given: Any) -> AgentState:
    return create_agent_state() if given == UNDEFINED else create_agent_state(_without_undefined(given))


def _call(state: AgentState, call: dict[str, Any]) -> Any:
    """Surplus arguments are dropped, and None stands for missing ones."""
    name, arity = _METHODS[call["op"]]
    arguments = [None if argument == UNDEFINED else _without_undefined(argument) for argument in call["args"]]
    return getattr(state, name)(*[*arguments, *[None] * arity][:arity])


def _without_undefined(value: Any) -> Any:
    """A value without the keys that were absent in the recording."""
    if type(value) is dict:
        return {key: _without_undefined(item) for key, item in value.items() if item != UNDEFINED}
    return [_without_undefined(item) for item in value] if type(value) is list else value
