"""The `<restart_record>` block that shows a model where a task stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ..core.lines import Group, Layout, Quote, fit
from ..core.tokens import CountTokens, checked, estimate_tokens, whole_tokens
from .assessment import Assessment
from .handoff import handoff
from .record import RestartRecord
from .secrets import Mode

_Write: TypeAlias = Callable[[Any, Quote], str]


def render_restart_record(
    record: RestartRecord,
    assessment: Assessment,
    budget: float,
    count_tokens: CountTokens | None = None,
    *,
    secrets: Mode = "redact",
) -> str:
    """The block that shows a model in at most `budget` tokens what is true of a task and what to do next.

    It begins with the record's version, whether the task is complete, the scope, how many of the units are verified,
    and how much is left out. Then come the objective, the next step, unsettled effects, constraints, units to work
    on, observed results, open issues, hypotheses and what is verified; what comes first is kept longest. Each line
    says whether it is a result or a hypothesis. Long texts are cut before anything is left out, and say by how much.
    The closing tag always stays. A budget above 0 is floored, but not below 1; one of 0 or less, or infinity, gives
    the whole block.

    `count_tokens` counts with a real tokenizer; without it a token is four UTF-16 code units. What looks like a
    secret is redacted, or refused with SecretError. Raises InvalidRecordError for an assessment of another record,
    and InvalidBudgetError for NaN or no number.
    """
    tokens = whole_tokens(budget)
    count = estimate_tokens if count_tokens is None else checked(count_tokens)
    return fit(_layout(handoff(record, assessment, secrets=secrets)), tokens, count)


def _layout(packet: dict[str, Any]) -> Layout:
    units = packet["coverage"]["verified_units"]["of"]
    unsettled = len(packet["evidence"]["effects"]["unsettled"])
    version = packet["state_version"]
    return Layout(
        tag="restart_record",
        head=lambda quoted: list(_head(packet, quoted)),
        groups=list(_groups(packet)),
        line=lambda _, entry, quoted: entry[0](entry[1], quoted),
        brief=f"the record at state_version {version}, {units} units, {unsettled} unsettled effects",
        characters=_characters(packet),
    )


def _head(packet: dict[str, Any], quoted: Quote) -> Iterator[str]:
    revision = f", revision {quoted(packet['revision'])}" if packet["revision"] is not None else ""
    phase = f", phase {quoted(packet['phase'])}" if packet["phase"] else ""
    yield (
        f"Task {quoted(packet['task_id'])} at state_version {packet['state_version']}, generation "
        f"{packet['generation']}, assessed at {packet['assessed_at']}; {packet['status']}{phase}{revision}."
    )
    yield f"{packet['standing'][0].upper()}{packet['standing'][1:]}."
    yield f"Scope: {quoted(packet['objective']['scope'])}."
    verified = packet["coverage"]["verified_units"]
    counts = [
        f"Verified: {verified['verified']} of {verified['of']} units",
        f"Unsettled effects: {len(packet['evidence']['effects']['unsettled'])}",
        f"External writes: {'as authorized below' if packet['authorized'] else 'none authorized'}",
    ]
    yield ". ".join(counts) + "."


def _groups(packet: dict[str, Any]) -> Iterator[Group]:
    evidence = packet["evidence"]
    artifacts = evidence["artifacts"]
    due = [unit for name in ("to_check", "to_redo", "not_begun") for unit in artifacts[name]]
    yield Group("the objective", "", [(_objective, packet["objective"])])
    yield Group("the next step", "", [(_next_step, packet["next_step"])])
    yield _group("unsettled effects", _effect, evidence["effects"]["unsettled"])
    yield _group("constraints", _constraint, packet["constraints"])
    yield _group("units to work on", _unit, due)
    yield _group("observed results", _result, evidence["results"])
    yield _group("files in no record", _file, artifacts["unindexed"])
    yield _group("artifacts of no required unit", _artifact, artifacts["not_required"])
    yield _group("unresolved issues", _note("unresolved"), packet["unresolved"])
    yield _group("hypotheses", _hypothesis, packet["hypotheses"])
    yield _group("criteria", _note("criterion"), packet["criteria"]["items"])
    yield _group("verified units", _unit, artifacts["verified"])
    yield _group("decisions", _note("decision"), packet["decisions"])
    yield _group("authorized writes", _authorized, packet["authorized"])
    yield _group("sources", _source, evidence["sources"])
    yield _group("settled effects", _effect, evidence["effects"]["settled"])
    yield _group("superseded artifacts", _artifact, artifacts["superseded"])


def _group(name: str, write: _Write, entries: Sequence[Any]) -> Group:
    counted = f"of {len(entries)} {name}"
    return Group(counted, counted, [(write, entry) for entry in entries])


def _objective(entry: Any, quoted: Quote) -> str:
    return f"Objective {entry['version']}: {quoted(entry['text'])}"


def _next_step(entry: Any, quoted: Quote) -> str:
    if entry is None:
        return "Next step: none is due."
    return f"Next step, from {entry['from']}: {quoted(entry['text'])}; ends when {quoted(entry['ends_when'])}"


def _effect(entry: Any, quoted: Quote) -> str:
    shown = f"- [effect {entry['state']}] {quoted(entry['id'])}: {quoted(entry['kind'])} to {quoted(entry['target'])}"
    if "evidence" in entry:
        shown += f", evidence {quoted(entry['evidence'])}"
    return f"{shown}, idempotency key {quoted(entry['idempotency_key'])}; {quoted('; '.join(entry['because']))}"


def _constraint(entry: Any, quoted: Quote) -> str:
    return f"- [constraint] {quoted(entry)}"


def _unit(entry: Any, quoted: Quote) -> str:
    return f"- [unit: {entry['verdict']}] {quoted(entry['unit'])}{_where(entry, quoted)}"


def _artifact(entry: Any, quoted: Quote) -> str:
    return f"- [artifact: {entry['verdict']}] {quoted(entry['artifact'])}{_where(entry, quoted)}"


def _where(entry: Any, quoted: Quote) -> str:
    """Where an artifact is and what the four columns say of it."""
    place = f" in {quoted(entry['location'])}, sha256 {entry['sha256'][:12]}" if "location" in entry else ""
    columns = [f"{name} {entry[name]}" for name in ("integrity", "freshness", "scope") if entry[name] != "none"]
    if "nature" in entry:
        until = f" until {entry['expires_at']}" if "expires_at" in entry else ""
        columns.append("fixed input" if entry["nature"] == "fixed" else f"current-state observation{until}")
    shown = f": {', '.join(columns)}" if columns else ""
    return f"{place}{shown}; because {quoted('; '.join(entry['because']))}"


def _result(entry: Any, quoted: Quote) -> str:
    parts = [f"- [observed result: failed] {quoted(entry['id'])}: {quoted(entry['text'])}"]
    if "command" in entry:
        parts.append(f"command {quoted(entry['command'])}")
    if "exit_status" in entry:
        parts.append(f"exit status {entry['exit_status']}")
    if "result" in entry:
        parts.append(f"result {quoted(entry['result'])}")
    return ", ".join(parts)


def _file(entry: Any, quoted: Quote) -> str:
    return f"- [file: orphan] {quoted(entry)}: check it, then attach it or clean it up"


def _note(label: str) -> _Write:
    return lambda entry, quoted: f"- [{label}] {quoted(entry['id'])}: {quoted(entry['text'])}"


def _hypothesis(entry: Any, quoted: Quote) -> str:
    told = f"{quoted(entry['id'])}: {quoted(entry['text'])}"
    return f"- [{entry['label']}] {told}, confirmed only by {quoted(entry['confirmed_by'])}"


def _authorized(entry: Any, quoted: Quote) -> str:
    return f"- [authorized write] {quoted(entry['kind'])} to {quoted(entry['target']) if 'target' in entry else 'any'}"


def _source(entry: Any, quoted: Quote) -> str:
    version = quoted(entry["version"]) if isinstance(entry["version"], str) else entry["version"]
    nature = "fixed input" if entry["nature"] == "fixed" else "current-state observation"
    until = f" until {entry['expires_at']}" if "expires_at" in entry else ""
    return f"- [source] {quoted(entry['id'])} at version {version}: {nature}{until}, freshness {entry['freshness']}"


def _characters(value: Any) -> int:
    """How many characters the texts of JSON data have."""
    if isinstance(value, dict):
        return sum(_characters(item) for item in value.values())
    if isinstance(value, list):
        return sum(_characters(item) for item in value)
    return len(value) if isinstance(value, str) else 1
