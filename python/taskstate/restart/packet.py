"""A packet's own hash, and whether a packet is still what a restart record says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Literal

import orjson

from ..errors import InvalidRecordError
from .assessment import Assessment
from .parts import Part
from .record import RestartRecord

KIND = "restart-handoff"


class PacketState(Part):
    """What a packet is worth now; the two columns answer different questions.

    `integrity` is about its bytes. `freshness` is `superseded` where the record or what was seen has moved on since,
    `ahead` where the record is an older one than the packet's, and `not_told` where altered bytes can't tell.
    """

    integrity: Literal["intact", "altered"]
    freshness: Literal["current", "superseded", "ahead", "not_told"]
    because: tuple[str, ...] = ()


def seal(packet: dict[str, Any]) -> dict[str, Any]:
    """The packet with its own hash."""
    return {**packet, "sha256": _hash(packet)}


def _hash(packet: dict[str, Any]) -> str:
    rest = {key: value for key, value in packet.items() if key != "sha256"}
    return hashlib.sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()


def write_handoff(packet: dict[str, Any]) -> bytes:
    """The packet as JSON text, the same bytes for the same one. Raises InvalidRecordError for what is no JSON data."""
    try:
        return orjson.dumps(packet)
    except TypeError as error:
        raise InvalidRecordError([("packet", str(error))]) from None


def read_handoff(text: bytes | str) -> dict[str, Any]:
    """The packet of a JSON text. Raises InvalidRecordError where it is none, or isn't as it was written."""
    try:
        packet = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise InvalidRecordError([("packet", "is no JSON")]) from None
    if not isinstance(packet, dict) or packet.get("kind") != KIND or packet.get("schemaVersion") != 1:
        raise InvalidRecordError([("packet", "is no handoff")])
    if _hash(packet) != packet.get("sha256"):
        raise InvalidRecordError([("packet.sha256", "the packet was altered")])
    return packet


def judge_handoff(
    packet: bytes | str | dict[str, Any], record: RestartRecord, assessment: Assessment | None = None
) -> PacketState:
    """Whether a packet is intact, and whether it is still current: against the record and, where given, what was seen.

    Raises InvalidRecordError for the packet of another task.
    """
    try:
        known = read_handoff(write_handoff(packet) if isinstance(packet, dict) else packet)
    except InvalidRecordError as error:
        return PacketState(integrity="altered", freshness="not_told", because=(str(error),))
    try:
        return _compare(known, record, assessment)
    except (KeyError, TypeError):  # sealed, but by something else: a hash is no proof of who wrote it
        raise InvalidRecordError([("packet", "is no handoff")]) from None


def _compare(packet: dict[str, Any], record: RestartRecord, assessment: Assessment | None) -> PacketState:
    if packet["task_id"] != record.task_id:
        raise InvalidRecordError([("packet.task_id", "is another task's")])
    mine, theirs = (packet["generation"], packet["state_version"]), (record.generation, record.state_version)
    if mine > theirs:
        told = f"state_version {mine[1]} of generation {mine[0]}, the record is at {theirs[1]} of {theirs[0]}"
        return PacketState(integrity="intact", freshness="ahead", because=(told,))
    moved = tuple(_moved(packet, record, assessment))
    return PacketState(integrity="intact", freshness="superseded" if moved else "current", because=moved)


def _moved(packet: dict[str, Any], record: RestartRecord, assessment: Assessment | None) -> Iterator[str]:
    told: list[str] = []
    for name in ("state_version", "generation"):
        told += _differs(name, packet[name], getattr(record, name))
    for name in ("objective", "criteria"):
        told += _differs(f"{name} version", packet[name]["version"], getattr(record, name).version)
    if not told and packet["record_sha256"] != record.sha256():
        told.append("the record says something else now")
    yield from told
    if assessment is None:
        return
    before = {source["id"]: "; ".join(source["because"]) for source in packet["evidence"]["sources"]}
    for item in assessment.items:
        if item.kind == "source" and item.id in before:
            yield from _differs(f"source {item.id}", before[item.id], "; ".join(item.because))
    groups = packet["evidence"]["artifacts"]
    units = [unit for name in ("verified", "to_check", "to_redo", "not_begun") for unit in groups[name]]
    verdicts = {unit["unit"]: unit["verdict"] for unit in units}
    for item in assessment.items:
        if item.kind == "unit" and item.id in verdicts:
            yield from _differs(f"unit {item.id}", verdicts[item.id], item.verdict)


def _differs(what: str, before: Any, now: Any) -> Iterator[str]:
    if before != now:
        yield f"{what} was {before}, now {now}"
