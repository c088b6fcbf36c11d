"""Read an `<agent_state>` block back, by its grammar alone, and hold it against the snapshot that it shows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

OPENING = "<agent_state>\n"
CLOSING = "\n</agent_state>"
ORDER = ["in_progress", "blocked", "open", "decision", "done"]
KINDS = {"unfinished work item": ORDER[:3], "decision": ["decision"], "finished work item": ["done"]}

_STRING = r'("(?:[^"\\\x00-\x1f]|\\.)*")(?: \(\+(\d+) characters\))?'
_TOTALS = re.compile(r"Work items: (\d+)(?: \(([^()]*)\))?\. Decisions: (\d+)\.")
_LEFT_OUT = re.compile(r"Not shown here: (.*)\.")
_OBJECTIVE = re.compile(f"Objective: {_STRING}")
_ITEM = re.compile(rf"- \[(\w+)\] {_STRING}: {_STRING}")


@dataclass
class Block:
    """What a block says. Each text comes with how many of its characters were left out."""

    held: dict[str, int]
    left_out: dict[str, int] = field(default_factory=dict)
    objective: tuple[str, int] | None = None
    items: list[tuple[str, tuple[str, int], tuple[str, int]]] = field(default_factory=list)


def parse(text: str) -> Block:
    """What a block says; an AssertionError for a line that no block has."""
    assert text.startswith(OPENING)
    assert text.endswith(CLOSING)
    lines = text[len(OPENING) : -len(CLOSING)].split("\n")
    totals = _TOTALS.fullmatch(lines.pop(0))
    assert totals is not None
    statuses = {name: int(count) for count, name in (part.split(" ") for part in (totals[2] or "").split(", ") if part)}
    assert sum(statuses.values()) == int(totals[1])
    block = Block({**statuses, "decision": int(totals[3])})
    if lines and lines[0].startswith("Not shown"):
        left_out = _LEFT_OUT.fullmatch(lines.pop(0))
        assert left_out is not None
        for part in left_out[1].split(", "):
            count, _, kind = part.partition(" ")
            assert (part == "the objective") or kind.endswith("s") == (int(count) > 1)
            block.left_out[kind.removesuffix("s")] = 1 if count == "the" else int(count)
    if lines and lines[0].startswith("Objective: "):
        found = _OBJECTIVE.fullmatch(lines.pop(0))
        assert found is not None
        block.objective = json.loads(found[1]), int(found[2] or 0)
    for line in lines:
        found = _ITEM.fullmatch(line)
        assert found is not None, line
        item_id, content = (json.loads(found[2]), int(found[3] or 0)), (json.loads(found[4]), int(found[5] or 0))
        block.items.append((found[1], item_id, content))
    return block


def in_order(snapshot: Any) -> list[tuple[str, Any]]:
    """Every item with its label, in the order in which a block shows them."""
    labelled = [(item["status"], item) for item in snapshot["workItems"]]
    labelled += [("decision", item) for item in snapshot["decisions"]]
    return sorted(labelled, key=lambda entry: ORDER.index(entry[0]))


def check_block(text: str, snapshot: Any) -> Block | None:
    """What holds for every block; gives what it says, None where it shows no more than that it shows nothing."""
    assert text.count("</agent_state") == 1
    text.encode()
    assert text.endswith(CLOSING)
    objective = "the objective, " if "objective" in snapshot else ""
    counts = f"{objective}{len(snapshot['workItems'])} work items, {len(snapshot['decisions'])} decisions"
    if text == f"{OPENING}Not shown here: {counts}.{CLOSING}" or OPENING.startswith(text.removesuffix(CLOSING)):
        return None
    block = parse(text)
    labelled = in_order(snapshot)
    held = {label: sum(label == other for other, _ in labelled) for label in ORDER}
    assert {label: count for label, count in held.items() if count or label == "decision"} == block.held
    for (label, item_id, content), (wanted, item) in zip(block.items, labelled, strict=False):
        assert label == wanted
        _check_text(item_id, item["id"])
        _check_text(content, item["content"])
    shown = {kind: sum(label in labels for label, *_ in block.items) for kind, labels in KINDS.items()}
    for kind, labels in KINDS.items():
        assert shown[kind] + block.left_out.get(kind, 0) == sum(held[label] for label in labels)
    if "objective" in snapshot:
        assert (block.objective is None) == ("objective" in block.left_out)
        if block.objective is None:
            assert not block.items
        else:
            _check_text(block.objective, snapshot["objective"])
    else:
        assert block.objective is None
        assert "objective" not in block.left_out
    return block


def _check_text(shown: tuple[str, int], whole: str) -> None:
    text, missing = shown
    assert whole.startswith(text)
    assert len(text) + missing == len(whole)
