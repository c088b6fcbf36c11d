"""Tasks as lines for a terminal. Names and states only: what a task was given and what it made is for `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from .plain import TaskInfo, WaitInfo

_WIDTH = 60
"""Of a cell, at most."""


def printable(text: str) -> str:
    """A text in one line that can't steer a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def task_lines(tasks: Sequence[TaskInfo]) -> list[str]:
    """A line for each task, below a head."""
    rows: list[Sequence[str]] = [("id", "name", "state", "attempt", "created", "because")]
    for task in tasks:
        attempt = f"{task['attempt']}/{task['max_attempts']}"
        rows.append((task["id"], task["name"], task["state"], attempt, _time(task["created_at"]), _because(task)))
    return list(_aligned(rows)) if tasks else ["No tasks."]


def show_lines(
    task: TaskInfo, history: Mapping[str, Sequence[Mapping[str, Any]]], waits: Sequence[WaitInfo]
) -> list[str]:
    """A task and what is recorded of it."""
    lines = [f"{task['name']} {task['id']}: {task['state']}"]
    for name in (
        "version", "mode", "owner", "conversation", "generation", "single_flight", "parent_id", "worker",
        "resume_reason", "error_code", "error",
    ):  # fmt: skip
        value = task[name]
        if value not in (None, ""):
            lines.append(f"  {name.replace('_', ' ')}: {value}")
    for name in ("created_at", "started_at", "available_at", "cancel_requested_at", "finished_at"):
        at = task[name]  # type: ignore[literal-required]
        if at is not None:
            lines.append(f"  {name.removesuffix('_at').replace('_', ' ')}: {_time(at)}")
    lines += _part("attempts", [_attempt(row) for row in history["attempts"]])
    lines += _part("checkpoints", [(row["key"], f"{row['bytes']} bytes") for row in history["checkpoints"]])
    opened = [(wait["kind"], wait["name"] or "", wait["id"], f"task {wait['task_id']}") for wait in waits]
    lines += _part("waits for", opened)
    sent = [(row["target"], row["kind"], row["state"], row["reason"] or "") for row in history["deliveries"]]
    lines += _part("deliveries", sent)
    return [printable(line) for line in lines]


def _attempt(row: Mapping[str, Any]) -> Sequence[str]:
    told = [row["code"] or ""]
    if row["in_flight"]:
        told.append(f"in flight: {', '.join(row['in_flight'])}")
    if row["late"] is not None:
        told.append(f"late: {row['late']['kind']}")
    return (
        str(row["fence"]),
        row["outcome"] or "running",
        _time(row["started_at"]),
        row["worker"],
        "; ".join(filter(None, told)),
    )


def _part(title: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield f"  {title}:"
        yield from (f"    {line}" for line in _aligned(rows))


def _because(task: TaskInfo) -> str:
    reason = task["error_code"] or (task["resume_reason"] if task["state"] == "suspended" else None)
    return reason or ("asked to cancel" if task["cancel_requested_at"] and task["state"] == "running" else "")


def _time(at: int | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _aligned(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    cells = [[_cut(printable(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
