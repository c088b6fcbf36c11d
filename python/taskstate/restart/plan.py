"""What is to be done next, and why: a pure function of an assessment."""

from __future__ import annotations

from collections.abc import Iterator

from .assess import CONTRADICTS
from .assessment import Assessment, Item
from .transitions import Op, Plan, Transition

_ENDS_WHEN: dict[Op, str] = {
    "reconcile": "the system written to has said what became of it, and its answer is recorded",
    "observe": "the version that it has now is recorded",
    "attach": "the file is recorded as an unchecked artifact",
    "validate": "the verifier has passed or failed it, and its evidence is recorded",
    "recheck": "the verifier has passed or failed it by the current criteria, and its evidence is recorded",
    "make": "its artifact is written and recorded, unchecked",
    "remake": "its new artifact is written and recorded, unchecked, and the old one is kept as history",
    "complete": "an assessment of the record finds nothing missing",
}


def plan(assessment: Assessment) -> Plan:
    """The transitions that lead from what is true to the task's completion, each with the records that justify it.

    Effects whose fate is unknown come first, then sources, then units, each after those that it is made from. What
    is verified and still holds isn't repeated, and no transition writes to the outside. Source: the restart lesson.
    """
    due = assessment.status == "open"
    transitions = tuple(_transitions(assessment)) if due else ()
    return Plan(
        task_id=assessment.task_id,
        state_version=assessment.state_version,
        scope=assessment.scope,
        transitions=transitions,
        resumes_from=tuple(item.id for item in assessment.items if item.kind == "unit" and item.verdict == "keep"),
        unresolved=(*assessment.unresolved, *_open_ends(assessment)),
    )


def _transitions(assessment: Assessment) -> Iterator[Transition]:
    units = [item for item in assessment.items if item.kind == "unit"]
    for item in assessment.items:
        if item.kind == "effect" and item.verdict == "reconcile" and CONTRADICTS not in item.because:
            yield _step("reconcile", item)
    for item in assessment.items:
        if item.kind == "source" and item.verdict in ("stale", "validate") and item.freshness != "gone":
            yield _step("observe", item)
    yield from _works(units)
    if units and not any(item.blocked for item in units):
        because = tuple(f"unit:{item.id}" for item in units)
        yield Transition(op="complete", subject=assessment.task_id, because=because, ends_when=_ENDS_WHEN["complete"])


def _works(units: list[Item]) -> Iterator[Transition]:
    """What is to be done to each unit: checks of what is there, then work, each unit after those it is made from."""
    for item in units:
        if item.verdict in ("validate", "recheck"):
            yield _step("validate" if item.verdict == "validate" else "recheck", item)
    early = {item.id: item for item in units if item.fresh_inputs}
    for item in early.values():  # a partial one takes in what is there before the others are made
        yield from _worked(item, again=False)
    for item in units:
        if item.verdict in ("pending", "redo", "stale") and not item.blocked:
            yield from _worked(item, again=item.id in early)


def _worked(item: Item, *, again: bool) -> Iterator[Transition]:
    if again or item.verdict != "pending":
        op: Op = "remake"
    else:
        op = "make" if item.found_at is None else "attach"
    yield _step(op, item)
    yield _step("validate", item)


def _step(op: Op, item: Item) -> Transition:
    because = (f"{item.kind}:{item.id} is judged {item.verdict}", *item.because)
    return Transition(op=op, subject=item.id, because=because, ends_when=_ENDS_WHEN[op])


def _open_ends(assessment: Assessment) -> Iterator[str]:
    attached = {item.found_at for item in assessment.items}
    for item in assessment.items:
        if item.kind == "file" and item.id not in attached:
            yield f"file {item.id} is in no record: attach it or clean it up by a policy of the application"
        elif item.kind == "source" and item.freshness == "gone":
            yield f"source {item.id} is gone"
        elif item.blocked:
            yield f"unit {item.id} can't be made now"
        elif item.kind == "effect" and CONTRADICTS in item.because:
            yield f"effect {item.id} was observed to be otherwise than its evidence says"
        elif item.kind == "effect" and item.verdict == "reconcile":
            yield f"effect {item.id} is unsettled"
