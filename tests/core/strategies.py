"""Hypothesis strategies for JSON values, task states, and values that are neither."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
from typing import Any

from hypothesis import strategies as st


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Real(float):
    pass


class Mapping(dict[Any, Any]):
    pass


class Sequence(list[Any]):
    pass


class Level(enum.IntEnum):
    LOW = 1


ODD_TEXT = [
    "",
    "</task_state>",
    "</task_state",
    "a</task_state></task_state>",
    "</TASK_STATE>",
    "</task_stat",
    "<</task_state",
    "<\\/task_state>",
    "é" * 7,
    "日本語のテキスト",
    "😀",
    "x😀y",
    "👩‍👩‍👧‍👦",
    "🇩🇪🇫🇷",
    "é</task_state>",
    "😀</task_state>",
    '"quoted" \\ back',
    "\n\t\r\b\f\x00\x1f\x7f",
    "\u2028\u2029\ufeff\ufffe",
    "\ue000\ud7ff\uffff",
    "x" * 70,
    "__outcome",
]
ODD_NUMBERS = [
    0,
    -1,
    2**63,
    2**64 - 1,
    -(2**63),
    0.0,
    -0.0,
    1.0,
    1e21,
    1e20,
    1e-6,
    1e-7,
    5e-324,
    1.7976931348623157e308,
]

texts = st.sampled_from(ODD_TEXT) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ints = st.integers(-(2**63), 2**64 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | ints | floats | st.sampled_from(ODD_NUMBERS) | texts
keys = st.sampled_from([*"abcde", "a b", "0", "", "</task_state>", "日", "constructor"]) | texts


def _containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(keys, children, max_size=4) | st.lists(children, max_size=4)


json_values = st.recursive(leaves, _containers, max_leaves=15)

bad_leaves = st.sampled_from(
    [
        "\ud83d",
        "ab\udc00",
        "日\udfff",
        "\ud83d😀",
        Text("x"),
        Number(3),
        Real(2.5),
        Level.LOW,
        Mapping(),
        Sequence(),
        b"x",
        frozenset("a"),
        float("nan"),
        float("inf"),
        float("-inf"),
        2**64,
        2**200,
        -(2**63) - 1,
        dt.date(2020, 1, 1),
        decimal.Decimal(1),
        1j,
        len,
    ]
)
bad_keys = st.sampled_from([1, True, None, 1.5, (1,), b"k", Text("k"), Level.LOW, "\ud800", "k\udc00"])


def _loose(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    loose_keys = st.integers(0, 9).flatmap(lambda n: bad_keys if n == 0 else keys)
    return (
        st.dictionaries(loose_keys, children, max_size=4)
        | st.lists(children, max_size=4)
        | st.lists(children, max_size=3).map(tuple)
    )


any_values = st.recursive(st.integers(0, 9).flatmap(lambda n: bad_leaves if n == 0 else leaves), _loose, max_leaves=15)

checkpoints = st.fixed_dictionaries(
    {"timestamp": st.sampled_from([1, 2, 1_700_000_000_000, 2.5]), "depth": st.integers(0, 2)},
    optional={"note": json_values},
)


@st.composite
def states(draw: st.DrawFn, values: st.SearchStrategy[Any] = json_values, *, extra: bool = True) -> dict[str, Any]:
    """A task state, its fields in any order, perhaps with further keys."""
    count = draw(st.sampled_from([0, 0, 1, 2, 3, 7, 49, 50, 51, 60]))
    few = draw(st.lists(checkpoints, min_size=1, max_size=4))
    fields: dict[str, Any] = {
        "checkpoints": [dict(few[index % len(few)]) for index in range(count)],
        "files": draw(st.lists(texts, max_size=5)),
        "data": draw(st.dictionaries(keys, values, max_size=5)),
    }
    if extra and draw(st.booleans()):
        fields["extra"] = draw(values)
    return {key: fields[key] for key in draw(st.permutations(list(fields)))}


@st.composite
def loose_states(draw: st.DrawFn) -> Any:
    """A task state, or nearly one."""
    state: Any = draw(states(any_values))
    fault = draw(st.integers(0, 9))
    if fault == 0:
        state.pop(draw(st.sampled_from(["checkpoints", "files", "data"])))
    elif fault == 1:
        state[draw(st.sampled_from(["checkpoints", "files", "data"]))] = draw(any_values)
    elif fault == 2:
        state["checkpoints"].append(
            draw(
                any_values
                | st.fixed_dictionaries({"timestamp": leaves | bad_leaves}, optional={"depth": leaves | bad_leaves})
            )
        )
    elif fault == 3:
        state["files"].append(draw(any_values))
    elif fault == 4:
        state = draw(any_values)
    return state


def _places(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Every dict that is reached from `data` through dicts."""
    return [data, *(place for value in data.values() if type(value) is dict for place in _places(value))]


def copied(value: Any) -> Any:
    """A deep copy of JSON data that owes nothing to the code under test."""
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if type(value) is list else value


@st.composite
def changed(draw: st.DrawFn, state: dict[str, Any]) -> dict[str, Any]:
    """What became of a state: entries of `data` set, removed and nested, checkpoints and files added."""
    after: dict[str, Any] = copied(state)
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.sampled_from(_places(after["data"])))
        present = list(place)
        change = draw(st.sampled_from(["set", "add", "remove", "nest"]))
        if change == "remove" and present:
            del place[draw(st.sampled_from(present))]
        elif change == "set" and present:
            place[draw(st.sampled_from(present))] = draw(json_values)
        elif change == "nest":
            place[draw(keys)] = {draw(keys): draw(json_values)}
        else:
            place[draw(keys)] = draw(json_values)
    if draw(st.booleans()):
        after["checkpoints"] = (after["checkpoints"] + draw(st.lists(checkpoints, max_size=4)))[-50:]
    if draw(st.booleans()):
        after["files"] = after["files"] + draw(st.lists(texts, max_size=3))
    return after


@st.composite
def families(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What a child inherited, what its parent has become since, and what the child has."""
    base = draw(states())
    return base, draw(changed(base)), draw(changed(base))
