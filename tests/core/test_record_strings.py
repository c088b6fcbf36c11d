"""Long and odd ids and contents, the blank ones, lone surrogates, and what errors show of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from . import strategies as own
from .records import FULL, decision, parts, place, refusal, snapshot, work

SECRET = "s3cr3t"


def test_an_id_may_be_very_long_and_hold_newlines_and_null_characters(twin: Any) -> None:
    for item_id in ("i" * 100_000, "日" * 100_000, "a\nb", "\r\n a", "\x00", "a\x00b", "a\x00c", "\x7f", "😀" * 3):
        record = twin.Record.create({"workItems": [work(item_id)], "decisions": [decision(item_id)]})
        assert record.get_work_item(item_id) == work(item_id)
        assert twin.Record.from_json(record.to_json()).snapshot() == record.snapshot()
        assert refusal(record.add_work_item, work(item_id)).item_id == item_id
        assert record.remove_work_item(item_id) is True
        assert refusal(record.set_work_item_content, item_id, "x").item_id == item_id


@pytest.mark.parametrize(
    ("item_id", "shown"),
    [
        ("i" * 200, "i" * 200),
        ("i" * 201, "i" * 200 + "..."),
        ("日😀" * 1000, "日😀" * 100 + "..."),
        ("\n" * 99_999 + "x", "\\u000a" * 200 + "..."),
        ('q"\\', 'q"\\'),
        ("\x00\x1f\x20\x7e\x7f\x80\x9f\xa0x", "\\u0000\\u001f\x20\x7e\\u007f\\u0080\\u009f\xa0x"),
        ("\u200b\u2028\u202ex", "\u200b\u2028\u202ex"),
    ],
)
def test_a_message_shows_the_start_of_an_id_without_control_characters(twin: Any, item_id: str, shown: str) -> None:
    record = twin.Record.create()
    error = refusal(record.set_work_item_status, item_id, "done")
    assert parts(error) == ("unknown_item_id", f'Unknown work item id "{shown}".', "id", "not there", item_id)
    error = refusal(twin.Record.create, {"decisions": [decision(item_id), decision(item_id)]})
    assert error.message == f'Duplicate decision id "{shown}".'
    assert error.item_id == item_id


BLANKS = [0x9, 0xA, 0xB, 0xC, 0xD, 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
          0xFEFF]  # fmt: skip
NEAR_BLANKS = [0x0, 0x8, 0xE, 0x1C, 0x1D, 0x1E, 0x1F, 0x7F, 0x85, 0x180E, 0x200B, 0x200C, 0x200D, 0x2027, 0x202A,
               0x2060, 0x2800, 0x3164, 0xFFFE]  # fmt: skip


def test_exactly_25_characters_are_blank(twin: Any) -> None:
    assert len(BLANKS) == 25
    every = "".join(map(chr, BLANKS))
    record = twin.Record.create({"workItems": [work()]})
    for blank in ("", every, *every, *(sign * 3 for sign in every)):
        assert place(record.add_work_item, work(blank)) == ("id", "blank")
        assert place(record.add_decision, decision("x", blank)) == ("content", "blank")
        assert place(record.set_work_item_content, "a", blank) == ("content", "blank")
        assert place(twin.Record.from_json, json.dumps(snapshot([work(blank)]))) == ("workItems[0].id", "blank")
    for code in sorted({*range(0x3100), *range(0xFE00, 0x10000), *NEAR_BLANKS} - {*BLANKS}):
        assert record.set_work_item_content("a", chr(code))["content"] == chr(code)
    for code in NEAR_BLANKS:
        text = f"{every}{chr(code)}{every}"
        assert record.add_work_item(work(text, text)) == work(text, text)
        assert record.remove_work_item(text) is True


@pytest.mark.parametrize("text", ["\ud800", "ab\ud83d", "日\udc00x", "\ude00\ud83d", "x" * 300 + "\ud800", " \ud800"])
def test_a_lone_surrogate_is_refused_wherever_it_would_be_kept(twin: Any, text: str) -> None:
    reason = "string holds a lone surrogate"
    record = twin.Record.restore(FULL)
    assert place(record.add_work_item, work(text)) == ("id", reason)
    assert place(record.add_work_item, work("x", text)) == ("content", reason)
    assert place(record.add_decision, decision("x", text)) == ("content", reason)
    assert place(record.set_objective, text) == ("objective", reason)
    assert place(record.set_work_item_content, "a", text) == ("content", reason)
    assert place(record.set_work_item_status, text, "done") == ("id", reason)
    assert place(record.set_work_item_status, "a", text)[0] == "status"
    assert place(twin.Record.create, {"objective": text}) == ("objective", reason)
    assert place(twin.Record.restore, snapshot([], [decision(text)])) == ("decisions[0].id", reason)
    assert record.get_work_item(text) is record.get_decision(text) is None
    assert record.remove_work_item(text) is record.remove_decision(text) is False
    assert record.snapshot() == FULL
    dropped = twin.Record.restore(snapshot([{**work(), text: text}], note=text))
    assert dropped.snapshot() == snapshot([work()])


def test_no_error_tells_a_content(twin: Any) -> None:
    record = twin.Record.restore(snapshot([work("a", SECRET)], objective=SECRET))
    for call, argument in (
        (record.add_work_item, work("a", SECRET)),
        (record.add_work_item, work(" ", SECRET)),
        (record.add_work_item, work("x", [SECRET])),
        (record.add_work_item, work("x", own.Text(SECRET))),
        (record.add_work_item, work("x", SECRET, SECRET)),
        (record.add_work_item, work("x", f"{SECRET}\ud800")),
        (record.add_decision, decision({SECRET: SECRET}, SECRET)),
        (record.add_decision, SECRET),
        (record.set_objective, [SECRET]),
        (twin.Record.restore, {**snapshot(), "schemaVersion": SECRET}),
        (twin.Record.restore, snapshot(SECRET)),
        (twin.Record.restore, snapshot([work("a", SECRET), SECRET])),
        (twin.Record.from_json, f'{{"objective": "{SECRET}'),
        (twin.Record.from_json, json.dumps(snapshot([work("a", SECRET, SECRET)], objective=SECRET))),
        (twin.Record.from_json, SECRET),
    ):
        error = refusal(call, argument)
        said = [*map(str, parts(error)), str(error), repr(error), *error.__notes__]
        assert SECRET not in "".join(said)
        assert error.__cause__ is None
        assert error.__suppress_context__ or error.__context__ is None
