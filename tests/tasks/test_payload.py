"""Contracts: what is taken, what is written, and what comes back."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import math
import os
import re
import subprocess
import sys
import uuid
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, Field, Json, computed_field, field_serializer, field_validator
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from taskstate.errors import ConfigurationError, PayloadError
from taskstate.tasks.payload import Contract, hash_of, hash_of_arguments

pytestmark = pytest.mark.once

T = TypeVar("T")
NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 5, tzinfo=dt.UTC)


class Colour(enum.Enum):
    RED = "red"


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    when: dt.datetime
    where: tuple[int, ...]
    who: uuid.UUID


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")
    long_name: int


class Computed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    side: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.side**2


class Blob(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    data: bytes


class Text(BaseModel):
    parsed: Json[list[int]]


class Box(BaseModel, Generic[T]):
    content: T


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


@dataclasses.dataclass
class Point:
    x: float
    at: dt.date


class Row(TypedDict):
    number: int


class Tree(BaseModel):
    below: list[Tree] = []


class Undumpable(BaseModel):
    x: int

    @field_serializer("x")
    def dump(self, value: int) -> int:
        raise RuntimeError("secret")


class Loud(BaseModel):
    x: int

    @field_validator("x")
    @classmethod
    def check(cls, value: int) -> int:
        raise KeyError("secret")


def shown(value: object) -> str:
    """The same in every process that collects the tests."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))[:60]


KEPT: list[tuple[Any, Any]] = [
    (Strict, Strict(when=NOON, where=(1, 2), who=uuid.UUID(int=5))),
    (Camel, Camel(longName=1)),
    (Computed, Computed(side=2)),
    (Blob, Blob(data=b"\xff\x00")),
    (Text, Text(parsed="[1]")),  # type: ignore[arg-type]
    (Box[list[int]], Box[list[int]](content=[1])),
    (Cat | Dog, Dog()),
    (Annotated[Cat | Dog, Field(discriminator="kind")], Dog()),
    (Point, Point(1.5, NOON.date())),
    (list[Point], [Point(1.5, NOON.date())]),
    (Row, {"number": 1}),
    (Tree, Tree(below=[Tree(), Tree(below=[Tree()])])),
    (Colour, Colour.RED),
    (bytes, b"text"),
    (dt.datetime, NOON),
    (dt.timedelta, dt.timedelta(days=1, microseconds=1)),
    (decimal.Decimal, decimal.Decimal("1.10")),
    (set[int], {1, 2}),
    (tuple[int, str], (1, "a")),
    (dict[int, str], {1: "a"}),
    (dict[dt.date, int], {NOON.date(): 1}),
    (int | str, "1"),
    (int | str, 1),
    (int | float, 1.0),
    (dt.datetime | None, None),
    (None, None),
    (int, 2**64 - 1),
]


@pytest.mark.parametrize(("kind", "value"), KEPT, ids=shown)
def test_what_keeps_a_contract_comes_back_as_it_was(kind: Any, value: Any) -> None:
    contract = Contract[Any](kind, "result")
    text = contract.encode(value, "p", 1000)
    back = contract.decode(text, "p")
    assert back == value
    assert type(back) is type(value)
    assert contract.encode(back, "p", 1000) == text


def test_without_a_contract_models_and_dates_are_kept_as_the_data_that_they_are_written_as() -> None:
    contract = Contract[Any](Any, "result")
    text = contract.encode({"m": Computed(side=2), "t": (1, NOON.date()), 5: Colour.RED}, "p", 1000)
    assert contract.decode(text, "p") == {"m": {"side": 2, "area": 4}, "t": [1, "2026-01-02"], "5": "red"}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, "secret"),
        (float, math.nan),
        (list[float], [math.inf]),
        (Any, {"a": [-math.inf]}),
        (dict[str, Any], {"a": math.nan}),
        (decimal.Decimal, decimal.Decimal("NaN")),
        (int, 2**64),
        (bytes, b"\xffsecret"),
        (Any, b"\xffsecret"),
        (object, object()),
        (type, int),
        (Undumpable, Undumpable(x=1)),
        (Loud, {"x": 1}),
        (Row, {"number": "secret"}),
        (Cat | Dog, {"kind": "secret"}),
        (Any, "\ud800secret"),
        (Any, (value for value in [object()])),
    ],
    ids=shown,
)
def test_what_breaks_a_contract_or_is_no_json_is_refused_without_being_shown(kind: Any, value: Any) -> None:
    with pytest.raises(PayloadError) as caught:
        Contract[Any](kind, "result").encode(value, "p", 1000)
    assert caught.value.code == "result_invalid"
    assert "secret" not in f"{caught.value}{caught.value.__cause__}"
    assert str(caught.value).startswith("p")


