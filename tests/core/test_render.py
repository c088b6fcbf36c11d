from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskstate.core import estimate_tokens
from taskstate.errors import ConfigurationError, InvalidBudgetError, InvalidStateError, InvalidValueError

from . import strategies as own

CLOSING = "\n</task_state>"
Render = Callable[..., tuple[str, int]]


def state(data: Any = None, checkpoints: int = 0, files: Any = ()) -> dict[str, Any]:
    return {
        "checkpoints": [{"timestamp": 1_700_000_000_000 + at, "depth": at % 3} for at in range(checkpoints)],
        "files": list(files),
        "data": {} if data is None else data,
    }


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def words(text: str) -> int:
    return len(text.split())


def utf8_thirds(text: str) -> int:
    return -(-len(text.encode()) // 3)


def characters(text: str) -> int:
    return len(text)


def compressed(text: str) -> int:
    """Grows slowly, and not always, with the text."""
    return len(zlib.compress(text.encode(), 1)) // 4


def erratic(text: str) -> int:
    """Not monotone: every seventh length looks small."""
    return 1 if len(text) % 7 == 0 else len(text) // 2


def chaotic(text: str) -> int:
    """Any count for any text."""
    return zlib.crc32(text.encode()) % 300


TOKENIZERS = {one.__name__: one for one in (words, utf8_thirds, characters, compressed, erratic, chaotic)}


def shown(text: str) -> Any:
    """The JSON inside an uncut block."""
    assert text.startswith("<task_state>\n")
    return json.loads(text[len("<task_state>\n") : -len(CLOSING)])


def check_block(text: str, source: dict[str, Any]) -> None:
    """What holds for every block: one closing tag, at the end; valid text; valid JSON unless it was cut."""
    assert text.endswith(CLOSING)
    assert text.count("</task_state") == 1
    text.encode()
    try:
        inside = shown(text)
    except (AssertionError, ValueError):
        assert trimmed(source, 0).startswith(text.removesuffix(CLOSING))
        return
    kept = len(inside["checkpoints"])
    assert text == trimmed(source, kept)
    halves = [len(source["checkpoints"]) >> step for step in range(8)]
    assert kept in halves


def trimmed(source: dict[str, Any], kept: int) -> str:
    """The block with the newest `kept` checkpoints, written by the standard library."""
    some = {**source, "checkpoints": source["checkpoints"][len(source["checkpoints"]) - kept :]}
    text = json.dumps(some, indent=2, ensure_ascii=False).replace("</task_state", "<\\/task_state")
    return f"<task_state>\n{text}{CLOSING}"


def no_floats(value: Any) -> Any:
    """The value without floats, which the standard library prints otherwise."""
    if type(value) is float:
        return 7
    if type(value) is dict:
        return {key: no_floats(item) for key, item in value.items()}
    return [no_floats(item) for item in value] if type(value) is list else value


budgets = st.integers(1, 60) | st.integers(1, 3000) | st.floats(0.01, 500, allow_nan=False)


def test_the_whole_block(render: Render) -> None:
    text, tokens = render({**state({"a": [1, {}], "b": {"c": [[]]}}, 1, ["f"]), "more": (1,)}, 800)
    assert text.splitlines() == [
        "<task_state>",
        "{",
        '  "checkpoints": [',
        "    {",
        '      "timestamp": 1700000000000,',
        '      "depth": 0',
        "    }",
        "  ],",
        '  "files": [',
        '    "f"',
        "  ],",
        '  "data": {',
        '    "a": [',
        "      1,",
        "      {}",
        "    ],",
        '    "b": {',
        '      "c": [',
        "        []",
        "      ]",
        "    }",
        "  },",
        '  "more": [',
        "    1",
        "  ]",
        "}",
        "</task_state>",
    ]
    assert tokens == math.ceil(len(text) / 4)


def test_the_older_half_of_the_checkpoints_goes_first(render: Render) -> None:
    source = state({"k": "v"}, 50)
    for kept in (50, 25, 12, 6, 3, 1, 0):
        text = trimmed(source, kept)
        size = estimate_tokens(text)
        assert render(source, size) == (text, size)
        assert render(source, size, estimate_tokens) == (text, size)
        assert render(source, size + 0.9)[0] == text
        assert render(source, size - 1)[0] != text


def test_a_block_that_is_still_too_long_is_cut_before_the_closing_tag(render: Render) -> None:
    source = state({"k": "v" * 500}, 9)
    text, tokens = render(source, 40)
    assert text == trimmed(source, 0)[: 160 - len(CLOSING)] + CLOSING
    assert tokens == 40


@pytest.mark.parametrize("budget", [1, 2, 3, 0.01, 0.99, 1e-300, 3.99])
def test_the_smallest_budgets_give_the_closing_tag(render: Render, budget: float) -> None:
    assert render(state(), budget) == (CLOSING, 4)
    assert render(state(), budget, characters) == (CLOSING, len(CLOSING))


@pytest.mark.parametrize("budget", [0, -1, -0.0, -(10**400), float("inf"), float("-inf"), 10**400, 1e300, 2**63])
def test_no_budget_gives_the_whole_block(render: Render, budget: float) -> None:
    source = state({"k": "v" * 5000}, 50, ["f"] * 100)
    whole = trimmed(source, 50)
    assert render(source, budget) == (whole, estimate_tokens(whole))
    assert render(source, budget, words) == (whole, words(whole))


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (float("nan"), "budget is NaN"),
        (True, "budget is no number but bool"),
        (False, "budget is no number but bool"),
        ("800", "budget is no number but str"),
        (None, "budget is no number but NoneType"),
        ([800], "budget is no number but list"),
        (8j, "budget is no number but complex"),
    ],
)
def test_a_budget_that_is_no_number_is_refused(render: Render, budget: Any, message: str) -> None:
    with pytest.raises(InvalidBudgetError) as caught:
        render(state(), budget)
    assert str(caught.value) == message


