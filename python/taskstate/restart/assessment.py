"""What an assessment says."""

from __future__ import annotations

from typing import Literal, TypeAlias

from .parts import Count, Id, Millis, Part, Sha256, Size, Status, Text

Kind: TypeAlias = Literal["source", "unit", "artifact", "superseded", "file", "effect"]
Verdict: TypeAlias = Literal[
    "keep", "validate", "pending", "redo", "stale", "history", "recheck", "orphan", "reconcile", "settled"
]
"""What is to become of something:

- `keep`: verified, intact, and of the versions that the objective is about;
- `validate`: there, but unchecked, or something that it depends on wasn't looked at;
- `pending`: required, and not begun, or begun by somebody who is gone;
- `redo`: missing, altered, failed its check, or made from something that is;
- `stale`: intact, but a source or the objective moved on, or it expired;
- `history`: evidence of an earlier version;
- `recheck`: checked under earlier criteria;
- `orphan`: a file that no record names;
- `reconcile`: an effect of which nobody knows what became;
- `settled`: an effect of which it is known.
"""
Integrity: TypeAlias = Literal["intact", "altered", "missing", "not_seen", "none"]
"""Whether the bytes are those that were recorded; it says nothing about the outside."""
Freshness: TypeAlias = Literal["current", "moved", "gone", "expired", "not_seen", "fixed", "none"]
"""Whether what it was made from is still what the sources say now; it says nothing about the bytes."""
InScope: TypeAlias = Literal["in", "out", "none"]
"""Whether it was made from the versions that the objective is about."""


class Item(Part):
    """One thing's verdict; the four columns answer different questions, `because` names records and observations.

    Of a unit, `made_from` are the units below it, `fresh_inputs` those of them that a partial one could take in
    before the others are there, and `found_at` is a file without a record where its artifact is expected. One that
    is `blocked` can't be made now: something that it is made from is gone.
    """

    kind: Kind
    id: Text
    verdict: Verdict
    integrity: Integrity = "none"
    freshness: Freshness = "none"
    scope: InScope = "none"
    prior: str = ""
    because: tuple[str, ...] = ()
    made_from: tuple[Id, ...] = ()
    fresh_inputs: tuple[Id, ...] = ()
    found_at: Text | None = None
    blocked: bool = False


class Missing(Part):
    """What stands between a task and its completion."""

    what: Literal["unit", "criterion", "effect"]
    id: Text
    reason: Text


class Assessment(Part):
    """What is true of a task now, and what is missing until it is done.

    `complete` only if every required unit is verified, intact, current and in scope, the criteria are covered, and no
    effect is unsettled. `scope` is shown wherever the result is.
    """

    task_id: Id
    state_version: Size
    generation: Count
    record_sha256: Sha256
    at: Millis
    status: Status
    scope: str
    items: tuple[Item, ...]
    complete: bool
    missing: tuple[Missing, ...]
    unresolved: tuple[str, ...] = ()

    def item(self, kind: Kind, id: str) -> Item:
        """The verdict on one thing; KeyError where there is none."""
        for item in self.items:
            if item.kind == kind and item.id == id:
                return item
        raise KeyError(f"{kind} {id}")
