from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate import core
from taskstate.errors import ConfigurationError, InvalidStateError, InvalidValueError, TaskStateError

from . import strategies as own

MODES = ["shallow", "namespace", "three_way"]


def state(data: Any = None, checkpoints: Any = (), files: Any = ()) -> dict[str, Any]:
    return {
        "checkpoints": [{"timestamp": at, "depth": 0} for at in checkpoints],
        "files": list(files),
        "data": {} if data is None else data,
    }


def broken(path: str, reason: str, **fields: Any) -> Any:
    return pytest.param({**state(), **fields}, path, reason, id=f"{path}: {reason}")


def without(field: str) -> dict[str, Any]:
    return {key: value for key, value in state().items() if key != field}


BROKEN = [
    pytest.param([], "state", "list is not a task state (a dict)", id="list"),
    pytest.param("{}", "state", "str is not a task state (a dict)", id="str"),
    pytest.param(
        own.Mapping(state()), "state", "Mapping (a subclass of dict) is not a task state (a dict)", id="subclass"
    ),
    *(pytest.param(without(field), field, "missing", id=f"no {field}") for field in state()),
    broken("checkpoints", "dict is not a list", checkpoints={}),
    broken("checkpoints", "tuple is not a list", checkpoints=()),
    broken("checkpoints", "NoneType is not a list", checkpoints=None),
    broken("files", "str is not a list", files="abc"),
    broken("files", "Sequence (a subclass of list) is not a list", files=own.Sequence()),
    broken("data", "list is not a dict", data=[]),
    broken("data", "NoneType is not a dict", data=None),
    broken("checkpoints[0]", "int is not a dict", checkpoints=[5]),
    broken("checkpoints[1]", "NoneType is not a dict", checkpoints=[{"timestamp": 1, "depth": 0}, None]),
    broken("checkpoints[0].timestamp", "missing", checkpoints=[{"depth": 0}]),
    broken("checkpoints[0].depth", "missing", checkpoints=[{"timestamp": 0}]),
    broken("checkpoints[0].depth", "bool is not a finite number", checkpoints=[{"timestamp": 0, "depth": True}]),
    broken("checkpoints[0].depth", "str is not a finite number", checkpoints=[{"timestamp": 0, "depth": "1"}]),
    broken(
        "checkpoints[0].timestamp", "NoneType is not a finite number", checkpoints=[{"timestamp": None, "depth": 0}]
    ),
    broken(
        "checkpoints[0].timestamp",
        "float is not a finite number",
        checkpoints=[{"timestamp": float("nan"), "depth": 0}],
    ),
    broken("files[1]", "int is not a str", files=["a", 1]),
    broken("files[0]", "Text (a subclass of str) is not a str", files=[own.Text("a")]),
]


@pytest.mark.parametrize(("value", "path", "reason"), BROKEN)
def test_what_is_no_task_state_is_refused(twin: Any, value: Any, path: str, reason: str) -> None:
    """Rule T9, for each function that takes a state."""
    with pytest.raises(InvalidStateError) as caught:
        twin.check_state(value)
    assert str(caught.value) == f"{path}: {reason}"
    for render in (twin.render_block, twin.render_parts):
        with pytest.raises(InvalidStateError, match=r"not|missing") as caught:
            render(value, None)
        assert str(caught.value) == f"{path}: {reason}"
    named = path if path != "state" else ""
    for mode in MODES:
        for role, arguments in {"parent": (value, state()), "child": (state(), value)}.items():
            before = repr(arguments)
            with pytest.raises(InvalidStateError) as caught:
                twin.merge(*arguments, mode=mode)
            assert str(caught.value) == f"{role}{'.' if named else ''}{named}: {reason}"
            assert repr(arguments) == before
    with pytest.raises(InvalidStateError) as caught:
        twin.merge(state(), state(), mode="three_way", base=value)
    assert caught.value.path.startswith("base")


def test_a_task_state_may_have_other_keys(twin: Any) -> None:
    twin.check_state({**state(), "other": 1, "checkpoints": [{"timestamp": 1.5, "depth": -1, "note": "n"}]})


def test_the_childs_state_is_needed_and_the_parents_is_not(twin: Any) -> None:
    for mode in MODES:
        assert twin.merge(None, state({}, [1], ["f"]), mode=mode)[0]["files"] == ["f"]
        with pytest.raises(InvalidStateError, match=r"^child: NoneType is not a task state \(a dict\)$"):
            twin.merge(state(), None, mode=mode)


def test_shallow_is_the_default_and_the_childs_values_win(twin: Any) -> None:
    parent = state({"a": 1, "d": {"p": 1}, "z": 1}, [1, 2], ["f", "g"])
    child = state({"n": 1, "d": {"c": 1}, "a": 2}, [1, 3], ["g", "h", "h"])
    merged, conflicts = twin.merge(parent, child)
    assert json.dumps(merged) == json.dumps(
        state({"a": 2, "d": {"c": 1}, "z": 1, "n": 1}, [1, 2, 1, 3], ["f", "g", "h"])
    )
    assert conflicts == []


