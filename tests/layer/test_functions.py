"""Functions that a layer offers: their names for a provider, their schemas, their arguments."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate import ExecutionContext
from taskstate.errors import InvalidArgumentError
from taskstate.layer import Change, LayerFunction
from taskstate.layer.functions import TOOL_STYLES, alias, decode_arguments, tool_specs

SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
CTX = ExecutionContext("e", "t")


class Arguments(pydantic.BaseModel):
    """Arguments of a function that takes a number."""

    n: int


def function(name: str = "f") -> LayerFunction:
    return LayerFunction(name, "f", "Does it.", lambda: Arguments, lambda state, arguments, ctx: Change(arguments.n))


NAMES = st.text(st.sampled_from("ab_-/% .é𝄞0"), min_size=1, max_size=12)


@given(NAMES, NAMES)
def test_every_provider_takes_an_alias(layer: str, name: str) -> None:
    assert SAFE.match(alias(f"{layer}/{name}"))


def test_an_ordinary_name_stays_readable() -> None:
    assert alias("task-state/recordArtifact") == "task-state__recordArtifact"


def test_two_tools_never_share_an_alias() -> None:
    parts = ["".join(part) for length in (1, 2, 3) for part in itertools.product("a_ /", repeat=length)]
    names = {f"{layer}/{name}" for layer in parts for name in parts}
    long = {f"{'x' * length}/{'y' * other}" for length in range(20, 70) for other in range(20, 70)}
    taken = {alias(name) for name in names | long}
    assert len(taken) == len(names | long)


def test_a_name_that_looks_like_a_digest_is_no_other_tools_alias() -> None:
    made = alias("a b/f")
    layer, _, name = made.partition("__")
    assert alias(f"{layer}/{name}") != made
    made = alias("a/" + "b" * 100)
    layer, _, name = made.partition("__")
    assert alias(f"{layer}/{name}") != made


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=30))
def test_aliases_of_any_tools_differ(pairs: list[tuple[str, str]]) -> None:
    names = {f"{layer}/{name}" for layer, name in pairs}
    assert len({alias(name) for name in names}) == len(names)


def test_the_schema_says_what_is_needed() -> None:
    assert function().parameters() == {
        "description": Arguments.__doc__,
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "type": "object",
    }


@pytest.mark.parametrize("style", TOOL_STYLES)
def test_each_style_names_and_describes_the_tool(style: Any) -> None:
    (spec,) = tool_specs({"own/f": function()}, style)
    inner = spec.get("function", spec)
    assert (inner["name"], inner["description"]) == ("own__f", "Does it.")
    assert inner.get("parameters", inner.get("input_schema"))["required"] == ["n"]


def test_descriptions_handed_out_can_be_changed_without_harm() -> None:
    tool = function()
    tool.parameters()["properties"].clear()
    assert tool.parameters()["properties"] == {"n": {"type": "integer"}}


def test_arguments_are_checked_and_every_fault_is_named() -> None:
    class Two(pydantic.BaseModel):
        a: int
        b: list[int]

    tool = LayerFunction("two", "two", "", lambda: Two, lambda state, arguments, ctx: Change(None))
    with pytest.raises(InvalidArgumentError) as caught:
        tool.parse("own/two", {"b": [1, "secret"]})
    assert [path for path, _ in caught.value.issues] == [("a",), ("b", 1)]
    assert str(caught.value).startswith("own/two: a: ")
    assert "b.1: " in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("arguments", [None, [], "text", 7, Arguments(n=1)], ids=repr)
def test_arguments_that_are_no_dict_are_refused(arguments: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="is not a dict of arguments"):
        function().parse("own/f", arguments)


def test_the_model_of_the_arguments_is_made_when_first_needed() -> None:
    made: list[int] = []

    def make() -> type[Arguments]:
        made.append(1)
        return Arguments

    tool = LayerFunction("f", "f", "", make, lambda state, arguments, ctx: Change(None))
    assert made == []
    tool.parse("f", {"n": 1})
    tool.parameters()
    assert made == [1]


def test_json_text_is_decoded_and_anything_else_left_alone() -> None:
    assert decode_arguments("f", '{"n": 1}') == decode_arguments("f", b'{"n": 1}') == {"n": 1}
    given_dict = {"n": 1}
    assert decode_arguments("f", given_dict) is given_dict
    assert decode_arguments("f", '{"n": [18446744073709551615, -9223372036854775808]}') == {"n": [2**64 - 1, -(2**63)]}


@pytest.mark.parametrize("text", ["", "{", "nan", '{"n": 18446744073709551616}', '{"n": "\\ud800"}', "\ud800", b"\xff"])
def test_text_that_is_not_strict_json_is_refused(text: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^f: arguments: "):
        decode_arguments("f", text)
