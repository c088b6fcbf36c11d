"""Agent states of some sizes, the same in every run, and what the record's peers make of one."""

from __future__ import annotations

import random
from typing import Any, Literal, NotRequired

import msgspec
import orjson
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from .states import FOREIGN, sentence

_STATUSES = ("open", "open", "in_progress", "blocked", "done", "done")


def agent_state(items: int) -> dict[str, Any]:
    """A snapshot of so many work items and a tenth as many decisions; every string is an object of its own."""
    rng = random.Random(items)
    snapshot = {
        "schemaVersion": 1,
        "workItems": [
            {"id": f"review/{number:05d}", "content": _content(rng, number), "status": rng.choice(_STATUSES)}
            for number in range(items)
        ],
        "decisions": [{"id": f"d{number}", "content": _content(rng, number)} for number in range(items // 10)],
        "objective": sentence(rng, 12),
    }
    loaded: dict[str, Any] = orjson.loads(orjson.dumps(snapshot))
    return loaded


def _content(rng: random.Random, number: int) -> str:
    content = sentence(rng, rng.randrange(4, 12)).capitalize() + "."
    if number % 5 == 3:
        content = f"{content} {rng.choice(FOREIGN)}"
    if number % 8 == 1:
        content = f'{content}\nQuote: "{sentence(rng, 3)}"'
    return content


Status = Literal["open", "in_progress", "blocked", "done"]


class WorkItemStruct(msgspec.Struct):
    id: str
    content: str
    status: Status


class DecisionStruct(msgspec.Struct):
    id: str
    content: str


class SnapshotStruct(msgspec.Struct):
    schemaVersion: Literal[1]  # noqa: N815 - the name in the wire format
    workItems: list[WorkItemStruct]  # noqa: N815
    decisions: list[DecisionStruct]
    objective: str | None = None


class WorkItemDict(TypedDict):
    id: str
    content: str
    status: Status


class DecisionDict(TypedDict):
    id: str
    content: str


class SnapshotDict(TypedDict):
    schemaVersion: Literal[1]
    workItems: list[WorkItemDict]
    decisions: list[DecisionDict]
    objective: NotRequired[str]


# msgspec and pydantic check types and statuses; neither looks for blank texts or ids that are there twice.
ADAPTER = TypeAdapter(SnapshotDict)
DECODER = msgspec.json.Decoder(SnapshotStruct)
