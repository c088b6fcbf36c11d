"""What a child did with its copy comes back into its parent's: everything that it changed, and nothing else."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskstate.record import restore_agent_state
from taskstate.record.merging import Merged, merge

from .strategies import after, by_id, call_lists, snapshots
from .support import FULL

KINDS = ("workItems", "decisions")


def merged(parent: Any, child: Any, base: Any) -> Merged:
    """The merge, which must leave its arguments alone and give what can be restored."""
    kept = copy.deepcopy((parent, child, base))
    result = merge(parent, child, base)
    assert (parent, child, base) == kept
    assert restore_agent_state(result.snapshot, unknown="reject").snapshot() == result.snapshot
    assert list(result.snapshot) == list(restore_agent_state(result.snapshot).snapshot())
    return result


def snapshot(*work: tuple[str, str, str], decisions: Any = (), **more: Any) -> Any:
    items = [{"id": item_id, "content": content, "status": status} for item_id, content, status in work]
    given = [{"id": item_id, "content": content} for item_id, content in decisions]
    return {"schemaVersion": 1, "workItems": items, "decisions": given, **more}


def expected_item(parent: Any, child: Any, base: Any) -> tuple[Any, str]:
    """One item by the rules, written out: what it becomes, and whether that is a conflict or a rejection."""
    if child in (base, parent):
        return parent, ""
    if parent == base:
        return child, ""
    if base is None:
        return (parent, "rejected") if parent["content"] != child["content"] else (child, "conflict")
    if child is None or parent is None:
        return child, "conflict"
    fields = {name: child[name] if child[name] != base[name] else parent[name] for name in child}
    return fields, "conflict"


@given(parent=snapshots, child=snapshots, base=snapshots)
def test_every_item_becomes_what_the_rules_say(parent: Any, child: Any, base: Any) -> None:
    result = merged(parent, child, base)
    sides = [by_id(side) for side in (parent, child, base)]
    found, wanted = by_id(result.snapshot), {"conflict": set(), "rejected": set()}
    for kind in KINDS:
        for item_id in {item_id for side in sides for item_id in side[kind]}:
            item, fault = expected_item(*(side[kind].get(item_id) for side in sides))
            assert found[kind].get(item_id) == item
            if fault:
                wanted[fault].add(f"{kind}.{item_id}")
    now, mine, begun = (side["objective"] for side in sides)
    assert found["objective"] == (now if mine == begun else mine)
    if mine not in (begun, now) and now != begun:
        wanted["conflict"].add("objective")
    assert set(result.conflicts) == wanted["conflict"]
    assert set(result.rejected) == wanted["rejected"]
    assert len(result.conflicts + result.rejected) == len(wanted["conflict"] | wanted["rejected"])


@given(base=snapshots, made=call_lists)
def test_an_unchanged_child_leaves_the_parent_as_it_is(base: Any, made: Any) -> None:
    parent = after(base, made)
    assert merged(parent, base, base) == Merged(parent)


@given(base=snapshots, made=call_lists)
def test_a_lone_childs_changes_arrive_whole(base: Any, made: Any) -> None:
    child = after(base, made)
    result = merged(base, child, base)
    assert by_id(result.snapshot) == by_id(child)
    assert (result.conflicts, result.rejected) == ([], [])


@given(base=snapshots, made=call_lists)
def test_the_same_changes_on_both_sides_are_no_conflict(base: Any, made: Any) -> None:
    both = after(base, made)
    assert merged(both, copy.deepcopy(both), base) == Merged(both)


@given(base=snapshots, made=call_lists, other=call_lists)
def test_nothing_that_the_child_left_alone_is_reverted(base: Any, made: Any, other: Any) -> None:
    parent, child = after(base, made), after(base, other)
    now, mine, begun = by_id(parent), by_id(child), by_id(base)
    found = by_id(merged(parent, child, base).snapshot)
    for kind in KINDS:
        for item_id in now[kind].keys() | begun[kind].keys():
            if mine[kind].get(item_id) == begun[kind].get(item_id):
                assert found[kind].get(item_id) == now[kind].get(item_id)


@given(base=snapshots, made=st.lists(call_lists, min_size=3, max_size=3))
def test_disjoint_changes_of_three_children_give_one_result_in_all_orders(base: Any, made: Any) -> None:
    owned = ["ab", "cd", "ef"]

    def target(call: Any) -> str:
        return call[1]["id"] if type(call[1]) is dict else call[1] or ""

    children = [
        after(base, [call for call in calls if (target(call) in ids if call[0] != "set_objective" else ids == "ab")])
        for ids, calls in zip(owned, made, strict=True)
    ]
    results = []
    for order in itertools.permutations(children):
        parent = base
        for child in order:
            result = merged(parent, child, base)
            assert (result.conflicts, result.rejected) == ([], [])
            parent = result.snapshot
        results.append(by_id(parent))
    assert all(result == results[0] for result in results)


@given(base=snapshots, made=call_lists, other=call_lists)
def test_the_parents_items_keep_their_places_and_new_ones_follow(base: Any, made: Any, other: Any) -> None:
    parent, child = after(base, made), after(base, other)
    found = merged(parent, child, base).snapshot
    for kind in KINDS:
        before, mine = ([item["id"] for item in side[kind]] for side in (parent, child))
        ids = [item["id"] for item in found[kind]]
        kept = [item_id for item_id in before if item_id in ids]
        assert ids[: len(kept)] == kept
        new = [item_id for item_id in ids[len(kept) :] if item_id not in {item["id"] for item in base[kind]}]
        assert new == [item_id for item_id in mine if item_id in new]


BASE = snapshot(("a", "plan", "open"), decisions=[("d", "wood")], objective="boat")


def test_where_both_changed_an_item_each_field_is_kept_and_the_later_merge_wins() -> None:
    parent = snapshot(("a", "plan well", "blocked"), decisions=[("d", "steel")], objective="ship")
    child = snapshot(("a", "plan", "done"), decisions=[("d", "glass")], objective="raft")
    result = merged(parent, child, BASE)
    assert result.snapshot == snapshot(("a", "plan well", "done"), decisions=[("d", "glass")], objective="raft")
    assert result.conflicts == ["workItems.a", "decisions.d", "objective"]
    assert result.rejected == []


def test_changes_of_two_fields_of_one_item_are_both_kept_and_named() -> None:
    result = merged(snapshot(("a", "plan", "done")), snapshot(("a", "draw", "open")), snapshot(("a", "plan", "open")))
    assert result == Merged(snapshot(("a", "draw", "done")), ["workItems.a"])


def test_what_one_side_removed_and_the_other_changed_is_as_the_child_left_it() -> None:
    gone, changed, base = snapshot(), snapshot(("a", "plan", "done")), snapshot(("a", "plan", "open"))
    assert merged(gone, changed, base) == Merged(changed, ["workItems.a"])
    assert merged(changed, gone, base) == Merged(gone, ["workItems.a"])
    gone, changed, base = (snapshot(decisions=given) for given in ([], [("d", "steel")], [("d", "wood")]))
    assert merged(gone, changed, base) == Merged(changed, ["decisions.d"])
    assert merged(changed, gone, base) == Merged(gone, ["decisions.d"])


def test_a_removal_on_one_side_or_on_both_is_no_conflict() -> None:
    gone = snapshot()
    for parent, child in ((BASE, gone), (gone, BASE), (gone, gone)):
        assert merged(parent, child, BASE) == Merged(gone)


def test_a_new_id_with_two_contents_keeps_the_first_and_rejects_the_second() -> None:
    parent = snapshot(("n", "first", "open"), decisions=[("m", "first")])
    child = snapshot(("n", "second", "done"), ("o", "other", "open"), decisions=[("m", "second")])
    result = merged(parent, child, snapshot())
    assert result.snapshot == snapshot(("n", "first", "open"), ("o", "other", "open"), decisions=[("m", "first")])
    assert (result.conflicts, result.rejected) == ([], ["workItems.n", "decisions.m"])


def test_the_same_new_item_on_both_sides_is_one_and_no_conflict() -> None:
    both = snapshot(("n", "new", "open"), decisions=[("m", "new")])
    assert merged(both, copy.deepcopy(both), snapshot()) == Merged(both)


def test_a_new_item_with_another_status_on_each_side_has_the_childs() -> None:
    result = merged(snapshot(("n", "new", "open")), snapshot(("n", "new", "done")), snapshot())
    assert result == Merged(snapshot(("n", "new", "done")), ["workItems.n"])


def test_a_work_item_and_a_decision_of_one_id_do_not_meet() -> None:
    result = merged(snapshot(("n", "x", "open")), snapshot(decisions=[("n", "y")]), snapshot())
    assert result == Merged(snapshot(("n", "x", "open"), decisions=[("n", "y")]))


@pytest.mark.parametrize(
    ("parent", "child", "base", "wanted", "conflict"),
    [
        ("p", "b", "b", "p", False),
        ("b", "c", "b", "c", False),
        ("p", "c", "b", "c", True),
        ("c", "c", "b", "c", False),
        (None, "b", "b", None, False),
        ("b", None, "b", None, False),
        (None, None, "b", None, False),
        ("p", None, "b", None, True),
        (None, "c", "b", "c", True),
        (None, "c", None, "c", False),
        ("p", None, None, "p", False),
        ("p", "c", None, "c", True),
        ("", None, None, "", False),
        (None, "", None, "", False),
    ],
)
def test_an_objective_is_merged_like_an_item(parent: Any, child: Any, base: Any, wanted: Any, conflict: bool) -> None:
    sides = [snapshot(**({} if one is None else {"objective": one})) for one in (parent, child, base)]
    result = merged(*sides)
    assert result.snapshot.get("objective") == wanted
    assert ("objective" in result.snapshot) == (wanted is not None)
    assert result.conflicts == (["objective"] if conflict else [])


@pytest.mark.parametrize(
    ("item_id", "path"),
    [
        ("a", "workItems.a"),
        ("a.b", 'workItems["a.b"]'),
        ("a[0]", 'workItems["a[0]"]'),
        ("a\nb", 'workItems["a\\nb"]'),
        ('"', 'workItems["\\""]'),
        ("é", 'workItems["\\u00e9"]'),
    ],
)
def test_a_path_names_an_odd_id_so_that_it_can_be_told_from_others(item_id: str, path: str) -> None:
    result = merged(snapshot((item_id, "x", "open")), snapshot((item_id, "y", "open")), snapshot())
    assert result.rejected == [path]


@given(base=snapshots, first=call_lists, second=call_lists)
def test_a_child_merged_twice_changes_nothing_the_second_time(base: Any, first: Any, second: Any) -> None:
    parent, child = after(base, first), after(base, second)
    once = merged(parent, child, base)
    assume(not once.rejected)
    assert by_id(merged(once.snapshot, child, base).snapshot) == by_id(once.snapshot)


def test_twenty_thousand_items_are_merged() -> None:
    base = snapshot(*((f"i{n}", "c", "open") for n in range(20_000)))
    child = copy.deepcopy(base)
    for item in child["workItems"]:
        item["status"] = "done"
    parent = copy.deepcopy(base)
    for item in parent["workItems"]:
        item["content"] = "d"
    result = merge(parent, child, base)
    assert all((item["content"], item["status"]) == ("d", "done") for item in result.snapshot["workItems"])
    assert len(result.conflicts) == 20_000


def test_a_childs_status_and_removal_come_back_to_a_full_state() -> None:
    child = restore_agent_state(FULL)
    child.set_work_item_status("b", "done")
    child.remove_decision("z")
    result = merged(FULL, child.snapshot(), FULL)
    assert result == Merged(child.snapshot())
