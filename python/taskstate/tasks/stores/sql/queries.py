"""The statements of the `.sql` files by name, with what differs between the dialects put in.

A statement of the dialect's own folder goes before one of the same name in `common`. Braces mark what the
dialect words: `{now}`, `{lock}`, `{in:ids}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ....storage.statements import read_statements
from . import columns

_FILES = ("request", "work", "end", "upkeep", "look")
_MARK = re.compile(r"\{(\w+)(?::(\w+))?\}")
_WRITES = re.compile(r"\b(?:INSERT INTO|UPDATE taskstate|DELETE FROM)")

Words = Mapping[str, Callable[[str], str]]
"""What a dialect writes for each mark; the argument is what follows the colon."""


class Query(NamedTuple):
    """A statement, and whether it can change anything."""

    text: str
    writes: bool


def load(dialect: str, words: Words) -> dict[str, Query]:
    """All statements as a dialect has them; a mark that it has no word for is a KeyError."""
    known = {**_columns(), **words}

    def word(mark: re.Match[str]) -> str:
        return known[mark[1]](mark[2] or "")

    texts: dict[str, str] = {}
    for file in [*(f"common/{name}" for name in _FILES), f"{dialect}/own"]:
        texts.update(read_statements("taskstate.tasks", file))
    done = {name: _MARK.sub(word, text) for name, text in texts.items()}
    return {name: Query(text, bool(_WRITES.search(text))) for name, text in done.items()}


def _columns() -> Words:
    lists = {
        "claim_columns": columns.CLAIM,
        "lease_columns": columns.LEASE,
        "task_columns": columns.TASK,
        "wait_columns": columns.WAIT,
    }
    return {mark: lambda _, names=names: ", ".join(names) for mark, names in lists.items()}  # type: ignore[misc]
