"""The rules and laws of the `three_way` merge, each by its number in the page that defines them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.core import format_path

from . import oracle
from . import strategies as own

Merge = Callable[..., tuple[dict[str, Any], list[str]]]


def state(data: dict[str, Any], checkpoints: Any = (), files: Any = (), **more: Any) -> dict[str, Any]:
    return {
        "checkpoints": [{"timestamp": at, "depth": 0} for at in checkpoints],
        "files": list(files),
        "data": data,
        **more,
    }


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def times(merged: dict[str, Any]) -> list[int]:
    return [checkpoint["timestamp"] for checkpoint in merged["checkpoints"]]


@pytest.fixture
def merge(twin: Any) -> Merge:
    """The merge of whole states: of a base, a parent and a child."""

    def three_way(base: Any, parent: Any, child: Any) -> tuple[dict[str, Any], list[str]]:
        merged, conflicts = twin.merge(parent, child, mode="three_way", execution_id="child", base=base)
        return merged, conflicts

    return three_way


@pytest.fixture
def merge_data(merge: Merge) -> Merge:
    """The merge of three values of `data`."""

    def three_way(base: dict[str, Any], parent: dict[str, Any], child: dict[str, Any]) -> Any:
        merged, conflicts = merge(state(base), state(parent), state(child))
        return merged["data"], conflicts

    return three_way


def test_rule_1_a_missing_base_is_empty(merge: Merge) -> None:
    parent, child = state({"a": 1}, [1], ["p"]), state({"b": 2}, [1, 2], ["p", "c"])
    merged, conflicts = merge(None, parent, child)
    assert merged == state({"a": 1, "b": 2}, [1, 1, 2], ["p", "c"])
    assert conflicts == []


def test_rule_1_the_inputs_are_never_mutated(merge: Merge) -> None:
    base, parent, child = (
        state({"d": {"x": 1, "y": {"z": 1}}, "l": [1]}, [1], ["f"]),
        state({"d": {"x": 2, "y": {"z": 1, "p": 1}}, "l": [1]}, [1, 5], ["f", "g"]),
        state({"d": {"y": {"z": 3}}, "l": [1, 2]}, [1, 6], ["f", "h"]),
    )
    before = text([base, parent, child])
    merge(base, parent, child)
    assert text([base, parent, child]) == before


@pytest.mark.parametrize(("old", "new"), [(1, 1.0), (1, True), (0, False), (0.0, -0.0), (1.0, True)])
def test_rule_2_a_change_of_type_is_a_change(merge_data: Merge, old: Any, new: Any) -> None:
    for before, after in [(old, new), (new, old)]:
        merged, conflicts = merge_data(
            {"k": before, "l": [before]}, {"k": before, "l": [before]}, {"k": after, "l": [after]}
        )
        assert text(merged) == text({"k": after, "l": [after]})
        assert conflicts == []


def test_rule_2_key_order_is_no_change(merge_data: Merge) -> None:
    base = {"l": [{"a": 1, "b": 2}], "d": {"a": 1, "b": 2}}
    parent = {"l": 5, "d": {"a": 3, "b": 2}}
    child = {"d": {"b": 2, "a": 1}, "l": [{"b": 2, "a": 1}]}
    assert merge_data(base, parent, child) == (parent, [])


def test_rule_3_what_the_child_left_alone_stays_the_parents(merge_data: Merge) -> None:
    base = {"s": 1, "d": {"x": 1}, "l": [1]}
    for parent in ({}, {"s": 2, "d": 3, "l": {}}, {"s": 1, "d": {"x": 2}, "l": [1, 2]}):
        assert merge_data(base, parent, {**base, "new": 1}) == ({**parent, "new": 1}, [])


def test_rule_4_dicts_are_merged_key_by_key(merge_data: Merge) -> None:
    base = {"d": {"keep": 1, "child": 1, "parent": 1, "gone": 1}}
    parent = {"d": {"keep": 1, "child": 1, "parent": 2, "gone": 1, "added": 1}}
    child = {"d": {"keep": 1, "child": 2, "parent": 1, "fresh": 1}}
    merged, conflicts = merge_data(base, parent, child)
    assert text(merged) == text({"d": {"keep": 1, "child": 2, "parent": 2, "added": 1, "fresh": 1}})
    assert conflicts == []


def test_rule_4_a_base_that_is_no_dict_counts_as_empty(merge_data: Merge) -> None:
    assert merge_data({"d": 1}, {"d": 1}, {"d": {"x": 1}}) == ({"d": {"x": 1}}, [])
    assert merge_data({"d": 1}, {"d": {"y": 1}}, {"d": {"x": 1}}) == ({"d": {"y": 1, "x": 1}}, [])
    assert merge_data({"d": [1]}, {"d": [1]}, {"d": {}}) == ({"d": {}}, [])


def test_rule_4_a_parent_that_became_no_dict_is_one_conflict(merge_data: Merge) -> None:
    base = {"d": {"x": {"y": 1, "z": 1}, "w": 1}}
    child = {"d": {"x": {"y": 2}, "w": 2}}
    assert merge_data(base, {"d": 7}, child) == ({"d": {"x": {"y": 2}, "w": 2}}, ["data.d"])
    assert merge_data(base, {"d": {"x": 7, "w": 1}}, child) == ({"d": {"x": {"y": 2}, "w": 2}}, ["data.d.x"])
    assert merge_data({"d": 1}, {"d": 2}, {"d": {"x": 1}}) == ({"d": {"x": 1}}, ["data.d"])
    assert merge_data({"d": 1}, {}, {"d": {}}) == ({"d": {}}, ["data.d"])


def test_rule_4_both_only_removed(merge_data: Merge) -> None:
    assert merge_data({"d": {"x": 1}}, {}, {"d": {}}) == ({}, [])
    assert merge_data({"d": {"x": {"y": 1}}}, {}, {"d": {"x": {}}}) == ({}, [])
    assert merge_data({"d": {"x": {"y": 1}, "z": 1}}, {"d": {"z": 1}}, {"d": {"x": {}, "z": 1}}) == (
        {"d": {"z": 1}},
        [],
    )


def test_rule_5_anything_else_is_taken_whole(merge_data: Merge) -> None:
    assert merge_data({"l": [1, 2]}, {"l": [1, 2]}, {"l": [2]}) == ({"l": [2]}, [])
    assert merge_data({"d": {"x": 1}}, {"d": {"x": 1}}, {"d": None}) == ({"d": None}, [])
    assert merge_data({"k": 1, "l": 1}, {"k": 1, "l": 1}, {"l": 1}) == ({"l": 1}, [])


def test_rule_5_two_different_changes_conflict_and_the_later_merge_wins(merge_data: Merge) -> None:
    assert merge_data({"k": 1}, {"k": 2}, {"k": 3}) == ({"k": 3}, ["data.k"])
    assert merge_data({"l": [1]}, {"l": [1, 2]}, {"l": [1, 3]}) == ({"l": [1, 3]}, ["data.l"])
    assert merge_data({}, {"k": 2}, {"k": 3}) == ({"k": 3}, ["data.k"])
    assert merge_data({"k": 1}, {}, {"k": 3}) == ({"k": 3}, ["data.k"])


def test_rule_5_the_same_value_on_both_sides_is_no_conflict(merge_data: Merge) -> None:
    assert merge_data({"k": 1}, {"k": 2}, {"k": 2}) == ({"k": 2}, [])
    assert merge_data({"k": 1}, {}, {}) == ({}, [])
    assert merge_data({"k": 1}, {"k": 2}, {"k": 2.0}) == ({"k": 2.0}, ["data.k"])


def test_rule_5_two_added_dicts_unite(merge_data: Merge) -> None:
    merged, conflicts = merge_data({}, {"d": {"p": 1, "both": 1}}, {"d": {"c": 1, "both": 2}})
    assert merged == {"d": {"p": 1, "both": 2, "c": 1}}
    assert conflicts == ["data.d.both"]


def test_rule_6_a_sibling_deleted_what_the_child_changed_inside(merge_data: Merge) -> None:
    base = {"d": {"x": 1, "y": 1, "n": {"z": 1, "w": 1}}}
    child = {"d": {"x": 2, "y": 1, "n": {"z": 2, "w": 1}}}
    assert merge_data(base, {}, child) == ({"d": {"x": 2, "n": {"z": 2}}}, ["data.d"])


def test_rule_6_the_child_deleted_what_a_sibling_changed_inside(merge_data: Merge) -> None:
    assert merge_data({"d": {"x": 1}}, {"d": {"x": 2}}, {}) == ({}, ["data.d"])
    assert merge_data({"d": {"x": 1}}, {"d": {"x": 1}}, {}) == ({}, [])


def test_rule_7_the_parents_keys_keep_their_place(merge_data: Merge) -> None:
    base = {"a": 1, "b": 1, "c": 1}
    merged, _ = merge_data(base, {"z": 0, "c": 1, "b": 1, "a": 1}, {"new2": 1, "c": 2, "new1": 1, "a": 3})
    assert text(merged) == text({"z": 0, "c": 2, "a": 3, "new2": 1, "new1": 1})


def test_rule_7_other_fields_stay_the_parents(merge: Merge) -> None:
    merged, _ = merge(
        state({}, owner="b"), {"title": "p", **state({"k": 1}, owner="p")}, state({"c": 1}, owner="c", mine=1)
    )
    assert text(merged) == text({"title": "p", **state({"k": 1, "c": 1}, owner="p")})


def test_rule_7_the_outcome_never_crosses(merge_data: Merge) -> None:
    assert merge_data({}, {}, {"__outcome": "success", "k": 1}) == ({"k": 1}, [])
    assert merge_data({"__outcome": "b"}, {"__outcome": "p"}, {}) == ({"__outcome": "p"}, [])
    assert merge_data({"__outcome": "b"}, {"__outcome": "p"}, {"__outcome": "c"}) == ({"__outcome": "p"}, [])
    assert merge_data({}, {}, {"d": {"__outcome": "inner"}}) == ({"d": {"__outcome": "inner"}}, [])


def test_rule_8_only_new_checkpoints_are_appended(merge: Merge) -> None:
    assert times(merge(state({}, [1, 2]), state({}, [1, 2, 3]), state({}, [1, 2, 4]))[0]) == [1, 2, 3, 4]
    assert times(merge(state({}, [1, 2]), state({}, [1, 2]), state({}, [1, 2]))[0]) == [1, 2]
    assert times(merge(state({}, [1, 2]), state({}, [1, 2]), state({}, []))[0]) == [1, 2]


def test_rule_8_the_largest_overlap_counts(merge: Merge) -> None:
    assert times(merge(state({}, [5, 5, 5]), state({}, [5, 5, 5]), state({}, [5, 5, 5, 5]))[0]) == [5, 5, 5, 5]
    assert times(merge(state({}, [1, 2, 1, 2]), state({}, []), state({}, [1, 2, 1, 2, 1]))[0]) == [1]
    assert times(merge(state({}, [9, 1, 2]), state({}, [9]), state({}, [1, 2, 3]))[0]) == [9, 3]


def test_rule_8_a_prefix_that_the_cap_cut_is_recognised(merge: Merge) -> None:
    base, child = list(range(50)), list(range(3, 53))
    assert times(merge(state({}, base), state({}, base), state({}, child))[0]) == child
    assert times(merge(state({}, base), state({}, [*base[1:], 99]), state({}, child))[0]) == [*base[4:], 99, 50, 51, 52]


def test_rule_8_the_newest_50_stay(merge: Merge) -> None:
    assert times(merge(None, state({}, range(40)), state({}, range(40, 80)))[0]) == list(range(30, 80))
    assert times(merge(None, state({}, range(9)), state({}, range(100, 170)))[0]) == list(range(120, 170))


def test_rule_9_only_new_files_are_appended(merge: Merge) -> None:
    base, parent = state({}, files=["a", "b", "c"]), state({}, files=["c", "p", "a"])
    merged, _ = merge(base, parent, state({}, files=["new", "b", "p", "new", "a", "last"]))
    assert merged["files"] == ["c", "p", "a", "new", "last"]
    assert merge(base, parent, state({}))[0]["files"] == ["c", "p", "a"]


def test_rule_10_a_conflict_is_a_path_without_content(merge_data: Merge) -> None:
    base = {"a": {"b c": [1], "d": {"é": 1}}}
    parent = {"a": {"b c": ["secret-1"], "d": {"é": "secret-2"}}}
    child = {"a": {"b c": ["secret-3"], "d": {"é": "secret-4"}}}
    assert merge_data(base, parent, child)[1] == ['data.a["b c"]', 'data.a.d["\\u00e9"]']


@given(family=own.families())
def test_the_merge_is_that_of_a_naive_reading_of_the_rules(twin: Any, family: Any) -> None:
    base, parent, child = family
    merged, conflicts = twin.merge(parent, child, mode="three_way", base=base)
    data, expected = oracle.merged_data(base["data"], parent["data"], child["data"])
    assert text(merged["data"]) == text(data)
    assert conflicts == [format_path("data", path) for path in expected]
    assert merged["checkpoints"] == oracle.joined(base["checkpoints"], parent["checkpoints"], child["checkpoints"])
    assert list(merged) == list(parent)
    assert merged.get("extra") == parent.get("extra")


@given(family=own.families(), unrelated=own.states())
def test_law_an_unchanged_child_changes_nothing(twin: Any, family: Any, unrelated: Any) -> None:
    base, parent, _ = family
    parent["checkpoints"] = parent["checkpoints"][-50:]
    unrelated["checkpoints"] = unrelated["checkpoints"][-50:]
    for now in (parent, unrelated):
        merged, conflicts = twin.merge(now, own.copied(base), mode="three_way", base=base)
        assert (text(merged), conflicts) == (text(now), [])


@given(family=own.families(), unrelated=own.states())
def test_law_a_lone_childs_data_arrives_whole(twin: Any, family: Any, unrelated: Any) -> None:
    base, _, child = family
    for last in (child, unrelated):
        merged, conflicts = twin.merge(own.copied(base), last, mode="three_way", base=base)
        expected = {key: value for key, value in last["data"].items() if key != "__outcome"}
        if "__outcome" in base["data"]:
            expected["__outcome"] = base["data"]["__outcome"]
        assert oracle.same(merged["data"], expected)
        assert conflicts == []


@st.composite
def disjoint(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What three children inherited, and what each has made of its own keys, at any depth."""
    values = st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=2) | st.just({"n": 1})
    owned = st.sampled_from([f"{child}{name}" for child in range(3) for name in "xy"])
    inner = st.dictionaries(owned, values, max_size=4)
    fixed = st.fixed_dictionaries({"shared": inner, "deep": st.fixed_dictionaries({"shared": inner})})
    data = draw(fixed) | draw(inner)
    base = state(data, [1, 2], ["f"])
    children = []
    for number in range(3):
        child = own.copied(base)
        for place in (child["data"], child["data"]["shared"], child["data"]["deep"]["shared"]):
            for name in "xy":
                change = draw(st.sampled_from(["none", "set", "remove"]))
                if change == "set":
                    place[f"{number}{name}"] = draw(values)
                elif change == "remove":
                    place.pop(f"{number}{name}", None)
        child["checkpoints"].append({"timestamp": 10 + number, "depth": 1})
        child["files"].append(f"file-{number}")
        children.append(child)
    return base, children


