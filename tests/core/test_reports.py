"""Faults that users of similar systems reported, each with its public source."""

from __future__ import annotations

import itertools
import json
from typing import Any


def state(data: dict[str, Any]) -> dict[str, Any]:
    return {"checkpoints": [{"timestamp": 1, "depth": 0}], "files": ["p.txt"], "data": data}


def child_of(twin: Any, parent: dict[str, Any]) -> dict[str, Any]:
    clone: dict[str, Any] = twin.clone(parent)
    return clone


def test_two_children_do_not_conflict_over_a_key_that_neither_changed(twin: Any) -> None:
    """langchain-ai/langgraph#6446 (also langchain-ai/deepagents#923)."""
    base = state({"cfg": {"x": 1}})
    now = base
    for name in ("b1", "b2"):
        child = child_of(twin, base)
        child["data"][name] = 1
        now, conflicts = twin.merge(now, child, mode="three_way", base=base)
        assert conflicts == []
    assert now["data"] == {"cfg": {"x": 1}, "b1": 1, "b2": 1}


def test_every_childs_change_survives_in_any_order(twin: Any) -> None:
    """google/adk-python#1153."""
    base = state({"shared": {"seed": 0}})
    children = []
    for name in "abc":
        child = child_of(twin, base)
        child["data"][name] = name
        child["data"]["shared"][name] = name
        children.append(child)
    for order in itertools.permutations(children):
        now = base
        for child in order:
            now, _ = twin.merge(now, child, mode="three_way", base=base)
        assert now["data"] == {
            "shared": {"seed": 0, "a": "a", "b": "b", "c": "c"},
            "a": "a",
            "b": "b",
            "c": "c",
        }


def test_inherited_lists_and_counters_are_not_added_again(twin: Any) -> None:
    """langchain-ai/langgraph#4007, #3648, #6290."""
    base = state({"list": ["a", "b"], "counter": 5})
    child = child_of(twin, base)
    child["data"]["list"].append("c")
    child["data"]["counter"] += 1
    once, _ = twin.merge(base, child, mode="three_way", base=base)
    twice, conflicts = twin.merge(once, child, mode="three_way", base=base)
    for merged in (once, twice):
        assert merged["data"] == {"list": ["a", "b", "c"], "counter": 6}
        assert merged["files"] == ["p.txt"]
    assert conflicts == []


def test_a_childs_work_arrives_where_the_parent_had_no_state(twin: Any) -> None:
    """mattapperson/noetic commit 6b0bd017."""
    child = {"checkpoints": [{"timestamp": 2, "depth": 1}], "files": ["c.txt"], "data": {"k": {"v": 1}}}
    empty: dict[str, Any] = {"checkpoints": [], "files": [], "data": {}}
    for mode in ("shallow", "three_way"):
        for parent in (None, empty):
            merged, conflicts = twin.merge(parent, child, mode=mode, base=parent)
            assert (merged, conflicts) == (child, [])
    merged, _ = twin.merge(None, child, mode="namespace", execution_id="exec-1")
    assert merged == {**child, "data": {"exec-1": {"k": {"v": 1}}}}


def test_a_nested_change_keeps_its_siblings_and_a_deletion_stays_one(twin: Any) -> None:
    """mattapperson/noetic commit 10929924."""
    base = state({"cfg": {"a": 1, "b": {"c": 2, "d": 3}}})
    first, second = child_of(twin, base), child_of(twin, base)
    first["data"]["cfg"]["b"]["c"] = 9
    del second["data"]["cfg"]["a"]
    for order in ([first, second], [second, first]):
        now = base
        for child in order:
            now, conflicts = twin.merge(now, child, mode="three_way", base=base)
            assert conflicts == []
        assert now["data"] == {"cfg": {"b": {"c": 9, "d": 3}}}


def test_a_payload_inherited_over_four_levels_is_kept_once(twin: Any) -> None:
    """cloudwego/eino PR#1232."""
    root = state({"payload": "x" * 1024 * 1024})
    levels = [root]
    for depth in range(1, 5):
        child = child_of(twin, levels[-1])
        child["data"][f"level-{depth}"] = depth
        child["checkpoints"].append({"timestamp": 10 + depth, "depth": depth})
        levels.append(child)
    now = levels[-1]
    for above in reversed(levels[:-1]):
        now, conflicts = twin.merge(above, now, mode="three_way", base=above)
        assert conflicts == []
    assert twin.measure(now) < twin.measure(root) + 1000
    assert now["data"].keys() == {"payload", "level-1", "level-2", "level-3", "level-4"}
    assert [checkpoint["timestamp"] for checkpoint in now["checkpoints"]] == [1, 11, 12, 13, 14]


def test_forty_children_grow_the_state_linearly_where_namespace_doubles_it(twin: Any) -> None:
    """mattapperson/noetic: each child brings back all that it inherited."""

    def sizes(mode: str, children: int) -> list[int]:
        now, sizes = state({"goal": "g"}), []
        for number in range(children):
            base = now
            child = child_of(twin, base)
            child["data"][f"result_{number:02}"] = f"value-{number:02}"
            child["files"].append(f"out/{number:02}.txt")
            now, _ = twin.merge(base, child, mode=mode, execution_id=f"exec-{number:02}", base=base)
            sizes.append(len(json.dumps(now["data"])))
        return sizes

    linear = sizes("three_way", 40)
    steps = {after - before for before, after in itertools.pairwise(linear)}
    assert len(steps) == 1
    doubling = sizes("namespace", 14)
    assert all(after > 2 * before for before, after in itertools.pairwise(doubling))
    assert linear[39] < doubling[6]