def test_many_faults_are_counted_and_the_first_are_told() -> None:
    with pytest.raises(PayloadError) as caught:
        Contract[Any](list[int], "input").encode(["a"] * 20, "p", 1000)
    assert caught.value.reason.count(";") == 5
    assert caught.value.reason.endswith("and 15 more")


def test_bytes_are_measured_not_characters() -> None:
    contract = Contract[Any](str, "checkpoint")
    assert contract.encode("ä" * 4, "p", 10) == '"ääää"'
    with pytest.raises(PayloadError) as caught:
        contract.encode("ä" * 4, "p", 9)
    assert caught.value.code == "checkpoint_too_large"


@pytest.mark.parametrize("text", ["", "{", "NaN", '"\\ud800"', "1 2", "\x00"])
@pytest.mark.parametrize("kind", [Any, int])
def test_a_text_that_is_no_json_or_keeps_the_contract_no_more_is_told_as_such(kind: Any, text: str) -> None:
    with pytest.raises(PayloadError) as caught:
        Contract[Any](kind, "input").decode(text, "p")
    assert caught.value.code == "input_invalid"


def test_any_json_is_as_deep_as_the_limit_with_a_contract_or_without() -> None:
    deep: Any = 1
    for _ in range(199):
        deep = [deep]
    for kind in (Any, list[Any]):
        contract = Contract[Any](kind, "result")
        assert contract.decode(contract.encode(deep, "p", 1000), "p") == deep


@pytest.mark.parametrize("kind", [pytest, object(), 5])
def test_what_pydantic_has_no_schema_for_is_no_contract(kind: Any) -> None:
    with pytest.raises(ConfigurationError, match="input"):
        Contract[Any](kind, "input")


def test_the_order_of_keys_makes_no_other_input() -> None:
    assert hash_of('{"a":1,"b":[{"c":1,"d":2}]}') == hash_of('{"b":[{"d":2,"c":1}],"a":1}')
    assert hash_of("[1,2]") != hash_of("[2,1]")
    assert hash_of_arguments([{"a": 1, "b": 2}], {"x": 1, "y": 2}) == hash_of_arguments(
        [{"b": 2, "a": 1}], {"y": 2, "x": 1}
    )


def test_calls_with_other_arguments_are_told_apart() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    values: list[Any] = [
        *(1, 1.0, "1", True, None, 2**70, 2**71, [], {}, [[]], {"a": [1]}, cycle),
        *(b"\xff", b"\xfe", decimal.Decimal("1.1"), NOON, Colour.RED, Point(1, NOON.date()), Cat(), Dog(), object()),
    ]
    assert len({hash_of_arguments([value], {}) for value in values}) == len(values)
    assert hash_of_arguments([1], {}) != hash_of_arguments([], {"a": 1}) != hash_of_arguments([], {"b": 1})


def test_arguments_have_the_same_hash_in_every_process() -> None:
    code = (
        "from taskstate.tasks.payload import hash_of_arguments as h\n"
        "from pydantic import BaseModel\n"
        "class Tagged(BaseModel):\n"
        "    tags: set[str]\n"
        "words = {'some', 'words', 'in', 'a', 'set'}\n"
        "print(h([words, [words], {'k': frozenset(words)}, Tagged(tags=words), {(1, 'a'), (2, 'b')}], {'w': words}))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
