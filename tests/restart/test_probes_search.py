"""The search for files that no record names."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from taskstate.errors import ConfigurationError, StorageError
from taskstate.restart import assess, plan
from taskstate.restart.probes import FileProbe, observe

from .disk import artifact, look, open_handles, put, record_of, seen

pytestmark = pytest.mark.once


def test_files_that_no_record_names_are_found_with_their_hashes(tmp_path: Path) -> None:
    put(tmp_path, "out/a")
    put(tmp_path, "out/b", b"orphan")
    put(tmp_path, "c", b"")
    found = look(tmp_path, record_of("out/a"))
    assert found.unindexed == {"c": seen(b""), "out/b": seen(b"orphan")}
    assert list(found.unindexed) == ["c", "out/b"]


def test_what_a_record_refers_to_otherwise_is_no_orphan(tmp_path: Path) -> None:
    for location in ("in/p1", "logs/run", "receipts/1", "evidence/x.json", "checks/a"):
        put(tmp_path, location)
    check = {
        "state": "failed",
        "verifier": "v",
        "verifier_version": "1",
        "at": 1,
        "sha256": "0" * 64,
        "criteria": 1,
        "evidence": "checks/a",
        "reason": "no",
    }
    effect = {"kind": "k", "target": "t", "idempotency_key": "i", "request_hash": "0" * 64}
    record = record_of(
        sources={"P1": {"version": 1, "location": "in/p1"}, "P2": {"version": 1, "location": "https://x/y"}},
        failed_attempts=[{"id": "f", "text": "tests", "result": "logs/run"}],
        pending_effects={"e": {**effect, "state": "applied", "evidence": "receipts/1"}},
        artifacts={"a": artifact("gone", verification=check)},
    )
    assert look(tmp_path, record) == ({"gone": None}, {})


def test_an_orphan_at_the_expected_location_is_found_even_where_it_is_ignored(tmp_path: Path) -> None:
    put(tmp_path, "out/p4", b"fourth")
    record = record_of(completion_rule={"units": {"P4": {"location": "out/p4"}, "P5": {"location": "./out/p5"}}})
    observed = asyncio.run(observe(record, FileProbe(tmp_path, ignore=["out"]), clock=lambda: 1))
    assert observed.unindexed == {"out/p4": seen(b"fourth")}
    keys = [step.key for step in plan(assess(record, observed)).transitions]
    assert keys == ["attach:P4", "validate:P4", "make:P5", "validate:P5", "complete:task"]


def test_an_orphan_has_the_name_by_which_it_is_expected_and_no_other(tmp_path: Path) -> None:
    put(tmp_path, "out/p4", b"fourth")
    record = record_of(completion_rule={"units": {"P4": {"location": "./out/p4"}}})
    assert look(tmp_path, record).unindexed == {"./out/p4": seen(b"fourth")}


def test_ignored_names_locations_and_folders_are_not_searched(tmp_path: Path) -> None:
    for location in ("a.tmp", "deep/b.tmp", ".git/x", "out/cache/y", "cache/z", "out/keep"):
        put(tmp_path, location)
    found = look(tmp_path, record_of(), ignore=["*.tmp", ".git", "out/cache"])
    assert set(found.unindexed) == {"cache/z", "out/keep"}
    assert look(tmp_path, record_of(), ignore=["*"]).unindexed == {}


def test_a_name_that_is_no_text_is_left_out_and_said_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in (b"bad\xff", b"folder\xfe"):
        path = os.path.join(os.fsencode(tmp_path), name)
        os.mkdir(path) if name.startswith(b"folder") else os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    put(tmp_path, "\u00e9")
    put(tmp_path, " ")
    put(tmp_path, "line\nbreak")
    record = record_of()
    observed = asyncio.run(observe(record, FileProbe(tmp_path), clock=lambda: 1))
    assert set(observed.unindexed) == {"\u00e9", "line\nbreak"}
    assert caplog.text.count("can't stand in a record") == 3
    assess(record, observed).model_dump_json()


def test_a_search_is_bounded_and_never_cut_short_unseen(tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path, f"a/b/{number}")
    assert len(look(tmp_path, record_of(), max_entries=7, max_depth=3).unindexed) == 5
    with pytest.raises(StorageError, match="more than 6 entries"):
        look(tmp_path, record_of(), max_entries=6)
    with pytest.raises(StorageError, match="more than 2 folders deep"):
        look(tmp_path, record_of(), max_depth=2)
    assert look(tmp_path, record_of(), max_depth=2, ignore=["b"]).unindexed == {}


def test_nothing_stays_open(tmp_path: Path) -> None:
    put(tmp_path, "a/b/c")
    (tmp_path / "link").symlink_to("a/b")
    before = open_handles()
    look(tmp_path, record_of("a/b/c", "link/c", "a/none", "a/b"))
    with pytest.raises(StorageError):
        look(tmp_path, record_of("a/b/c"), max_depth=1)
    assert open_handles() == before


@pytest.mark.parametrize("options", [{"ignore": "*.tmp"}, {"max_entries": 0}, {"max_depth": 0}])
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        FileProbe(tmp_path, **options)
