"""Hypothesis strategies for an agent state's snapshots, for what is nearly one, and for calls of a record's methods."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from . import strategies as own

STATUSES = ["open", "in_progress", "blocked", "done"]
ODD_TEXTS = [
    "",
    " ",
    "\ufeff\u3000",
    "\u0085",
    "\x1c",
    "\u200b",
    "a\nb",
    "a\x00",
    "\x7f",
    "\ud800",
    "x\udfffy",
    "q" * 300,
]

few_ids = st.sampled_from([*"abcd", "é", "日", "😀", "a\nb", "\x9f", "i" * 201])
good_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(lambda text: f"{text}.")
texts = few_ids | good_texts
odd_texts = st.sampled_from(ODD_TEXTS)
statuses = st.sampled_from(STATUSES)
work_items = st.fixed_dictionaries({"id": texts, "content": texts, "status": statuses})
decisions = st.fixed_dictionaries({"id": texts, "content": texts})


@st.composite
def snapshots(draw: st.DrawFn) -> dict[str, Any]:
    """A valid snapshot, its fields in any order."""
    fields: dict[str, Any] = {
        "schemaVersion": 1,
        "workItems": draw(st.lists(work_items, max_size=5, unique_by=lambda item: item["id"])),
        "decisions": draw(st.lists(decisions, max_size=3, unique_by=lambda item: item["id"])),
    }
    if draw(st.booleans()):
        fields["objective"] = draw(good_texts | st.just(""))
    return {key: fields[key] for key in draw(st.permutations(list(fields)))}


def _containers(value: Any) -> list[Any]:
    """Every dict and list of a snapshot."""
    if type(value) is not dict and type(value) is not list:
        return []
    inside = value.values() if type(value) is dict else value
    return [value, *(found for item in inside for found in _containers(item))]


NAMES = ["schemaVersion", "workItems", "decisions", "objective", "id", "content", "status", "note", "Id"]
names = st.sampled_from(NAMES) | own.keys | own.bad_keys | st.sampled_from([own.Text("id"), own.Text("workItems")])
replacements = (
    odd_texts | few_ids | statuses | own.any_values | st.sampled_from([1, 1.0, True, 2, 0, [], {}, (), "Open", 10**400])
)


@st.composite
def near_snapshots(draw: st.DrawFn, values: st.SearchStrategy[Any] = replacements, keys: Any = names) -> Any:
    """A snapshot with some things removed, replaced, added or met twice."""
    root = draw(snapshots())
    for _ in range(draw(st.integers(0, 3))):
        here = draw(st.sampled_from(_containers(root)))
        places = list(here) if type(here) is dict else list(range(len(here)))
        change = draw(st.sampled_from(["remove", "replace", "replace", "add", "repeat"]))
        if change == "add" or not places:
            if type(here) is dict:
                here[draw(keys)] = own.copied(draw(values))
            else:
                here.append(own.copied(draw(values | work_items | decisions)))
        elif change == "remove":
            del here[draw(st.sampled_from(places))]
        elif change == "repeat" and type(here) is list:
            here.insert(draw(st.integers(0, len(here))), own.copied(draw(st.sampled_from(here))))
        else:
            here[draw(st.sampled_from(places))] = own.copied(draw(values))
    return draw(values) if draw(st.integers(0, 19)) == 0 else root


json_replacements = odd_texts | few_ids | own.json_values | st.sampled_from([1, 1.0, 2, [], {}, "Open", 10**25])


@st.composite
def near_texts(draw: st.DrawFn) -> str:
    """The JSON text of nearly a snapshot, as it is or with some characters that don't belong there."""
    value = draw(near_snapshots(json_replacements, st.sampled_from(NAMES) | own.keys))
    text = json.dumps(
        value,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": ")])),
    )
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 1, 2, 10])))
        text = text[:start] + draw(pieces | st.just(text[start:end] * 2)) + text[end:]
    return text


PIECES = [
    "",
    " ",
    "\t",
    "\n",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    "\\u0041",
    "\\ud83d",
    "\\ude00",
    "\\n",
    "1",
    "e0",
]
MORE_PIECES = [".0", "null", "é", "日", "😀", "\x00", "\x0b", "\ufeff", "\ud800", '"id":"a",', '"schemaVersion":1,']
pieces = st.sampled_from([*PIECES, *MORE_PIECES, '"status":"done",', '"x":{}', '"objective":"",'])

_odd = few_ids | odd_texts | own.any_values
_odd_statuses = statuses | odd_texts | own.any_values
calls = st.one_of(
    st.tuples(st.just("add_work_item"), work_items | decisions | st.builds(dict, id=_odd, content=_odd, status=_odd)),
    st.tuples(st.just("add_work_item"), own.any_values),
    st.tuples(st.just("add_decision"), decisions | work_items | st.builds(dict, id=_odd, content=_odd)),
    st.tuples(st.just("set_work_item_status"), _odd, _odd_statuses),
    st.tuples(st.just("set_work_item_content"), _odd, texts | _odd),
    st.tuples(st.sampled_from(["remove_work_item", "remove_decision", "get_work_item", "get_decision"]), _odd),
    st.tuples(st.just("set_objective"), _odd | st.none()),
    st.tuples(
        st.sampled_from(
            ["list_work_items", "list_decisions", "objective", "summary", "work_count", "snapshot", "to_json"]
        )
    ),
)
