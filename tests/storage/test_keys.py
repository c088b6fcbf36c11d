from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.errors import InvalidValueError
from taskstate.storage import decode_part, encode_part, layer_prefix, parse_key, scope_part, scope_prefix, state_key
from taskstate.storage.keys import check_key
from taskstate.types import Scope

PARTS = st.text(st.sampled_from("a/%25Ff_") | st.characters(exclude_categories=["Cs"])) | st.just("__global__")


@pytest.mark.parametrize(
    ("layer_id", "scope_key", "key"),
    [
        ("task-state", "t1", "layers/task-state/t1/state"),
        ("task-state", "", "layers/task-state//state"),
        ("task-state", "user@example.com", "layers/task-state/user@example.com/state"),
        ("task-state", "__global__", "layers/task-state/__global__/state"),
        ("task-state", "__x__", "layers/task-state/__x__/state"),
        ("task-state", "..", "layers/task-state/../state"),
        ("task-state", "a/b", "layers/task-state/a%2Fb/state"),
        ("task-state", "50%", "layers/task-state/50%25/state"),
        ("a/b", "c", "layers/a%2Fb/c/state"),
    ],
)
def test_ordinary_ids_stand_as_they_are_and_only_slash_and_percent_are_encoded(
    layer_id: str, scope_key: str, key: str
) -> None:
    assert state_key(layer_id, scope_key) == key
    assert key.startswith(scope_prefix(layer_id, scope_key))
    assert key.startswith(layer_prefix(layer_id))
    assert parse_key(key) == (layer_id, scope_key, scope_key == "__global__", "state")


def test_an_id_that_reads_global_is_not_the_global_scope() -> None:
    keys = {scope: state_key("l", "__global__", scope=scope) for scope in get_args(Scope)}
    assert keys["global"] == state_key("l", "any", scope="global") == "layers/l/__global__/state"
    for scope in ("thread", "resource", "execution"):
        assert keys[scope] != keys["global"]
        assert parse_key(keys[scope]) == ("l", "__global__", False, "state")


@given(PARTS)
def test_a_part_holds_no_slash_and_can_be_decoded(text: str) -> None:
    for part in (encode_part(text), scope_part("thread", text)):
        assert "/" not in part
        assert decode_part(part) == text


@given(PARTS, PARTS, PARTS, PARTS)
def test_two_places_never_share_a_key(layer: str, scope_key: str, other_layer: str, other_key: str) -> None:
    one = state_key(layer, scope_key, scope="thread")
    assert (one == state_key(other_layer, other_key, scope="thread")) == (
        (layer, scope_key) == (other_layer, other_key)
    )
    assert one != state_key(layer, "", scope="global")


@given(PARTS, PARTS, st.text())
def test_a_key_can_be_taken_apart(layer: str, scope_key: str, name: str) -> None:
    key = scope_prefix(layer, scope_key, scope="resource") + name
    assert parse_key(key) == (layer, scope_key, False, name)


@pytest.mark.parametrize(
    "key", ["", "other", "layers", "layers/a", "layers/a/b", "Layers/a/b/state", "x/layers/a/b/state"]
)
def test_other_keys_are_of_no_layer(key: str) -> None:
    assert parse_key(key) is None


def test_a_percent_that_nothing_encoded_stands_for_itself() -> None:
    assert decode_part("100%") == "100%"
    assert decode_part("%zz%41") == "%zz%41"
    assert decode_part("%252F%2f") == "%2F/"


@pytest.mark.parametrize("bad", [None, 1, b"a", "a\udc00"])
def test_what_is_no_key_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidValueError, match=r"^key: "):
        check_key(bad)
    assert check_key("\u20ac\x00") == b"\xe2\x82\xac\x00"
