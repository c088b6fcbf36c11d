"""The recorded behaviour of the task-state original, replayed on the twin in use; `record` does it for the agent state.

Where this library is deliberately better, `vectors/deviations.json` names the case under the rule it
touches, and the test checks what the rule promises instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from taskstate import task_state

from .replay import kinds, lifecycle, replay
from .replay.compare import difference
from .replay.notation import decode
from .replay.recordings import load, load_deviations, recorded

NOT_REPLAYED = {"file_storage_keys"}
"""Shows key collisions of the original's file storage; `tests/storage/test_keys.py` covers ours."""


def inner(text: str) -> str:
    return text.removeprefix("<task_state>\n").removesuffix("\n</task_state>")


def keys_keep_insertion_order(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T1: integer-like keys aren't moved to the front."""
    expected = case["expected"]
    if "parentStateJson" in expected:
        assert json.loads(given["parentStateJson"]) == json.loads(expected["parentStateJson"])
        return
    state = orjson.loads(case["input"]["stateJson"])
    whole = json.dumps(state, indent=2, ensure_ascii=False)
    shown = inner(given["text"])
    assert whole == shown or whole.startswith(shown)


def numbers_keep_their_type(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T2: floats stay floats, integers print exactly, what is beyond 64 bits or infinite is refused."""
    state = json.loads(case["input"]["stateJson"])
    values = state["data"]["v"] if type(state["data"]["v"]) is list else [state["data"]["v"]]
    if any((type(v) is int and not -(2**63) <= v < 2**64) or (type(v) is float and math.isinf(v)) for v in values):
        assert "error" in given
    else:
        assert repr(json.loads(inner(given["text"]))) == repr(state)


def is_refused(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T3, T9, T10, T17: a typed error."""
    steps = given.get("steps", [given])
    assert any("error" in step for step in steps)


def half_a_pair_is_given_up(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T4: the final cut never splits a surrogate pair."""
    recorded = bytes.fromhex(case["expected"]["textUtf16"])
    assert given["text"] == recorded.decode("utf-16-be", "ignore")


def budget_is_floored(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T5: a budget above 0 is floored, but not below 1, and the block never exceeds it."""
    floored = max(1, math.floor(case["input"]["budget"]))
    assert given == replay("recall", {**case["input"], "budget": floored})
    assert given["tokenCount"] <= max(floored, 4)


def closing_tag_is_escaped(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T6: the same JSON value, but the block can't be closed from inside."""
    assert given["text"].count("</task_state") == 1
    assert json.loads(inner(given["text"])) == json.loads(inner(case["expected"]["text"]))


def stored_null_is_absent(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T7: `get_many` omits stored nulls on every adapter."""
    recorded = case["expected"]["entries"]
    assert given["entries"] == [entry for entry in recorded if entry[1] is not None]


def keys_never_collide(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T8: a `/` in a layer's id or scope key is percent-encoded."""
    assert difference("lifecycle", case["expected"], given) is not None
    if "steps" in given and "live" in given["steps"][-1]:
        assert given["steps"][-1]["live"]["e2"]["a"] == {"checkpoints": [], "files": [], "data": {}}
    else:
        assert given["steps"][0]["result"] is None


def malformed_state_is_refused_on_load(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T9: init raises, and the stored record stays untouched by what follows."""
    put, loaded, *later = given["steps"]
    assert loaded["threw"]["name"] == "InvalidStateError"
    assert all(row["storage"] == put["storage"] for row in later)


def absent_fields_take_defaults_on_load(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T9: what is stored without a field loads with its default, and works from then on."""
    loaded, stored = given["steps"][1], given["steps"][2]
    stored_value = case["input"]["steps"][0]["value"]
    state = {"checkpoints": [], "files": [], "data": {}, **stored_value}
    assert loaded["live"]["e1"]["task-state"] == state
    assert stored["storage"]["layers/task-state/t1/state"] == {**state, "checkpoints": [{"timestamp": 3, "depth": 0}]}
    assert all("threw" not in row and row["diagnostics"] == [] for row in given["steps"])


def undefined_is_no_value(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T12: Python has no undefined; a key that held it isn't there."""
    if "childState" in given:
        assert given["childState"] == decode(case["expected"]["childState"])
    else:
        assert given["parentState"] == {"checkpoints": [], "files": [], "data": {"k": "v"}}


def all_calls_take_effect(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T11: calls started together all take effect."""
    assert given["steps"][0]["state"]["files"] == ["a", "b", "c"]


def none_child_is_no_child(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T12: a None child is merged by nobody and faulted by nobody."""
    assert all(row["diagnostics"] == [] for row in given["steps"])
    assert given["steps"][-1]["live"]["e1"] == given["steps"][0]["live"]["e1"]
    assert given["steps"][-1]["result"] == "r"


def none_parent_changes_nothing(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T12: None as the merged state changes nothing."""
    assert given["steps"][-1]["adapterOps"] == []
    assert given["steps"][-1]["live"]["e1"]["task-state"] == {"checkpoints": [], "files": [], "data": {}}


def loser_is_not_merged(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T14: only the winner of a race is merged; the losers are reported."""
    (step,) = given["steps"]
    assert step["parentStateLater"] == step["parentState"] == case["expected"]["steps"][0]["parentState"]
    assert given["diagnostics"] == [{"layer": "", "hook": "in_parallel"}] * 2
    assert given["childStatesLeft"] == []


def child_never_writes(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T16: a child doesn't write its parent's key before it is merged."""
    spawned, stored, returned = given["steps"][2:5]
    assert spawned["adapterOps"] == stored["adapterOps"] == []
    assert difference("lifecycle", case["expected"]["steps"][4], returned) is None


def nested_spawn_inherits_live_state(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T16: what the child had written is there for the grandchild, and comes back once."""
    start = {"checkpoints": [{"timestamp": 1, "depth": 0}], "files": ["p.ts"]}
    data = {"goal": "g", "status": "todo", "a": 1}
    assert given["childStartStates"]["g1"] == {**start, "data": data}
    merged = given["steps"][0]["parentState"]["data"]
    if case["input"]["mergeData"] == "shallow":
        assert merged == {**data, "b": 2}
    else:
        assert merged == {"goal": "g", "status": "todo", "k1": {**data, "g1": {**data, "b": 2}}}


def failed_child_leaves_nothing(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T16: a failed child leaves nothing in storage."""
    assert given["durable"]["layers/task-state/thr/state"] == case["input"]["parentState"]
    assert given["steps"] == case["expected"]["steps"]


def child_tools_write_to_the_child(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T11: tools called in a child write to the child's state."""
    (step,) = given["steps"]
    written = {"goal": "g", "status": "done"}
    assert step["parentStateDuringModelCalls"][0]["data"] == written
    if case["input"]["mergeData"] == "shallow":
        assert step["parentState"]["data"] == written
    else:
        assert step["parentState"]["data"] == {"goal": "g", "status": "todo", "auto1": written}
    assert step["parentState"]["files"] == ["p.ts", "made.ts"]


def a_layer_without_headroom_gets_no_share(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T17: no NaN arises from an endless pool."""
    assert given["allocations"][0] == {"layerId": "a", "allocated": 100}


def a_plain_function_is_a_hook(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T17: a hook may be a plain function."""
    assert given["steps"][0]["diagnostics"] == given["steps"][0]["disabled"] == []


def only_hooks_that_exist_have_limits(case: dict[str, Any], given: dict[str, Any]) -> None:
    """T17: timeouts cover the hooks that this project has."""
    for layer, limits in given.items():
        assert limits.items() <= case["expected"]["bare"].items(), layer
        assert limits.items() >= case["expected"]["taskState"].items(), layer


CHECKS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    check.__name__: check
    for check in (
        a_layer_without_headroom_gets_no_share,
        a_plain_function_is_a_hook,
        absent_fields_take_defaults_on_load,
        all_calls_take_effect,
        budget_is_floored,
        child_never_writes,
        child_tools_write_to_the_child,
        closing_tag_is_escaped,
        failed_child_leaves_nothing,
        half_a_pair_is_given_up,
        is_refused,
        keys_keep_insertion_order,
        keys_never_collide,
        loser_is_not_merged,
        malformed_state_is_refused_on_load,
        nested_spawn_inherits_live_state,
        none_child_is_no_child,
        none_parent_changes_nothing,
        numbers_keep_their_type,
        only_hooks_that_exist_have_limits,
        stored_null_is_absent,
        undefined_is_no_value,
    )
}


DEVIATING = load_deviations()
CASES = [(kind, case) for kind in kinds() for case in load(kind)]


@pytest.mark.parametrize(("kind", "case"), CASES, ids=[f"{kind}-{case['name']}" for kind, case in CASES])
def test_it_does_what_the_original_did(kind: str, case: dict[str, Any]) -> None:
    given = replay(kind, case["input"])
    found = difference(kind, case["expected"], given)
    check = DEVIATING.get((kind, case["name"]))
    if check is None:
        assert found is None
    else:
        assert found is not None, "listed as a deviation, but it is none"
        CHECKS[check](case, given)


def test_every_recording_is_replayed_and_every_deviation_exists() -> None:
    assert recorded() == {*kinds(), *NOT_REPLAYED}
    assert DEVIATING.keys() <= {(kind, case["name"]) for kind, case in CASES}


def test_the_second_writer_of_a_thread_gets_a_conflict_by_default() -> None:
    """T15, on the case that records how the original overwrote the first one's work."""
    (case,) = [case for case in load("lifecycle") if case["name"] == "two_executions_same_thread_last_writer_wins"]
    given = lifecycle.run(case["input"], shared_thread="conflict")
    *_, first, second = given["steps"]
    assert [one["name"] for one in second["diagnostics"]] == ["ConflictError"]
    assert second["storage"] == first["storage"]


def test_a_normal_end_records_the_outcome() -> None:
    """T13: see the fan-out cases too, whose roots end in success after the recorded part."""
    layer = task_state(clock=lambda: 5)
    state = {"checkpoints": [], "files": [], "data": {}}
    completed = layer.on_complete(state=state, outcome="success", ctx=lifecycle.ExecutionContext("e", "t"))
    assert completed == {
        "state": {**state, "checkpoints": [{"timestamp": 5, "depth": 0}], "data": {"__outcome": "success"}}
    }