def test_namespace_puts_the_childs_data_under_its_execution_id(twin: Any) -> None:
    parent, child = state({"a": 1, "exec": 0}, [1], ["f"]), state({"a": 2, "b": 3}, [1], ["f"])
    merged, _ = twin.merge(parent, child, mode="namespace", execution_id="exec")
    assert json.dumps(merged) == json.dumps(state({"a": 1, "exec": {"a": 2, "b": 3}}, [1, 1], ["f"]))
    assert twin.merge(state(), child, mode="namespace")[0]["data"] == {"": {"a": 2, "b": 3}}


@pytest.mark.parametrize("mode", ["shallow", "namespace"])
def test_other_fields_are_not_kept_by_the_originals_modes(twin: Any, mode: str) -> None:
    merged, _ = twin.merge({"extra": 1, **state()}, {**state(), "more": 1}, mode=mode)
    assert list(merged) == ["checkpoints", "files", "data"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("parents", "childs"), [(0, 0), (3, 60), (60, 3), (50, 50), (49, 1), (50, 1), (60, 0)])
def test_a_merge_keeps_the_newest_50_checkpoints(twin: Any, mode: str, parents: int, childs: int) -> None:
    parent, child = state({}, range(parents)), state({}, range(100, 100 + childs))
    merged, _ = twin.merge(parent, child, mode=mode)
    everything = [*range(parents), *range(100, 100 + childs)]
    assert [checkpoint["timestamp"] for checkpoint in merged["checkpoints"]] == everything[-50:]


@pytest.mark.parametrize(
    "mode", ["Shallow", "", "deep", "three-way", "three_way ", None, 5, b"shallow", "\ud800", ["shallow"]]
)
def test_an_unknown_mode_is_refused(twin: Any, mode: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        twin.merge(state(), state(), mode=mode)
    assert str(caught.value) == f"unknown merge mode {mode!r}"


def test_an_execution_id_is_a_str(twin: Any) -> None:
    for identifier, shown in [(None, "NoneType"), (5, "int"), (own.Text("x"), "Text (a subclass of str)")]:
        with pytest.raises(InvalidStateError) as caught:
            twin.merge(state(), state(), mode="namespace", execution_id=identifier)
        assert str(caught.value) == f"execution_id: {shown} is not a str"
    with pytest.raises(InvalidValueError, match=r"^execution_id: string holds a lone surrogate$"):
        twin.merge(state(), state(), mode="namespace", execution_id="\ud800")


@given(parent=st.none() | own.states(), child=own.states(), base=st.none() | own.states())
def test_a_merge_never_mutates_and_shares_no_list_of_its_own(twin: Any, parent: Any, child: Any, base: Any) -> None:
    before = json.dumps([parent, child, base])
    for mode in MODES:
        merged, conflicts = twin.merge(parent, child, mode=mode, execution_id="e", base=base)
        merged["checkpoints"].append(1)
        merged["files"].append(1)
        merged["more"] = 1
        conflicts.append(1)
        assert json.dumps([parent, child, base]) == before


@given(parent=own.states(), child=own.states())
def test_the_originals_modes_are_spreads(twin: Any, parent: Any, child: Any) -> None:
    shallow, _ = twin.merge(parent, child, mode="shallow", execution_id="e")
    assert json.dumps(shallow["data"]) == json.dumps({**parent["data"], **child["data"]})
    namespace, _ = twin.merge(parent, child, mode="namespace", execution_id="e")
    assert json.dumps(namespace["data"]) == json.dumps({**parent["data"], "e": child["data"]})
    for merged in (shallow, namespace):
        assert merged["files"] == list(dict.fromkeys([*parent["files"], *child["files"]]))
        assert merged["checkpoints"] == [*parent["checkpoints"], *child["checkpoints"]][-50:]


def test_a_merge_of_cyclic_data_is_refused(twin: Any) -> None:
    """Values are checked where they are stored; the merge only has to survive them."""
    parent, child = state({"a": {}}), state({"a": {}})
    for one in (parent, child):
        one["data"]["a"]["a"] = one["data"]["a"]
    with pytest.raises(TaskStateError, match=r"^child: nested deeper than 200 levels$"):
        twin.merge(parent, child, mode="three_way", base=state())


def test_odd_keys_are_survived_and_named_by_type(twin: Any) -> None:
    parent = state({None: 1, 5: 1, (1,): 1, b"b": 1})
    child = state({None: 2, 5: 2, (1,): 2, b"b": 2})
    merged, conflicts = twin.merge(parent, child, mode="three_way")
    assert merged["data"] == child["data"]
    assert conflicts == ["data[NoneType]", "data[5]", "data[tuple]", "data[bytes]"]


def test_cap_gives_a_new_list_of_the_newest() -> None:
    checkpoints = list(range(60))
    assert core.cap(checkpoints) == checkpoints[10:]
    assert core.cap(checkpoints, 3) == [57, 58, 59]
    assert core.cap(checkpoints, 0) == core.cap([]) == []
    few = [1, 2]
    assert core.cap(few) == few
    assert core.cap(few) is not few
    assert len(checkpoints) == 60


def test_the_public_merge_gives_the_state_and_collects_conflicts() -> None:
    base, parent, child = state({"k": 1}), state({"k": 2}), state({"k": 3})
    conflicts = ["earlier"]
    merged = core.merge(parent, child, mode="three_way", base=base, conflicts=conflicts)
    assert merged == state({"k": 3})
    assert conflicts == ["earlier", "data.k"]
    assert core.merge(parent, child, mode="three_way", base=base) == merged
    assert core.merge(None, child) == child
