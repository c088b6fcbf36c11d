from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate import core
from taskstate.errors import CorruptRecordError, InvalidValueError, StateTooLargeError
from taskstate.storage import decode, encode
from taskstate.testing.samples import BAD_VALUES, GOOD_VALUES, nested

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@given(VALUES)
def test_a_value_survives_text_and_the_text_is_strict_json(value: Any) -> None:
    text = encode(value)
    assert core.equal(decode(text, "k"), value)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert core.equal(json.loads(text, parse_constant=refuse), value)
    assert b"\n" not in text


@pytest.mark.parametrize("name", GOOD_VALUES)
def test_good_values_survive(name: str) -> None:
    assert core.equal(decode(encode(GOOD_VALUES[name]), "k"), GOOD_VALUES[name])


@pytest.mark.parametrize("name", BAD_VALUES)
def test_bad_values_are_refused_with_their_path(name: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        encode({"data": [0, BAD_VALUES[name]]}, "state")
    assert caught.value.path.startswith("state.data[1]")


def test_a_value_above_the_limit_is_refused() -> None:
    with pytest.raises(StateTooLargeError):
        encode("x" * 100, max_bytes=100)
    assert encode("x" * 92, max_bytes=100)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not valid JSON"),
        (b"   ", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[1,]", "not valid JSON"),
        (b"1 2", "not valid JSON"),
        (b"'a'", "not valid JSON"),
        (b"NaN", "not valid JSON"),
        (b"[Infinity]", "not valid JSON"),
        (b"[" + b"9" * 5000 + b"]", "not valid JSON"),
        (b"1e400", "not valid JSON"),
        (b"\xef\xbb\xbf1", "not valid JSON"),
        (b'"\xff"', "not valid JSON"),
        (b'"\\ud83d"', "not valid JSON"),
        (b'{"\\ude00":1}', "not valid JSON"),
        (b"\x80\x04\x95\x0c\x00", "not valid JSON"),
        (b"18446744073709551616", "integer is outside"),
        (b"-9223372036854775809", "integer is outside"),
        (b'{"a":[0.12345678901234567890,{"b": -9223372036854775809 }]}', "integer is outside"),
        (b'["1234567890123456789",99999999999999999999]', "integer is outside"),
        (b"[" + b"9" * 300 + b"]", "integer is outside"),
        (b"[" * 201 + b"]" * 201, "nested deeper than 200"),
        (b"[" * 900 + b"]" * 900, "nested deeper than 200"),
        (b'{"a":' * 201 + b"1" + b"}" * 201, "nested deeper than 200"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "not valid JSON"),
    ],
)
def test_text_that_breaks_a_rule_is_a_corrupt_record(text: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecordError, match=r"^some/key: ") as caught:
        decode(text, "some/key")
    assert caught.value.key == "some/key"
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"18446744073709551615", 2**64 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b" [ 1 ] \n", [1]),
        (b"0.000123456789012345678901234567890", 0.00012345678901234568),
        (b"123456789012345678901234567890.0", 1.2345678901234568e29),
        (b"1e21", 1e21),
        (b'"18446744073709551616"', "18446744073709551616"),
        (b"[" * 200 + b"]" * 200, nested(200)),
        (b"[" + b'"[",' * 300 + b"[]]", ["["] * 300 + [[]]),
    ],
)
def test_text_that_only_looks_suspicious_is_read(text: bytes, value: Any) -> None:
    assert core.equal(decode(text, "k"), value)


@given(st.lists(st.integers(-(10**22), 10**22) | st.floats(allow_nan=False, allow_infinity=False) | st.text("01.9,-")))
def test_every_integer_beyond_64_bits_is_found(values: list[int | float | str]) -> None:
    text = json.dumps(values).encode()
    if all(-(2**63) <= value < 2**64 for value in values if isinstance(value, int)):
        assert core.equal(decode(text, "k"), values)
    else:
        with pytest.raises(CorruptRecordError, match="integer is outside"):
            decode(text, "k")


def test_errors_hold_no_content() -> None:
    with pytest.raises(CorruptRecordError) as caught:
        decode(b'{"password": "hunter2" oops}', "k")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_negative_zero_keeps_its_sign() -> None:
    assert math.copysign(1, decode(encode(-0.0), "k")) == -1
