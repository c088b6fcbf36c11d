"""The restart lesson's cases of a task that changed while it was paused."""

from __future__ import annotations

from typing import Any

import pytest

from taskstate.restart import RestartRecord, assess, change, plan
from taskstate.restart.parts import Unit
from taskstate.restart.transitions import (
    NewCriteria,
    NewObjective,
    NewUnits,
    SetStatus,
)

from .support import (
    World,
    finish,
    keys,
    reference,
    sha,
    verdicts,
)

pytestmark = pytest.mark.once
SECTIONS = ("S1", "S2", "S3", "S4", "S5")


def report(**fields: Any) -> RestartRecord:
    """A report of five sections: three are checked, the fourth isn't, the fifth isn't begun; paused."""
    units: dict[str, Any] = {name: {"sources": ["notes"]} for name in SECTIONS}
    for name in SECTIONS[:3]:
        units[name] |= {"artifact": f"{name}.md", "state": "verified"}
    units["S4"] |= {"artifact": "S4.md", "state": "present"}
    checked = {"S1": "passed", "S2": "passed", "S3": "passed", "S4": "none"}
    data: dict[str, Any] = {
        "task_id": "report",
        "status": "paused",
        "objective": {"version": 2, "text": "Write five sections"},
        "criteria": {"version": 3, "items": {"sources": "Each claim names its source"}},
        "sources": {"notes": {"version": 1}},
        "artifacts": {
            f"{name}.md": reference(f"{name}.md", checked=state, sources={"notes": 1})
            for name, state in checked.items()
        },
        "completion_rule": {"units": units},
    }
    return RestartRecord.from_data({**data, **fields})


def with_sixth(record: RestartRecord) -> RestartRecord:
    """The user adds a section: another objective, and six units."""
    record = change(record, NewObjective(text="Write six sections", at=50))
    units = {name: Unit(sources=("notes",)) for name in (*SECTIONS, "S6")}
    return change(record, NewUnits(units=units))


def test_a_sixth_section_is_added_while_paused() -> None:
    """Three stay, the fourth is validated, the fifth and sixth are to be made, and the old objective is on record."""
    before = report()
    record = with_sixth(before)
    assert record.status == "paused"
    assert record.objective.version == 3
    assert record.objective_history == (before.objective,)
    assert record.artifacts == before.artifacts
    assert len(record.completion_rule.units) == 6
    assert keys(plan(assess(record, World.of(record).look(record)))) == []
    record = change(record, SetStatus(status="open"))
    world = World.of(record)
    found = assess(record, world.look(record))
    kept = dict.fromkeys(SECTIONS[:3], "keep")
    assert verdicts(found) == {**kept, "S4": "validate", "S5": "pending", "S6": "pending"}
    assert not found.complete
    done, steps = finish(record, world)
    assert steps[:5] == ["validate:S4", "make:S5", "validate:S5", "make:S6", "validate:S6"]
    assert done.status == "done"


def test_a_sixth_section_is_added_and_the_inputs_moved_meanwhile() -> None:
    """The three checked ones stay only if what they were made from still holds."""
    record = change(with_sixth(report()), SetStatus(status="open"))
    world = World.of(record)
    world.sources["notes"] = 2
    found = assess(record, world.look(record))
    assert verdicts(found) == {**dict.fromkeys(SECTIONS[:4], "stale"), "S5": "pending", "S6": "pending"}


def test_a_sixth_section_is_added_that_also_changes_the_criteria() -> None:
    """What is there is checked again by the new criteria, not made again; the old criteria stay on record."""
    before = report()
    record = change(with_sixth(before), NewCriteria(items={"sources": "As before", "length": "A page each"}, at=60))
    assert record.criteria.version == 4
    assert record.criteria_history == (before.criteria,)
    record = change(record, SetStatus(status="open"))
    world = World.of(record)
    found = assess(record, world.look(record))
    kept = dict.fromkeys(SECTIONS[:3], "recheck")
    assert verdicts(found) == {**kept, "S4": "validate", "S5": "pending", "S6": "pending"}
    assert any("criteria 3" in reason and "4" in reason for reason in found.item("unit", "S1").because)
    done, steps = finish(record, world)
    assert steps[:4] == ["recheck:S1", "recheck:S2", "recheck:S3", "validate:S4"]
    assert not [key for key in steps if key.startswith("remake:")]
    assert all(done.artifacts[f"{name}.md"].sha256 == sha(f"{name}.md") for name in SECTIONS[:4])


def test_a_task_that_was_done_is_open_again_after_a_sixth_section() -> None:
    record = change(report(), SetStatus(status="open"))
    done, _ = finish(record, World.of(record))
    again = with_sixth(done)
    assert again.status == "open"
    assert verdicts(assess(again, World.of(again).look(again)))["S6"] == "pending"
