"""The recorded cases, and which of them touch a rule by which this library is deliberately better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


def folder_of(kind: str) -> str:
    """The folder of `vectors` that a kind's file is in."""
    return kind.rpartition("/")[0] or "task_state"


def load(kind: str) -> list[dict[str, Any]]:
    """The cases of a kind, each with `name`, `input` and `expected`."""
    path = VECTORS / folder_of(kind) / f"{kind.rpartition('/')[2]}.json"
    cases: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return cases


def recorded(folder: str = "task_state") -> set[str]:
    """The kinds of which there are recorded cases in a folder."""
    prefix = "" if folder == "task_state" else f"{folder}/"
    return {f"{prefix}{path.stem}" for path in (VECTORS / folder).glob("*.json")}


def load_deviations(folder: str = "task_state") -> dict[tuple[str, str], str]:
    """The check of every case that touches a rule, by kind and name."""
    rules = json.loads((VECTORS / "deviations.json").read_text("utf-8"))
    entries = [entry for rule in rules.values() for entry in rule if folder_of(entry["kind"]) == folder]
    return {(entry["kind"], name): entry["check"] for entry in entries for name in entry["names"]}
