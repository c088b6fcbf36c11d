"""A record from and to JSON text."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import strategies as own
from .records import FULL, SNAPSHOT, decision, parts, place, refusal, snapshot, work

EMPTY = '{"schemaVersion":1,"workItems":[],"decisions":[]}'
EXTRA = '{"schemaVersion":1,"workItems":[],"decisions":[],"extra":%s}'
TOO_DEEP = "nested deeper than 200 levels"


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def both(twin: Any, text: str) -> Any:
    """The snapshot of a text, which is the same for its UTF-8 bytes."""
    found = twin.Record.from_json(text).snapshot()
    assert repr(twin.Record.from_json(text.encode()).snapshot()) == repr(found)
    return found


def refused(twin: Any, text: str | bytes) -> str:
    """Why a text as a whole is refused."""
    found = {parts(refusal(twin.Record.from_json, text))}
    if type(text) is str and "\ud800" not in text:
        found.add(parts(refusal(twin.Record.from_json, text.encode())))
    ((code, message, path, reason, item_id),) = found
    assert (code, message, path, item_id) == ("invalid_input", SNAPSHOT, "snapshot", None)
    return str(reason)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).map(lambda text: f"{text}.") | st.sampled_from(
    [
        "\x00\x01\x1f",
        '"',
        "\\",
        '\\"',
        "/",
        "\x7f\x80\x9f",
        "\u2028\u2029.",
        "é",
        "日本",
        "😀",
        "</",
        "<",
        "\\u0041",
        "x" * 5000,
    ]
)


@given(
    ids=st.lists(texts, unique=True, max_size=6),
    content=texts,
    objective=st.none() | st.just("") | texts,
    status=st.sampled_from(["open", "in_progress", "blocked", "done"]),
)
def test_the_text_is_the_compact_json_of_the_snapshot(
    twin: Any, ids: list[str], content: str, objective: str | None, status: str
) -> None:
    value = snapshot([work(one, content, status) for one in ids], [decision(content, one) for one in ids[:1]])
    if objective is not None:
        value["objective"] = objective
    text = twin.Record.restore(value).to_json()
    assert type(text) is str
    assert text == compact(value)
    for spelling in (text, json.dumps(value), json.dumps(value, indent=3)):
        assert repr(both(twin, spelling)) == repr(value)
        assert twin.Record.from_json(spelling, True).to_json() == text


def test_a_large_record_goes_through_its_text(twin: Any) -> None:
    value = snapshot(
        [work(f"i{index}", f"日{index}") for index in range(10_000)], [decision(f"d{n}") for n in range(999)]
    )
    record = twin.Record.from_json(compact(value))
    assert record.snapshot() == value
    assert record.to_json() == compact(value)
    assert record.summary()["open"] == 10_000


def test_white_space_is_allowed_between_tokens(twin: Any) -> None:
    space = " \t\r\n"
    text = json.dumps(FULL)
    for token in '{}[],:"':
        if token != '"':
            text = text.replace(token, f"{space}{token}{space}")
    assert both(twin, text) == FULL
    for other in ("\u00a0", "\x0b", "\x0c", "\u2028", "\x00", "\ufeff", "\u3000"):
        for text in (other + EMPTY, EMPTY + other, EMPTY.replace(":", f":{other}")):
            assert refused(twin, text).startswith("not JSON: line 1, column ")


def test_keys_may_come_in_any_order_and_be_escaped(twin: Any) -> None:
    for keys in itertools.permutations(FULL):
        assert repr(both(twin, json.dumps({key: FULL[key] for key in keys}))) == repr(FULL)
    for keys in itertools.permutations(work()):
        item = {key: work()[key] for key in keys}
        assert repr(both(twin, json.dumps(snapshot([item])))) == repr(snapshot([work()]))
    text = (
        r'{"\u0073chemaVersion":1,"workItems":[{"\u0069d":"a","c\u006fntent":"x","status":"\u006fpen"}],"decisions":[]}'
    )
    assert both(twin, text) == snapshot([work("a", "x")])
    assert place(twin.Record.from_json, text.replace(r"\u006fpen", r"\u004fpen"))[0] == "workItems[0].status"


def test_escapes_are_read(twin: Any) -> None:
    text = EMPTY[:-1] + r',"objective":"\"\\\/\b\f\n\r\t\u0000\u00e9\u65E5\ud83d\ude00\uD83D\uDE00\u2028\u007f"}'
    assert both(twin, text)["objective"] == '"\\/\b\f\n\r\t\x00é日😀😀\u2028\x7f'
    for escape in (
        r"\x41",
        r"\'",
        r"\u12",
        r"\u12g4",
        r"\U0041",
        "\\",
        r"\ud83d",
        r"\ude00\ud83d",
        r"\ud83d\n",
        r"\ud83dx",
    ):
        for field in ("objective", "extra"):
            assert refused(twin, EMPTY[:-1] + f',"{field}":"{escape}"}}').startswith("not JSON")


def test_the_last_of_equal_keys_wins(twin: Any) -> None:
    assert both(twin, '{"schemaVersion":2,"workItems":[],"decisions":[],"schemaVersion":1}') == snapshot()
    assert place(twin.Record.from_json, EMPTY[:-1] + ',"schemaVersion":2}')[0] == "schemaVersion"
    assert both(twin, EMPTY[:-1] + ',"objective":1,"objective":"o"}')["objective"] == "o"
    assert place(twin.Record.from_json, EMPTY[:-1] + ',"objective":"o","objective":1}')[0] == "objective"
    assert both(twin, '{"workItems":[1,{}],' + EMPTY[1:]) == snapshot()
    assert place(twin.Record.from_json, EMPTY[:-1] + ',"decisions":[1]}')[0] == "decisions[0]"
    item = '{"id":"","id":"a","content":1,"content":"x","status":"no","status":"open"}'
    text = EMPTY.replace('"workItems":[]', f'"workItems":[{item}]')
    assert both(twin, text) == snapshot([work("a", "x")])
    assert place(twin.Record.from_json, text.replace('"open"', '"open","\\u0069d":""'))[0] == "workItems[0].id"
    assert both(twin, text.replace('"open"', '"open","\\u0069d":"b"')) == snapshot([work("b", "x")])


@pytest.mark.parametrize("number", ["1", "1.0", "1e0", "1E0", "10e-1", "0.1e1", "1.00000000000000000000001"])
def test_the_schema_version_may_be_written_as_any_number_that_is_1(twin: Any, number: str) -> None:
    assert repr(both(twin, EMPTY.replace("1", number))) == repr(snapshot())


@pytest.mark.parametrize("version", ["2", "-1", "0", "1.5", '"1"', "true", "null", "[1]", "18446744073709551617", "11"])
def test_another_schema_version_is_refused_in_a_text_too(twin: Any, version: str) -> None:
    assert place(twin.Record.from_json, EMPTY.replace("1", version))[0] == "schemaVersion"


@pytest.mark.parametrize("number", ["0", "-0", "9" * 30, "-" + "9" * 30, "1e308", "-1.5e-400", "18446744073709551616"])
def test_any_finite_number_is_dropped_with_its_unknown_field(twin: Any, number: str) -> None:
    assert both(twin, EXTRA % number) == snapshot()


MALFORMED = [
    *(
        "",
        " ",
        "{",
        "[",
        '"',
        "nul",
        "tru",
        "'",
        "{}}",
        "[]]",
        "{]",
        "[}",
        "{,}",
        "[,]",
        "[1,]",
        "[1 2]",
        "/**/{}",
        "{}//",
    ),
    *('{"a"}', '{"a":}', '{"a":1,}', "{a:1}", "{'a':1}", '{"a":1 "b":2}', '{"a" 1}', "{1:1}", '{"a\n":1}', '{"a":01}'),
    *(
        EMPTY * 2,
        f"{EMPTY},",
        f"{EMPTY}x",
        EMPTY[:-1],
        EMPTY[1:],
        EMPTY.replace("[]", "[],", 1),
        EMPTY.replace(",", ""),
    ),
    *(EXTRA % number for number in ("1e400", "-1e400", "1.", ".5", "+1", "1e", "0x1", "NaN", "Infinity", "-", "1_0")),
    *(EXTRA % f'"{chr(code)}"' for code in (0, 1, 9, 10, 13, 31)),
]


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_no_json_is_refused(twin: Any, text: str) -> None:
    assert refused(twin, text).startswith("not JSON: line ")


def test_no_beginning_of_a_text_is_one(twin: Any) -> None:
    text = json.dumps(FULL)
    for end in range(len(text)):
        assert refused(twin, text[:end]).startswith("not JSON: line 1, column ")


@pytest.mark.parametrize("value", ["null", "1", '"x"', "[]", "true", f"[{EMPTY}]"])
def test_a_text_of_something_else_than_an_object_is_refused(twin: Any, value: str) -> None:
    assert refused(twin, value).endswith(" is not a dict")


@pytest.mark.parametrize(
    "text",
    [None, 1, {}, FULL, bytearray(EMPTY, "ascii"), memoryview(EMPTY.encode()), own.Text(EMPTY), ["{}"], object()],
    ids=lambda text: type(text).__name__,
)
def test_only_a_str_or_bytes_is_a_text(twin: Any, text: Any) -> None:
    assert refused(twin, text).endswith(" is not a str or bytes")


def test_bytes_are_utf_8_without_a_byte_order_mark(twin: Any) -> None:
    text = json.dumps({**FULL, "objective": "日é😀"}, ensure_ascii=False)
    assert twin.Record.from_json(text.encode()).objective() == "日é😀"
    for encoded in (
        text.encode("utf-8-sig"),
        text.encode("utf-16"),
        text.encode("utf-32-le"),
        (EXTRA % '"é"').encode("latin-1"),
        *(
            (EXTRA % '"?"').encode().replace(b"?", bad)
            for bad in (b"\x80", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe6\x97")
        ),
    ):
        assert refused(twin, encoded).startswith("not JSON")
    assert refused(twin, EXTRA % '"\ud800"').startswith("not JSON")


def levels(count: int, start: str, end: str) -> str:
    return start * count + "1" + end * count


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"k":', "}"), ('[{"k":', "}]")])
def test_a_text_nests_at_most_200_levels(twin: Any, start: str, end: str) -> None:
    fitting = f"[{levels(198 // sum(map(start.count, '[{')), start, end)}]"
    assert both(twin, EXTRA % fitting) == snapshot()
    for deep in (f"[{fitting}]", levels(300, start, end)):
        assert refused(twin, EXTRA % deep) == TOO_DEEP
    assert place(twin.Record.from_json, EXTRA % fitting.replace("1", "[]"))[1] == TOO_DEEP


@pytest.mark.parametrize("count", [201, 1_000, 5_000, 100_000])
def test_deeper_text_never_crashes_wherever_it_is(twin: Any, count: int) -> None:
    deep = levels(count, "[", "]")
    item = f'{{"id":{deep},"content":"x","status":"open"}}'
    for text in (EXTRA % deep, deep, EMPTY.replace("[]", deep, 1), EMPTY.replace("[]", f"[{item}]", 1), "[" * count):
        refused(twin, text)


def test_faults_in_a_text_have_the_paths_of_the_snapshot(twin: Any) -> None:
    def reading(value: Any, *reject: bool) -> tuple[str, str]:
        return place(twin.Record.from_json, json.dumps(value), *reject)

    assert reading(snapshot([work(), work("b", "x", "finished")])) == (
        "workItems[1].status",
        "none of open, in_progress, blocked, done",
    )
    assert reading(snapshot([decision()])) == ("workItems[0].status", "missing")
    assert reading(snapshot([], [decision("\u3000")])) == ("decisions[0].id", "blank")
    assert reading(snapshot([work(1.5)])) == ("workItems[0].id", "float is not a str")
    assert reading({}) == ("schemaVersion", "missing")
    assert reading(snapshot([{**work(), "note": 1}], note=2), True) == ("note", "unknown field")
    assert reading(snapshot([{**work(), "note": 1}]), True) == ("workItems[0].note", "unknown field")
    error = refusal(twin.Record.from_json, json.dumps(snapshot([work("a\n"), work("a\n")])))
    assert parts(error) == (
        "duplicate_item_id", 'Duplicate work item id "a\\u000a".', "workItems[1].id", "there already", "a\n",
    )  # fmt: skip