@pytest.mark.parametrize("counted", [1.0, "1", None, float("nan"), True, False, -1, [], b"1"])
def test_a_tokenizer_that_gives_no_count_is_refused(render: Render, counted: Any) -> None:
    for budget in (0, 1, 50):
        with pytest.raises(ConfigurationError, match=r"^count_tokens gave "):
            render(state(), budget, lambda text: counted)


def test_a_tokenizer_may_give_a_huge_count_or_another_integer_type(render: Render) -> None:
    assert render(state(), 50, lambda text: 2**80) == (CLOSING, 2**80)
    assert render(state(), 50, lambda text: own.Number(3))[1] == 3
    assert type(render(state(), 50, lambda text: own.Number(3))[1]) is int


def test_a_tokenizers_own_error_comes_through(render: Render) -> None:
    def failing(text: str) -> int:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        render(state(), 50, failing)


@given(source=own.states().map(no_floats), budget=budgets)
def test_a_block_is_within_any_budget_by_the_estimate(render: Render, source: Any, budget: float) -> None:
    before = repr(source)
    text, tokens = render(source, budget)
    assert tokens == estimate_tokens(text) == math.ceil(units(text) / 4)
    assert tokens <= max(math.floor(budget), 4)
    check_block(text, source)
    assert repr(source) == before


@pytest.mark.parametrize("name", TOKENIZERS)
@given(source=own.states().map(no_floats), budget=budgets)
def test_a_block_is_within_any_budget_by_any_tokenizer(render: Render, name: str, source: Any, budget: float) -> None:
    count = TOKENIZERS[name]
    text, tokens = render(source, budget, count)
    assert tokens == count(text)
    assert tokens <= max(math.floor(budget), count(CLOSING))
    check_block(text, source)


@given(source=own.states().map(no_floats))
def test_the_whole_block_is_that_of_the_standard_library(render: Render, source: Any) -> None:
    text, _ = render(source, 0)
    assert text == trimmed(source, len(source["checkpoints"]))
    assert json.dumps(shown(text)) == json.dumps(source)


@given(source=own.states())
def test_the_whole_block_reads_back_as_the_state(render: Render, source: Any) -> None:
    assert repr(shown(render(source, 0)[0])) == repr(source)


EMOJI = "👩‍👩‍👧‍👦🇩🇪日本語😀é</task_state>𝔘ﬁ한" * 3


@pytest.mark.parametrize("count", [None, *TOKENIZERS.values()], ids=["estimate", *TOKENIZERS])
def test_no_character_is_split_at_any_budget(render: Render, count: Any) -> None:
    source = state({EMOJI: [EMOJI, {"k": EMOJI}]}, 5, [EMOJI])
    for budget in range(1, 201):
        text, tokens = render(source, budget, count)
        assert tokens <= max(budget, 4 if count is None else count(CLOSING))
        check_block(text, source)


def test_a_tokenizer_that_is_not_monotone_gets_no_second_closing_tag(render: Render) -> None:
    source = state({"k": "v"})
    whole = trimmed(source, 0)
    for end in (whole, whole[:-1], whole.removesuffix(CLOSING)):
        text, _ = render(source, 5, lambda block, end=end: 1 if block in (CLOSING, end + CLOSING) else 9)
        assert text.count("</task_state") == 1


def test_a_half_pair_at_the_cut_is_given_up(render: Render) -> None:
    """Rule T4."""
    source = {"x": "a" + "😀" * 100, **state()}
    sizes = {units(render(source, budget)[0]) - 4 * budget for budget in range(10, 60)}
    shifted = {units(render({"x": "😀" * 100, **state()}, budget)[0]) - 4 * budget for budget in range(10, 60)}
    assert sizes | shifted == {0, -1}


