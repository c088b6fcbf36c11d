"""Records, observations and assessments for the tests of what is shown of them."""

from __future__ import annotations

import hashlib
from typing import Any

from taskstate.restart import Assessment, Observed, RestartRecord, SeenFile, SeenSource, assess


def digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def artifact(name: str, sources: dict[str, Any], state: str = "passed", **more: Any) -> dict[str, Any]:
    checked = {
        "verifier": "schema",
        "verifier_version": "1",
        "at": 5,
        "sha256": digest(name),
        "criteria": 3,
        "evidence": f"evidence/{name}.json",
    }
    if state == "failed":
        checked["reason"] = "2 of 40 tests failed"
    return {
        "location": f"out/{name}.json",
        "sha256": digest(name),
        "size": 10,
        "made_from": {"sources": sources, "objective": 2, "criteria": 3},
        "verification": {"state": state, **({} if state == "none" else checked)},
        **more,
    }


def supplier_review(**more: Any) -> RestartRecord:
    """Four proposals: two extracts are checked, a third is there unchecked, the fourth isn't begun."""
    units: dict[str, Any] = {f"extract:{name}": {"sources": [name]} for name in ("P1", "P2", "P3", "P4")}
    for name, state in (("P1", "verified"), ("P2", "verified"), ("P3", "present")):
        units[f"extract:{name}"] |= {"artifact": f"H{name[1]}", "state": state}
    units["comparison"] = {"units": list(units)}
    data = {
        "task_id": "supplier-review-22",
        "state_version": 8,
        "phase": "extracting",
        "objective": {"version": 2, "text": "Compare four proposals"},
        "criteria": {"version": 3, "items": {"price": "Total price", "warranty": "Months of warranty"}},
        "sources": {name: {"version": 6 if name == "P2" else 1} for name in ("P1", "P2", "P3", "P4")},
        "artifacts": {
            "H1": artifact("H1", {"P1": 1}),
            "H2": artifact("H2", {"P2": 6}),
            "H3": artifact("H3", {"P3": 1}, "none"),
        },
        "completion_rule": {"units": units, "covering": ["comparison"]},
        **more,
    }
    return RestartRecord.from_data(data)


def coding(**more: Any) -> RestartRecord:
    """Three files were edited, the tests ran and failed, and the worker lost its context."""
    names = ("parser", "lexer", "tests")
    units = {f"edit:{name}": {"sources": ["repo"], "artifact": name, "state": "present"} for name in names}
    data = {
        "task_id": "fix-parser",
        "state_version": 4,
        "revision": "9fceb02",
        "objective": {"version": 2, "text": "Accept nested comments"},
        "criteria": {"version": 3, "items": {"green": "All tests pass"}},
        "constraints": ["The public names stay"],
        "sources": {"repo": {"version": "9fceb02", "nature": "fixed"}},
        "artifacts": {name: artifact(name, {"repo": "9fceb02"}, "failed") for name in names},
        "failed_attempts": [
            {
                "id": "A1",
                "text": "the tests after the three edits",
                "command": "python -m pytest -q tests/parser",
                "exit_status": 1,
                "result": "logs/run-7.txt",
            }
        ],
        "hypotheses": [
            {
                "id": "Y1",
                "text": "The lexer drops the end mark",
                "confirmed_by": "a token dump of the failing input",
            }
        ],
        "next_step": {"text": "Dump the tokens of the failing input", "ends_when": "the dump is in logs/tokens.txt"},
        "completion_rule": {"units": units},
        **more,
    }
    return RestartRecord.from_data(data)


def seen(record: RestartRecord, now: int = 100, **more: Any) -> Observed:
    """Everything as it was recorded, unless `more` says otherwise."""
    files = {entry.location: SeenFile(sha256=entry.sha256, size=entry.size) for entry in record.artifacts.values()}
    sources = {name: SeenSource(version=source.version) for name, source in record.sources.items()}
    return Observed(now=now, **{"files": files, "sources": sources, **more})


def assessed(record: RestartRecord, **more: Any) -> Assessment:
    return assess(record, seen(record, **more))


def effect(state: str, **more: Any) -> dict[str, Any]:
    """An external write in this state."""
    settled = {"evidence": "receipts/1"} if state in ("applied", "not_applied") else {}
    data = {"kind": "mail", "target": "buyer", "idempotency_key": "k-1", "request_hash": digest("request")}
    return {**data, "state": state, **settled, **more}


def many(count: int = 40, verified: int = 10) -> RestartRecord:
    """A task of many units, of which the first are verified and the rest not begun."""
    done = {f"u{n}": {"artifact": f"a{n}", "state": "verified"} for n in range(verified)}
    return RestartRecord.from_data(
        {
            "task_id": "many",
            "state_version": 3,
            "objective": {"version": 2, "text": "Do it all"},
            "criteria": {"version": 3},
            "artifacts": {f"a{n}": artifact(f"a{n}", {}) for n in range(verified)},
            "completion_rule": {"units": {f"u{n}": done.get(f"u{n}", {}) for n in range(count)}},
        }
    )
