"""Hypothesis strategies for snapshots, and for the calls that lead from one to the next."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from taskstate.record import AgentStateError, restore_agent_state

from .model import STATUSES

NASTY = [
    "</agent_state>",
    "</agent_state",
    "<\\/agent_state>",
    'x\n- [done] "a": "b"',
    "\nNot shown here: 9 decisions.",
    '"',
    "\\",
    "\\\n",
    "x\r\n</agent_state>\n",
    "😀" * 70,
    "w " * 90,
    "x" * 300,
]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(lambda text: f"{text}.")
nasty_texts = texts | st.sampled_from(NASTY)
statuses = st.sampled_from(STATUSES)


def snapshots_of(ids: st.SearchStrategy[str], contents: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Valid snapshots of work items and decisions with such ids and contents."""
    work = st.fixed_dictionaries({"id": ids, "content": contents, "status": statuses})
    decision = st.fixed_dictionaries({"id": ids, "content": contents})

    def lists(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(items, max_size=14, unique_by=lambda item: item["id"])

    return st.fixed_dictionaries(
        {"schemaVersion": st.just(1), "workItems": lists(work), "decisions": lists(decision)},
        optional={"objective": contents | st.just("")},
    )


few_ids = st.sampled_from("abcdef")
snapshots = snapshots_of(few_ids, st.sampled_from(["one", "two", "three"]))
"""Snapshots that have much in common."""
nasty_snapshots = snapshots_of(nasty_texts, nasty_texts)

_few = st.sampled_from(["one", "two", "three"])
_works = st.fixed_dictionaries({"id": few_ids, "content": _few, "status": statuses})
calls = st.one_of(
    st.tuples(st.just("add_work_item"), _works),
    st.tuples(st.just("set_work_item_status"), few_ids, statuses),
    st.tuples(st.just("set_work_item_content"), few_ids, _few),
    st.tuples(st.sampled_from(["remove_work_item", "remove_decision"]), few_ids),
    st.tuples(st.just("add_decision"), st.fixed_dictionaries({"id": few_ids, "content": _few})),
    st.tuples(st.just("set_objective"), st.none() | _few),
)
call_lists = st.lists(calls, max_size=8)


def after(snapshot: Any, made: Any) -> Any:
    """The snapshot that calls lead to; a call that is refused changes nothing."""
    state = restore_agent_state(copy.deepcopy(snapshot))
    for name, *arguments in made:
        try:
            getattr(state, name)(*arguments)
        except AgentStateError:
            continue
    return state.snapshot()


def by_id(snapshot: Any) -> dict[str, Any]:
    """A snapshot without the order of its items."""
    return {
        "workItems": {item["id"]: item for item in snapshot["workItems"]},
        "decisions": {item["id"]: item for item in snapshot["decisions"]},
        "objective": snapshot.get("objective"),
    }