@pytest.mark.parametrize(
    "text", ["</task_state>", "</task_state", "a</task_state>b</task_state>", "é</task_state>", "😀</task_state>"]
)
def test_no_string_can_close_the_block(render: Render, text: str) -> None:
    """Rule T6: as a value, a key, a file's name, in a checkpoint and in another field, at every budget."""
    source: dict[str, Any] = {text: text, **state({text: {"k": [text, {text: text}]}}, 2, [text])}
    source["checkpoints"][1]["note"] = text
    whole = render(source, 0)[0]
    assert whole.count("</task_state") == 1
    assert shown(whole) == source
    for budget in range(1, estimate_tokens(whole) + 1):
        for count in (None, characters, utf8_thirds):
            assert render(source, budget, count)[0].count("</task_state") == 1


def test_control_characters_are_escaped_as_in_json(render: Render) -> None:
    text = "".join(map(chr, range(0x20))) + '\x7f\x80\u2028\u2029\ufeff"\\/'
    inside = render(state({"k": text}), 0)[0]
    assert json.dumps(text, ensure_ascii=False) in inside


def test_escapes_are_found_at_every_place_of_a_string(render: Render) -> None:
    """Fast paths copy many characters at once: each length, each place, each width of character."""
    specials = ["\x00", "\x1f", '"', "\\", "<", "</task_state", "\n", " ", "!", "#", "~", "\x7f"]
    for filler in ("a", "é", "日", "😀"):
        strings = [
            filler * before + special + filler * (size - before)
            for size in range(36)
            for before in range(size + 1)
            for special in specials
        ]
        source = state({"values": strings, "keys": dict.fromkeys(strings, 0)})
        assert render(source, 0)[0] == trimmed(source, 0)


def test_every_depth_is_indented(render: Render) -> None:
    value: Any = []
    for depth in range(190):
        value = {"k": value, "n": depth} if depth % 2 else [value, depth]
    assert render(state(value if type(value) is dict else {"k": value}), 0)[0] == trimmed(state(value), 0)


@pytest.mark.parametrize("count", [None, words])
def test_a_fault_within_reach_names_its_path(render: Render, count: Any) -> None:
    cyclic: dict[str, Any] = {}
    cyclic["again"] = [cyclic]
    for data, path, reason in [
        ({"a": [b"x"]}, "data.a[0]", "bytes is not a JSON value"),
        ({"a": {1: 2}}, "data.a", "key of type int is not a str"),
        ({"a": "\ud800"}, "data.a", "string holds a lone surrogate"),
        ({"\ud800": 1}, "data", "key holds a lone surrogate"),
        ({"a": [float("nan")]}, "data.a[0]", "number is not finite"),
        ({"a": 2**64}, "data.a", "integer is outside -2^63..2^64-1"),
    ]:
        with pytest.raises(InvalidValueError) as caught:
            render(state(data), 800, count)
        assert str(caught.value) == f"{path}: {reason}"
    with pytest.raises(InvalidValueError, match=r"^data\.a\.again\[0\]: refers back to data\.a$"):
        render(state({"a": cyclic}), 0, count)
    source = state(None, 3)
    source["checkpoints"][1]["note"] = {"when": {1}}
    with pytest.raises(InvalidValueError, match=r"^checkpoints\[1\]\.note\.when: set is not a JSON value$"):
        render(source, 800, count)
    with pytest.raises(InvalidStateError, match=r"^files\[1\]: int is not a str$"):
        render(state(None, 0, ["a", 5]), 800, count)
    with pytest.raises(InvalidValueError, match=r"^files\[0\]: string holds a lone surrogate$"):
        render(state(None, 0, ["\udc00"]), 800, count)


def test_nesting_of_200_is_rendered(render: Render) -> None:
    def nested(levels: int) -> Any:
        value: Any = []
        for _ in range(levels - 1):
            value = [value]
        return value

    deepest = state({"k": nested(198)})
    assert shown(render(deepest, 0)[0]) == deepest
    with pytest.raises(InvalidValueError, match="nested deeper than 200 levels"):
        render(state({"k": nested(199)}), 0)
    with pytest.raises(InvalidValueError, match="nested deeper than 200 levels"):
        render(state({"k": nested(100_000)}), 0)


def test_only_what_the_budget_can_show_is_read(render: Render) -> None:
    """A fault far behind the cut is not met: what is stored was checked when it was stored."""
    source = state({"a": "x" * 10_000, "b": object()}, 3)
    assert render(source, 100)[1] == 100
    assert render({"a": "x" * 400 + "\ud800", **state()}, 50)[1] == 50
    with pytest.raises(InvalidValueError):
        render(source, 0)


def test_a_huge_state_is_not_read_to_its_end(render: Render) -> None:
    shared = {"text": "x" * 1000}
    value: Any = shared
    for _ in range(60):
        value = [value, value]
    source = state({"k": value}, 50)
    assert render(source, 800)[1] <= 800
    for count in (words, characters, utf8_thirds):
        assert render(source, 800, count)[1] <= 800


def test_the_estimate_is_utf16_code_units_by_four_rounded_up() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "😀😀", "😀😀a", "日" * 5, "\ud800")] == [
        0,
        1,
        1,
        2,
        1,
        2,
        2,
        1,
    ]
