"""Checks of real files, and the evidence that they leave."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from taskstate.errors import ConfigurationError, StorageError, TransitionError
from taskstate.restart import Observed, RestartRecord, apply, assess
from taskstate.restart.parts import Verification
from taskstate.restart.probes import FileProbe
from taskstate.restart.transitions import Transition, Verified
from taskstate.restart.verifiers import Check, Finding, Subject, Verifiers, hash_check, schema_check

from .disk import open_handles, put, readable_by_all, record_of, seen, without_privileges

pytestmark = pytest.mark.once

NOW = 1_234


def verify(root: Path, check: Check, record: RestartRecord | None = None, unit_id: str = "u0") -> Verification:
    verifiers = Verifiers(clock=lambda: NOW)
    verifiers.register("check", "1.2", check)
    verified = asyncio.run(verifiers.verify(record or record_of("a", verifier="check"), unit_id, root))
    assert type(verified) is Verified
    return verified.verification


def evidence_of(root: Path, verification: Verification) -> Any:
    assert verification.evidence is not None
    return orjson.loads((root / verification.evidence).read_bytes())


def test_a_check_that_passes_makes_its_unit_verified(tmp_path: Path) -> None:
    put(tmp_path, "a")
    record = record_of("a", verifier="check")
    made = verify(tmp_path, hash_check, record)
    evidence = made.evidence
    assert made == Verification(
        state="passed",
        verifier="check",
        verifier_version="1.2",
        at=NOW,
        sha256=record.artifacts["a0"].sha256,
        criteria=1,
        objective=1,
        evidence=evidence,
    )
    after = apply(record, Transition(op="validate", subject="u0"), Verified(verification=made))
    assert after.completion_rule.units["u0"].state == "verified"
    observed = Observed(now=NOW, files=asyncio.run(FileProbe(tmp_path).look(after)).files)
    assert assess(after, observed).complete


def test_the_evidence_is_a_private_file_named_after_its_hash(tmp_path: Path) -> None:
    put(tmp_path, "a")
    made = verify(tmp_path, lambda _: Finding(True, details={"rows": 3}))
    assert made.evidence is not None
    path = tmp_path / made.evidence
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert made.evidence == f"evidence/{hashlib.sha256(path.read_bytes()).hexdigest()}.json"
    assert evidence_of(tmp_path, made) == {
        "schemaVersion": 1,
        "task_id": "task",
        "unit": "u0",
        "artifact": "a0",
        "location": "a",
        "size": 4,
        "state": "passed",
        "verifier": "check",
        "verifier_version": "1.2",
        "at": NOW,
        "sha256": seen(b"text").sha256,
        "criteria": 1,
        "objective": 1,
        "details": {"rows": 3},
    }
    assert asyncio.run(FileProbe(tmp_path).look(record_of("a"))).unindexed == {}


@pytest.mark.parametrize("broken", ["write", "fsync", "rename"])
def test_evidence_that_can_not_be_kept_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    put(tmp_path, "a")
    (tmp_path / "evidence").mkdir()

    def full(*_: Any, **__: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, full)
    before = open_handles()
    with pytest.raises(StorageError, match=r"evidence/.*No space left"):
        verify(tmp_path, hash_check)
    assert open_handles() == before
    assert list((tmp_path / "evidence").iterdir()) == []


def test_evidence_is_never_written_through_a_link(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "a")
    (tmp_path / "outside").mkdir()
    (root / "evidence").symlink_to(tmp_path / "outside")
    with pytest.raises(StorageError, match="can't be written"):
        verify(root, hash_check)
    assert list((tmp_path / "outside").iterdir()) == []


class TestBytes:
    def test_other_bytes_than_those_recorded_fail_without_being_checked(self, tmp_path: Path) -> None:
        put(tmp_path, "a", b"other")
        calls: list[Subject] = []
        record = record_of("a", verifier="check")
        made = verify(tmp_path, lambda subject: not calls.append(subject), record)
        assert calls == []
        assert made.state == "failed"
        assert made.sha256 == record.artifacts["a0"].sha256
        assert made.reason == f"file:a has other bytes: sha256 {seen(b'other').sha256}, 5 bytes"
        after = apply(record, Transition(op="validate", subject="u0"), Verified(verification=made))
        assert after.artifacts["a0"].verification.reason == made.reason

    def test_a_missing_file_fails(self, tmp_path: Path) -> None:
        made = verify(tmp_path, hash_check)
        assert (made.state, made.reason) == ("failed", "file:a isn't there")

    def test_bytes_that_change_during_the_check_fail(self, tmp_path: Path) -> None:
        path = put(tmp_path, "a")

        def meddling(_: Subject) -> bool:
            path.write_bytes(b"later")
            return True

        made = verify(tmp_path, meddling)
        assert made.state == "failed"
        assert "has other bytes" in str(made.reason)

    def test_a_check_reads_the_recorded_bytes_and_no_others(self, tmp_path: Path) -> None:
        path = put(tmp_path, "a")
        heard: list[bytes] = []

        def reading(subject: Subject) -> bool:
            heard.append(subject.read())
            path.write_bytes(b"swapped")
            heard.append(subject.read())
            return True

        assert verify(tmp_path, reading).reason == "file:a was altered while it was checked"
        assert heard == [b"text"]

    def test_a_file_that_can_not_be_read_has_not_failed(self) -> None:
        with readable_by_all() as root:
            put(root, "a").chmod(0)
            with without_privileges(), pytest.raises(StorageError, match="Permission denied"):
                verify(root, hash_check)

    @pytest.mark.parametrize("location", ["pipe", "out", "http://host/a", "../a", "/etc/passwd"])
    def test_what_is_no_file_below_the_root_has_not_failed_either(self, tmp_path: Path, location: str) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "out").symlink_to("/etc/passwd")
        with pytest.raises(StorageError):
            verify(tmp_path, hash_check, record_of(location, verifier="check"))
        assert not (tmp_path / "evidence").exists()


class TestRegistry:
    def test_a_name_is_registered_once(self) -> None:
        verifiers = Verifiers()
        verifiers.register("schema", "1", hash_check)
        for version in ("1", "2"):
            with pytest.raises(ConfigurationError, match="registered already, at version 1"):
                verifiers.register("schema", version, hash_check)
        assert verifiers.versions() == {"schema": "1"}

    @pytest.mark.parametrize(("name", "version"), [("", "1"), (" ", "1"), ("a\n", "1"), ("a", ""), ("a", 1)])
    def test_names_and_versions_are_ids(self, name: Any, version: Any) -> None:
        with pytest.raises(ConfigurationError):
            Verifiers().register(name, version, hash_check)

    def test_a_check_is_a_callable(self) -> None:
        with pytest.raises(ConfigurationError, match="not str"):
            Verifiers().register("a", "1", "true")  # type: ignore[arg-type]

    def test_a_unit_is_checked_by_its_own_verifier_alone(self, tmp_path: Path) -> None:
        put(tmp_path, "a")
        verifiers = Verifiers()
        verifiers.register("hash", "1", hash_check)

        async def verified(record: RestartRecord, unit_id: str = "u0", **options: Any) -> str | None:
            return (await verifiers.verify(record, unit_id, tmp_path, **options)).verification.verifier

        with pytest.raises(ConfigurationError, match="by schema, which isn't registered"):
            asyncio.run(verified(record_of("a", verifier="schema")))
        with pytest.raises(ConfigurationError, match="by schema, not hash"):
            asyncio.run(verified(record_of("a", verifier="schema"), verifier="hash"))
        with pytest.raises(ConfigurationError, match="names no verifier"):
            asyncio.run(verified(record_of("a")))
        assert asyncio.run(verified(record_of("a"), verifier="hash")) == "hash"
        with pytest.raises(TransitionError, match="no artifact"):
            asyncio.run(verified(record_of("a"), "other"))
        pending = record_of(completion_rule={"units": {"u0": {}}})
        with pytest.raises(TransitionError, match="no artifact"):
            asyncio.run(verified(pending))


def not_async_itself(subject: Subject) -> Awaitable[Finding]:
    return slowly(subject)


async def slowly(subject: Subject) -> Finding:
    await asyncio.sleep(0)
    return Finding(subject.read() == b"text")


class TestAnswers:
    @pytest.mark.parametrize("check", [slowly, not_async_itself, lambda _: True, lambda _: Finding(True)])
    def test_plain_and_async_checks_pass(self, tmp_path: Path, check: Check) -> None:
        put(tmp_path, "a")
        assert verify(tmp_path, check).state == "passed"

    @pytest.mark.parametrize(
        ("check", "reason"),
        [
            (lambda _: False, "the check says no"),
            (lambda _: "two rows are missing", "two rows are missing"),
            (lambda _: "", "the check says no"),
            (lambda _: Finding(False), "the check says no"),
            (lambda _: Finding(False, "no total"), "no total"),
            (lambda _: "x" * 1_000, "x" * 499 + "…"),
            (lambda _: {}[0], "the check raised KeyError"),
            (lambda _: next(iter(())), "the check raised RuntimeError"),
        ],
    )
    def test_a_check_that_fails_keeps_its_reason(self, tmp_path: Path, check: Check, reason: str) -> None:
        put(tmp_path, "a")
        made = verify(tmp_path, check)
        assert (made.state, made.reason) == ("failed", reason)
        assert evidence_of(tmp_path, made)["reason"] == reason

    @pytest.mark.parametrize("answer", [None, 1, "…".encode(), Finding(1), Finding("no")])  # type: ignore[arg-type]
    def test_what_is_no_answer_is_no_pass(self, tmp_path: Path, answer: Any) -> None:
        put(tmp_path, "a")
        with pytest.raises(ConfigurationError, match="a check gives"):
            verify(tmp_path, lambda _: answer)

    @pytest.mark.parametrize("error", [OSError("network"), MemoryError(), TimeoutError()])
    def test_a_check_that_could_not_be_made_decides_nothing(self, tmp_path: Path, error: BaseException) -> None:
        put(tmp_path, "a")

        def broken(_: Subject) -> bool:
            raise error

        with pytest.raises(type(error)):
            verify(tmp_path, broken)
        assert not (tmp_path / "evidence").exists()

    def test_the_text_of_an_error_is_not_kept(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        put(tmp_path, "a")

        def broken(_: Subject) -> bool:
            raise ValueError("private")

        made = verify(tmp_path, broken)
        assert "private" not in repr(evidence_of(tmp_path, made)) + str(made.reason) + caplog.text

    def test_secrets_are_not_kept(self, tmp_path: Path) -> None:
        put(tmp_path, "a")
        token = "ghp_" + "a1B2" * 9
        made = verify(tmp_path, lambda _: Finding(False, f"refused {token}", {"output": f"using {token}"}))
        assert token not in repr(evidence_of(tmp_path, made)) + str(made.reason)

    @pytest.mark.parametrize("details", [{"when": object()}, {1: 2}, {"a": b"bytes"}, {"a": "\ud800"}])
    def test_details_are_json_data(self, tmp_path: Path, details: Any) -> None:
        put(tmp_path, "a")
        with pytest.raises((ConfigurationError, StorageError, ValueError)):
            verify(tmp_path, lambda _: Finding(True, details=details))
        assert not list(tmp_path.glob("evidence/*"))


class Extract(BaseModel):
    price: int
    warranty: int


class TestSchema:
    @pytest.mark.parametrize("schema", [Extract, dict[str, int]])
    def test_what_is_of_the_schema_passes(self, tmp_path: Path, schema: Any) -> None:
        data = b'{"price": 3, "warranty": 24}'
        put(tmp_path, "a", data)
        assert verify(tmp_path, schema_check(schema), record_of("a", data=data, verifier="check")).state == "passed"

    def test_the_reason_names_places_and_no_values(self, tmp_path: Path) -> None:
        data = b'{"price": "private"}'
        put(tmp_path, "a", data)
        made = verify(tmp_path, schema_check(Extract), record_of("a", data=data, verifier="check"))
        assert made.reason == "price: int_parsing; warranty: missing"
        assert evidence_of(tmp_path, made)["details"]["fault_count"] == 2
        assert "private" not in repr(evidence_of(tmp_path, made))

    @pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 10_000, b'{"price": 1e999, "warranty": 1}'])
    def test_what_is_no_json_of_it_fails(self, tmp_path: Path, data: bytes) -> None:
        put(tmp_path, "a", data)
        assert verify(tmp_path, schema_check(Extract), record_of("a", data=data, verifier="check")).state == "failed"

    def test_a_strict_check_takes_no_text_for_a_number(self, tmp_path: Path) -> None:
        data = b'{"price": "3", "warranty": 24}'
        put(tmp_path, "a", data)
        record = record_of("a", data=data, verifier="check")
        assert verify(tmp_path, schema_check(Extract), record).state == "passed"
        assert verify(tmp_path, schema_check(Extract, strict=True), record).reason == "price: int_type"

    def test_of_many_faults_a_few_are_named(self, tmp_path: Path) -> None:
        data = orjson.dumps(["x"] * 1_000)
        put(tmp_path, "a", data)
        made = verify(tmp_path, schema_check(list[int]), record_of("a", data=data, verifier="check"))
        assert str(made.reason).endswith("4: int_parsing and 995 more")
        assert len(evidence_of(tmp_path, made)["details"]["faults"]) == 100
