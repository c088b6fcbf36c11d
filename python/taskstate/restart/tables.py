"""Restart records, assessments and plans as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_COLUMNS = ("verdict", "integrity", "freshness", "scope")


def record_lines(record: dict[str, Any]) -> Iterator[str]:
    """A record, as `model_dump` gives it; each kind of thing in a table of its own, hypotheses last and labelled."""
    objective, criteria, rule = record["objective"], record["criteria"], record["completion_rule"]
    yield f"Task {_text(record['task_id'])}: {record['status']}, phase {_text(record['phase'] or '-')}"
    yield f"State version {record['state_version']}, generation {record['generation']}"
    if record["revision"]:
        yield f"Revision {_text(record['revision'])}"
    scope = objective["scope"]
    versions = ", ".join(f"{name} at {version}" for name, version in scope["versions"].items())
    yield f"Objective {objective['version']}: {_text(objective['text'])}"
    yield f"Scope: {'the latest state of its sources' if scope['kind'] == 'latest' else _text(versions)}"
    yield from (f"Constraint: {_text(constraint)}" for constraint in record["constraints"])
    allowed = [f"{allowed['kind']} to {allowed['target'] or 'any'}" for allowed in record["authorized"]]
    yield f"External writes authorized: {_text(', '.join(allowed)) if allowed else 'none'}"
    criterion_rows = [(criterion, text) for criterion, text in criteria["items"].items()]
    yield from _section(f"Criteria, version {criteria['version']}", ("criterion", "text"), criterion_rows)
    source_rows = [
        (name, source["version"], source["nature"], _or_none(source["expires_at"]), source["location"] or "-")
        for name, source in record["sources"].items()
    ]
    yield from _section("Sources", ("source", "version", "nature", "expires", "location"), source_rows)
    unit_rows = [(name, unit["state"], _or_none(unit["artifact"])) for name, unit in rule["units"].items()]
    yield from _section("Required units", ("unit", "state", "artifact"), unit_rows)
    artifact_rows = [_artifact(name, artifact) for name, artifact in record["artifacts"].items()]
    artifact_rows += [_artifact(entry["id"], entry["artifact"], "superseded") for entry in record["superseded"]]
    yield from _section("Artifacts", ("artifact", "check", "nature", "sha256", "location"), artifact_rows)
    effect_rows = [
        (name, effect["state"], effect["kind"], effect["target"], _or_none(effect["evidence"]))
        for name, effect in record["pending_effects"].items()
    ]
    yield from _section("Effects", ("effect", "state", "kind", "target", "evidence"), effect_rows)
    attempt_rows = [
        (entry["id"], _or_none(entry["command"]), _or_none(entry["exit_status"]), _or_none(entry["result"]))
        for entry in record["failed_attempts"]
    ]
    yield from _section("Failed attempts", ("attempt", "command", "exit status", "result"), attempt_rows)
    for title, name in (("Decisions", "decisions"), ("Unresolved", "unresolved")):
        yield from _section(title, ("id", "text"), [(entry["id"], entry["text"]) for entry in record[name]])
    hypothesis_rows = [(entry["id"], entry["text"], entry["confirmed_by"]) for entry in record["hypotheses"]]
    yield from _section("Hypotheses: no evidence", ("id", "text", "confirmed by"), hypothesis_rows)
    if record["next_step"]:
        yield ""
        step = record["next_step"]
        yield f"Intended next: {_text(step['text'])}; ends when {_text(step['ends_when'])}"


def assessment_lines(assessment: dict[str, Any], standing: str) -> Iterator[str]:
    """An assessment, as `model_dump` gives it, with its four columns apart."""
    yield from _heading(assessment)
    yield f"{standing[0].upper()}{standing[1:]}."
    rows = [
        (item["kind"], item["id"], *(_dash(item[name]) for name in _COLUMNS), "; ".join(item["because"]))
        for item in assessment["items"]
    ]
    yield from _section("Findings", ("kind", "id", *_COLUMNS, "because"), rows)
    missing = [(entry["what"], entry["id"], entry["reason"]) for entry in assessment["missing"]]
    yield from _section("Missing", ("what", "id", "reason"), missing)
    yield from _list("Unresolved", assessment["unresolved"])


def plan_lines(plan: dict[str, Any]) -> Iterator[str]:
    """A plan, as `model_dump` gives it, in the order in which it is carried out."""
    yield from _heading(plan)
    kept = ", ".join(plan["resumes_from"])
    yield f"Resumes from: {_text(kept) if kept else 'the beginning; nothing is verified and current'}"
    rows = [
        (number, step["op"], step["subject"], "; ".join(step["because"]))
        for number, step in enumerate(plan["transitions"], 1)
    ]
    yield from _section("Transitions", ("", "do", "to", "because"), rows)
    if not rows:
        yield "Nothing is due."
    yield from _list("Unresolved", plan["unresolved"])


def _heading(data: dict[str, Any]) -> Iterator[str]:
    yield f"Task {_text(data['task_id'])} at state version {data['state_version']}"
    yield f"Scope: {_text(data['scope'])}"


def _artifact(name: str, artifact: dict[str, Any], note: str = "") -> tuple[str, ...]:
    check = artifact["verification"]
    by = "" if check["state"] == "none" else f" by {check['verifier']}@{check['verifier_version']}"
    state = {"none": "unchecked"}.get(check["state"], check["state"])
    told = ", ".join(part for part in (note, f"{state}{by}", check["reason"]) if part)
    return name, told, artifact["nature"], artifact["sha256"][:12], artifact["location"]


def _section(title: str, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A table under its title; nothing where there is nothing to show."""
    cells = [[_text(str(cell)) for cell in row] for row in rows]
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    yield ""
    yield title
    for row in (headers, *cells):
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(padded)}".rstrip()


def _list(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield from ("", title, *(f"  {_text(entry)}" for entry in entries))


def _or_none(value: Any) -> Any:
    return "-" if value is None else value


def _dash(value: str) -> str:
    return "-" if value == "none" else value


def _text(text: str) -> str:
    """A text on one line, without what a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
