from __future__ import annotations

import decimal
import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

# What JavaScript's String(x) gives, but that a whole number keeps `.0` and zero its sign.
PRINTED = {
    0.0: "0.0",
    1.0: "1.0",
    -1.0: "-1.0",
    0.1: "0.1",
    -0.5: "-0.5",
    1.5: "1.5",
    100.0: "100.0",
    123456789.125: "123456789.125",
    1e-6: "0.000001",
    1.5e-6: "0.0000015",
    1e-7: "1e-7",
    1.25e-7: "1.25e-7",
    1e16: "10000000000000000.0",
    1e20: "100000000000000000000.0",
    123456789012345680000.0: "123456789012345680000.0",
    999999999999999900000.0: "999999999999999900000.0",
    1e21: "1e+21",
    1.5e21: "1.5e+21",
    -1e21: "-1e+21",
    1e22: "1e+22",
    1e100: "1e+100",
    1.7976931348623157e308: "1.7976931348623157e+308",
    5e-324: "5e-324",
    2.2250738585072014e-308: "2.2250738585072014e-308",
    0.30000000000000004: "0.30000000000000004",
    4.35: "4.35",
    2.0**53: "9007199254740992.0",
    2.0**63: "9223372036854776000.0",
}


def printed(twin: Any, number: float) -> str:
    text, _ = twin.render_block({"checkpoints": [], "files": [], "data": {"n": number}}, None)
    return text.partition('"n": ')[2].partition("\n")[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("number", PRINTED)
def test_floats_print_as_in_javascript(twin: Any, number: float) -> None:
    assert printed(twin, number) == PRINTED[number]


def test_minus_zero_keeps_its_sign(twin: Any) -> None:
    assert printed(twin, -0.0) == "-0.0"


@pytest.mark.parametrize("number", [0, -1, 10**15, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)])
def test_integers_print_exactly(twin: Any, number: int) -> None:
    assert printed(twin, number) == str(number)


@given(bits=st.integers(0, 2**64 - 1))
def test_any_float_reads_back_as_the_same_float(twin: Any, bits: int) -> None:
    number: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    if not math.isfinite(number):
        return
    text = printed(twin, number)
    read = json.loads(text)
    assert type(read) is float
    assert struct.pack("<d", read) == struct.pack("<d", number)
    digits = sum(map(str.isdigit, text.partition("e")[0].strip("0").replace(".", "")))
    assert digits <= 21


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_the_shortest_digits_are_printed(twin: Any, number: float) -> None:
    def significant(text: str) -> str:
        return text.lstrip("-").partition("e")[0].replace(".", "").strip("0")

    assert significant(printed(twin, number)) == significant(repr(number))


def javascript(number: float) -> str:
    """ECMAScript's Number::toString of a float that isn't zero, with `.0` after a whole number."""
    sign, digits, exponent = decimal.Decimal(repr(number)).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + int(exponent)
    if not -6 < point <= 21:
        shown = text[0] + ("." + text[1:] if text[1:] else "") + f"e{point - 1:+}"
    elif point >= len(text):
        shown = text + "0" * (point - len(text)) + ".0"
    else:
        shown = "0." + "0" * -point + text if point <= 0 else f"{text[:point]}.{text[point:]}"
    return "-" * sign + shown


@given(number=st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_any_float_prints_as_in_javascript(twin: Any, number: float) -> None:
    assert printed(twin, number) == javascript(number)


@given(digits=st.integers(1, 10**17), decimals=st.integers(0, 12), steps=st.integers(-2, 2))
def test_a_float_that_somebody_wrote_prints_as_in_javascript(twin: Any, digits: int, decimals: int, steps: int) -> None:
    """Few decimals have a path of their own, and their neighbours must not take it."""
    number = digits / 10**decimals
    for _ in range(abs(steps)):
        number = math.nextafter(number, math.inf * steps)
    assert printed(twin, number) == javascript(number)
    assert printed(twin, -number) == javascript(-number)


@given(number=st.integers(0, 2**64 - 1) | st.integers(-(2**63), 2**63) | st.integers(-12_000, 12_000))
def test_any_integer_prints_exactly(twin: Any, number: int) -> None:
    assert printed(twin, number) == str(number)
