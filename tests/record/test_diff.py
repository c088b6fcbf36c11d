"""What changed between two agent states: enough to get from the one to the other, and no more."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.record import create_agent_state, diff, restore_agent_state

from .strategies import after, by_id, call_lists, snapshots
from .support import FULL, refusal

NOTHING: dict[str, Any] = {
    "added": {"workItems": [], "decisions": []},
    "removed": {"workItems": [], "decisions": []},
    "changed": {"workItems": [], "decisions": []},
}


def applied(before: Any, difference: Any) -> dict[str, Any]:
    """`before` with a difference applied, as a beginner would do it."""
    result = by_id(copy.deepcopy(before))
    for kind in ("workItems", "decisions"):
        for item in difference["removed"][kind]:
            assert result[kind].pop(item["id"]) == item
        for item in difference["added"][kind]:
            assert item["id"] not in result[kind]
            result[kind][item["id"]] = item
        for change in difference["changed"][kind]:
            item = result[kind][change["id"]]
            assert change["before"].keys() == change["after"].keys()
            assert change["before"].items() <= item.items()
            item.update(change["after"])
    if "objective" in difference["changed"]:
        assert difference["changed"]["objective"]["before"] == result["objective"]
        result["objective"] = difference["changed"]["objective"]["after"]
    return result


def test_a_difference_says_what_was_added_removed_and_changed() -> None:
    state = restore_agent_state(FULL)
    state.add_work_item({"id": "d", "content": "paint it", "status": "blocked"})
    state.remove_work_item("a")
    state.set_work_item_status("b", "done")
    state.set_work_item_content("c", "give it away")
    state.set_work_item_status("c", "blocked")
    state.remove_decision("z")
    state.add_decision({"id": "z", "content": "in red"})
    state.add_decision({"id": "y", "content": "with oars"})
    state.remove_decision("a")
    state.set_objective("two boats")
    assert diff(FULL, state) == {
        "added": {
            "workItems": [{"id": "d", "content": "paint it", "status": "blocked"}],
            "decisions": [{"id": "y", "content": "with oars"}],
        },
        "removed": {
            "workItems": [{"id": "a", "content": "draw the plan", "status": "done"}],
            "decisions": [{"id": "a", "content": "of wood"}],
        },
        "changed": {
            "workItems": [
                {"id": "b", "before": {"status": "in_progress"}, "after": {"status": "done"}},
                {
                    "id": "c",
                    "before": {"content": "sell it", "status": "open"},
                    "after": {"content": "give it away", "status": "blocked"},
                },
            ],
            "decisions": [{"id": "z", "before": {"content": "in blue"}, "after": {"content": "in red"}}],
            "objective": {"before": "a boat", "after": "two boats"},
        },
    }


@pytest.mark.parametrize(("before", "after"), [(None, "x"), ("x", None), (None, ""), ("", None), ("x", "y")])
def test_an_objective_that_comes_goes_or_changes_is_a_change(before: Any, after: Any) -> None:
    old, new = (create_agent_state({} if one is None else {"objective": one}) for one in (before, after))
    assert diff(old, new) == {
        **NOTHING,
        "changed": {**NOTHING["changed"], "objective": {"before": before, "after": after}},
    }


@given(source=snapshots, seed=st.randoms(use_true_random=False))
def test_order_does_not_count(source: Any, seed: random.Random) -> None:
    shuffled = copy.deepcopy(source)
    seed.shuffle(shuffled["workItems"])
    seed.shuffle(shuffled["decisions"])
    assert diff(source, shuffled) == diff(source, source) == NOTHING


def test_a_work_item_and_a_decision_of_one_id_are_two_things() -> None:
    before = create_agent_state({"workItems": [{"id": "a", "content": "c"}]})
    found = diff(before, create_agent_state({"decisions": [{"id": "a", "content": "c"}]}))
    assert found["removed"]["workItems"] == [{"id": "a", "content": "c", "status": "open"}]
    assert found["added"]["decisions"] == [{"id": "a", "content": "c"}]
    assert found["changed"] == NOTHING["changed"]


@given(before=snapshots, later=snapshots)
def test_a_difference_leads_from_the_one_to_the_other(before: Any, later: Any) -> None:
    found = diff(before, later)
    assert applied(before, found) == by_id(later)
    back = diff(later, before)
    assert by_id({**back["added"]}) == by_id({**found["removed"]})
    assert all(change["before"] for kind in ("workItems", "decisions") for change in found["changed"][kind])


@given(before=snapshots, made=call_lists)
def test_the_difference_that_calls_make_leads_to_what_they_made(before: Any, made: Any) -> None:
    later = after(before, made)
    assert applied(before, diff(before, later)) == by_id(later)


@given(before=snapshots, later=snapshots)
def test_a_difference_is_plain_data_of_its_own(before: Any, later: Any) -> None:
    kept = copy.deepcopy((before, later))
    old, new = restore_agent_state(before), restore_agent_state(later)
    found = diff(before, later)
    assert json.loads(json.dumps(found)) == found == diff(old, new) == diff(before, new) == diff(old, later)
    _spoil(found)
    assert (before, later) == kept == (old.snapshot(), new.snapshot())


def _spoil(value: Any) -> None:
    """Change every dict and list of a value."""
    for inside in list(value.values() if type(value) is dict else value):
        if type(inside) is dict or type(inside) is list:
            _spoil(inside)
    if type(value) is dict:
        value["spoiled"] = True
    else:
        value.append("spoiled")


@pytest.mark.parametrize(
    ("broken", "path"),
    [
        (None, "snapshot"),
        ([], "snapshot"),
        ({}, "schemaVersion"),
        ({**FULL, "schemaVersion": 2}, "schemaVersion"),
        (
            {**FULL, "workItems": [FULL["workItems"][0], {"id": "x", "content": "c", "status": "todo"}]},
            "workItems[1].status",
        ),
        ({**FULL, "decisions": [FULL["decisions"][0]] * 2}, "decisions[1].id"),
    ],
)
def test_what_is_no_snapshot_is_refused_on_either_side(broken: Any, path: str) -> None:
    assert refusal(diff, broken, FULL).path == path
    assert refusal(diff, FULL, broken).path == path


def test_fields_that_a_snapshot_does_not_have_are_no_difference() -> None:
    noted = copy.deepcopy(FULL)
    noted["workItems"][0]["note"] = "x"  # type: ignore[typeddict-unknown-key]
    assert diff(FULL, {**noted, "extra": 1}) == NOTHING  # type: ignore[typeddict-unknown-key]
