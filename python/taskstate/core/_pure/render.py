"""Render the `<task_state>` block: the reference for `rust/src/render`."""

from __future__ import annotations

import json
import math
from typing import Any

from ..faults import state_fault
from ..limits import MAX_DEPTH
from .number import float_text
from .state import check_checkpoints, check_shape
from .value import MAX_INT, MIN_INT, Fault

OPENING = "<task_state>\n"
CLOSING = "\n</task_state>"


def units(text: str) -> int:
    """How many UTF-16 code units a text has."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


class _Full(Exception):
    """The writer has as much text as the budget can show."""


class _Writer:
    """Writes indented JSON until `limit` UTF-16 code units are there."""

    def __init__(self, limit: int | None, room: int = 0) -> None:
        self.limit = limit
        self.used = room
        self.parts: list[str] = []

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.used += units(text)
        if self.limit is not None and self.used > self.limit:
            raise _Full

    def text(self) -> str:
        return "".join(self.parts)

    def string(self, value: str, kind: str) -> None:
        # A text cut inside a long string needs no more of it than the limit lets through.
        shown = value if self.limit is None else value[: max(self.limit - self.used, 0) + 16]
        text = json.dumps(shown, ensure_ascii=False).replace("</task_state", "<\\/task_state")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Fault(kind) from None
        if len(shown) < len(value):
            text = text[:-1]
        self.put(text)

    def value(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind is str:
            self.string(value, "surrogate")
        elif kind is dict or kind is list or kind is tuple:
            self.container(value, depth)
        elif value is None or kind is bool:
            self.put("null" if value is None else "true" if value else "false")
        elif kind is int:
            if not MIN_INT <= value <= MAX_INT:
                raise Fault("int_range")
            self.put(str(value))
        elif kind is float:
            if not math.isfinite(value):
                raise Fault("not_finite")
            self.put(float_text(value))
        else:
            raise Fault("not_json", value)

    def container(self, value: Any, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise Fault("too_deep")
        opening, closing = "{}" if type(value) is dict else "[]"
        if not value:
            self.put(opening + closing)
            return
        self.put(opening)
        entries = value.items() if opening == "{" else enumerate(value)
        for index, (key, item) in enumerate(entries):
            self.put((",\n" if index else "\n") + "  " * (depth + 1))
            if opening == "{":
                self.key(key)
            try:
                self.value(item, depth + 1)
            except Fault as fault:
                raise fault.at(key) from None
        self.put("\n" + "  " * depth + closing)

    def key(self, key: Any) -> None:
        if type(key) is not str:
            raise Fault("bad_key", key)
        self.string(key, "key_surrogate")
        self.put(": ")


def render_block(state: Any, limit: int | None) -> tuple[str, int]:
    """The `<task_state>` block within `limit` UTF-16 code units (None for no limit), and how many it has.

    See `taskstate.core.render`, which counts in tokens.
    """
    head, entries, count, tail, whole = render_parts(state, limit)
    used = units(head) + units(tail)
    if whole:
        kept = count
        while True:
            if kept <= len(entries):
                size = used + array_units(entries, kept)
                if limit is None or size <= limit:
                    return head + array_text(entries, kept) + tail, size
            if not kept:
                break
            kept //= 2
    assert limit is not None
    text = cut(head + array_text([], 0) + tail, limit - len(CLOSING)) + CLOSING
    return text, units(text)


def render_parts(state: Any, limit: int | None) -> tuple[str, list[str], int, str, bool]:
    """The block in pieces, read no further than `limit` UTF-16 code units ask for.

    Gives the text before the checkpoints, the newest checkpoints that there is room for (oldest first),
    how many there are in all, the text after them, and whether the texts are whole.
    """
    check_shape(state, "")
    check_checkpoints(state["checkpoints"], "")
    head = writer = _Writer(limit)
    tail = None
    try:
        head.put(OPENING)
        head.put("{")
        for index, (key, value) in enumerate(state.items()):
            writer.put(",\n  " if index else "\n  ")
            writer.key(key)
            try:
                if key == "checkpoints":
                    writer = tail = _Writer(limit, head.used)
                elif key == "files":
                    _files(writer, value)
                else:
                    writer.value(value, 1)
            except Fault as fault:
                raise fault.at(key) from None
        writer.put("\n}")
        writer.put(CLOSING)
        entries = _entries(state["checkpoints"], None if limit is None else limit - writer.used)
    except _Full:
        return head.text(), [], len(state["checkpoints"]), tail.text() if tail else "", False
    except Fault as fault:
        raise fault.error("", state) from None
    return head.text(), entries, len(state["checkpoints"]), writer.text(), True


def array_units(entries: list[str], kept: int) -> int:
    """The size of the checkpoint array with the newest `kept` entries."""
    return sum(map(units, entries[len(entries) - kept :])) + 2 * kept + 4 if kept else 2


def array_text(entries: list[str], kept: int) -> str:
    """The checkpoint array with the newest `kept` entries."""
    return "[\n" + ",\n".join(entries[len(entries) - kept :]) + "\n  ]" if kept else "[]"


def cut(text: str, size: int) -> str:
    """The first `size` UTF-16 code units of a text, less the half of a pair that the cut would split."""
    if size <= 0:
        return ""
    if text.isascii():
        return text[:size]
    return text.encode("utf-16-le")[: 2 * size].decode("utf-16-le", "ignore")


def _entries(checkpoints: list[Any], room: int | None) -> list[str]:
    """The newest checkpoints as indented JSON, oldest first, as many as `room` can hold."""
    entries: list[str] = []
    used = 4
    for index in range(len(checkpoints) - 1, -1, -1):
        writer = _Writer(None)
        try:
            writer.value(checkpoints[index], 2)
        except Fault as fault:
            raise fault.at(index).at("checkpoints") from None
        entry = "    " + writer.text()
        used += units(entry) + 2
        if room is not None and used > room:
            break
        entries.append(entry)
    return entries[::-1]


def _files(writer: _Writer, files: list[Any]) -> None:
    if not files:
        writer.put("[]")
        return
    writer.put("[")
    for index, file in enumerate(files):
        if type(file) is not str:
            raise state_fault("a str", "", ("files", index), file)
        writer.put((",\n" if index else "\n") + "    ")
        try:
            writer.string(file, "surrogate")
        except Fault as fault:
            raise fault.at(index) from None
    writer.put("\n  ]")
