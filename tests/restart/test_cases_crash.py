"""The restart lesson's cases of a crash between writing a file and recording it."""

from __future__ import annotations

import pytest

from taskstate.restart import RestartRecord, SeenFile, assess, plan
from taskstate.restart.parts import MadeFrom

from .support import (
    World,
    finish,
    follow,
    keys,
    review,
    review_data,
    sha,
)

pytestmark = pytest.mark.once


def orphaned() -> tuple[RestartRecord, World]:
    """P4's extract was written, and the process ended before it was recorded."""
    data = review_data()
    data["completion_rule"]["units"]["P4"] |= {"location": "out/P4.json"}
    record = RestartRecord.from_data(data)
    world = World.of(record)
    world.files["out/P4.json"] = SeenFile(sha256=sha("P4"), size=2)
    world.orphans["out/P4.json"] = MadeFrom(sources={"P4": 1}, objective=2, criteria=3)
    return record, world


def test_crash_between_writing_a_file_and_indexing_it() -> None:
    """The file is found, attached unchecked, and trusted after its check."""
    record, world = orphaned()
    found = assess(record, world.look(record))
    assert found.item("file", "out/P4.json").verdict == "orphan"
    assert found.item("unit", "P4").found_at == "out/P4.json"
    due = keys(plan(found))
    assert due.index("attach:P4") + 1 == due.index("validate:P4")
    assert "make:P4" not in due
    attached, _ = follow(record, world, only=["attach:P4"])
    assert attached.completion_rule.units["P4"].state == "present"
    done, _ = finish(record, world)
    assert done.artifacts[done.completion_rule.units["P4"].artifact or ""].sha256 == sha("P4")


def test_crash_between_writing_a_file_and_indexing_it_when_the_file_is_bad() -> None:
    """It is attached, fails its check, and the step is done again."""
    record, world = orphaned()
    world.bad.add("out/P4.json")
    done, steps = finish(record, world)
    assert [key for key in steps if key.endswith(":P4")] == ["attach:P4", "validate:P4", "remake:P4", "validate:P4"]
    assert done.status == "done"


def test_crash_that_leaves_a_file_that_no_unit_expects() -> None:
    """It is left to the policy: the plan neither takes it nor removes it, and names it."""
    record = review()
    world = World.of(record)
    world.files["out/odd"] = SeenFile(sha256=sha("odd"), size=3)
    found = assess(record, world.look(record))
    assert found.item("file", "out/odd").verdict == "orphan"
    due = plan(found)
    assert "out/odd" not in {transition.subject for transition in due.transitions}
    assert any("out/odd" in text and "policy" in text for text in due.unresolved)
    finish(record, world)