@given(family=disjoint())
def test_law_disjoint_changes_give_the_same_in_all_orders(twin: Any, family: Any) -> None:
    base, children = family
    results = []
    for order in itertools.permutations(children):
        now = base
        for child in order:
            now, conflicts = twin.merge(now, child, mode="three_way", base=base)
            assert conflicts == []
        results.append(now)
    for result in results:
        assert oracle.same(result["data"], results[0]["data"])
        assert sorted(times(result)) == [1, 2, 10, 11, 12]
        assert sorted(result["files"]) == ["f", "file-0", "file-1", "file-2"]


@given(family=own.families())
def test_law_no_key_that_the_child_left_alone_is_reverted(twin: Any, family: Any) -> None:
    base, parent, child = family
    merged, _ = twin.merge(parent, child, mode="three_way", base=base)

    def untouched(before: Any, last: Any, now: Any, after: Any) -> None:
        for key in {**before, **last, **now}:
            values = [value.get(key, oracle.ABSENT) for value in (before, last, now, after)]
            if oracle.same(values[0], values[1]):
                assert oracle.same(values[2], values[3]), key
            elif all(type(value) is dict for value in values):
                untouched(*values)

    untouched(*(one["data"] for one in (base, child, parent, merged)))


@given(family=own.families())
def test_law_merging_the_same_child_again_changes_no_data(twin: Any, family: Any) -> None:
    base, parent, child = family
    once, _ = twin.merge(parent, child, mode="three_way", base=base)
    twice, conflicts = twin.merge(once, child, mode="three_way", base=base)
    assert text(twice["data"]) == text(once["data"])
    assert twice["files"] == once["files"]
    assert conflicts == []
