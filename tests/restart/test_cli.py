"""The command line: readable tables, the data, and exit codes that tell what happened."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from taskstate.restart import RestartRecord
from taskstate.restart.__main__ import BROKEN_PIPE, INCOMPLETE, OK, UNUSABLE, main
from taskstate.restart.store import RecordStore
from taskstate.storage import SQLiteStorage

from .packets import artifact, coding, effect, many, supplier_review

pytestmark = pytest.mark.once
TOKEN = "ghp_" + "a1B2c3D4e5" * 4  # put together here, so that no scanner takes this file for a leak
COMMANDS = ["show", "assess", "plan"]


def clock() -> int:
    return 100


def run(*arguments: str | Path) -> int:
    return main([str(argument) for argument in arguments], clock=clock)


def written(folder: Path, record: RestartRecord) -> Path:
    """The record in a file, and its artifacts where it says."""
    place = folder / "record.json"
    place.write_bytes(record.to_json())
    return place


def in_database(folder: Path, *records: RestartRecord) -> Path:
    async def create() -> None:
        async with SQLiteStorage(folder / "state.db") as storage:
            for record in records:
                await RecordStore(storage).create(record)

    asyncio.run(create())
    return folder / "state.db"


def finished(root: Path) -> RestartRecord:
    """A task of one unit that is verified, with its file below `root`."""
    content = b"all of it"
    sha256 = hashlib.sha256(content).hexdigest()
    (root / "out").mkdir(parents=True)
    (root / "out" / "a.json").write_bytes(content)
    made = artifact("a", {})
    made |= {"sha256": sha256, "size": len(content), "verification": {**made["verification"], "sha256": sha256}}
    return RestartRecord.from_data(
        {
            "task_id": "t",
            "objective": {"version": 2, "text": "x"},
            "criteria": {"version": 3},
            "artifacts": {"a": made},
            "completion_rule": {"units": {"u": {"artifact": "a", "state": "verified"}}},
        }
    )


def test_show_prints_what_is_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = written(tmp_path, coding(pending_effects={"E1": effect("unknown")}))
    assert run("show", place, "fix-parser") == OK
    shown = capsys.readouterr().out
    for part in (
        "Task fix-parser: open, phase -",
        "State version 4, generation 1",
        "Scope: the latest state of its sources",
        "External writes authorized: none",
        "edit:parser  present  parser",
        "failed by schema@1, 2 of 40 tests failed",
        "E1      unknown  mail  buyer   -",
        "A1       python -m pytest -q tests/parser  1            logs/run-7.txt",
        "Hypotheses: no evidence",
        "Intended next: Dump the tokens of the failing input; ends when",
    ):
        assert part in shown


def test_a_file_and_a_database_show_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = supplier_review()
    places = [written(tmp_path, record), in_database(tmp_path, record, coding())]
    for command in COMMANDS:
        for flag in ([], ["--json"]):
            outputs = set()
            for place in places:
                run(command, place, record.task_id, *flag)
                outputs.add(capsys.readouterr().out)
            assert len(outputs) == 1
            assert outputs != {""}


def test_json_is_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = supplier_review()
    place = written(tmp_path, record)
    assert run("show", place, record.task_id, "--json") == OK
    assert RestartRecord.from_json(capsys.readouterr().out) == record
    assert run("assess", place, record.task_id, "--json") == INCOMPLETE
    assessment = json.loads(capsys.readouterr().out)
    assert assessment["complete"] is False
    assert assessment["at"] == 100
    assert {item["integrity"] for item in assessment["items"]} == {"none", "not_seen"}
    assert run("plan", place, record.task_id, "--json") == OK
    planned = json.loads(capsys.readouterr().out)
    assert planned["transitions"][-1]["op"] == "complete"


def test_assess_tells_by_its_exit_code_whether_the_task_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    place = written(tmp_path, finished(root))
    assert run("assess", place, "t", "--root", root) == OK
    shown = capsys.readouterr().out
    assert "The completion rule is met now, and the task is not recorded as done: it is open." in shown
    assert "unit  u   keep     intact     fixed      in     artifact:a; passed schema@1" in shown
    assert "Sources and effects weren't looked at." in shown

    assert run("assess", place, "t") == INCOMPLETE
    assert (
        "Files, sources and effects weren't looked at; --root DIR names where the files are." in capsys.readouterr().out
    )

    (root / "out" / "a.json").write_bytes(b"all of it!")
    (root / "out" / "b.json").write_bytes(b"more")
    assert run("assess", place, "t", "--root", root) == INCOMPLETE
    shown = capsys.readouterr().out
    assert "Incomplete: missing 1 unit" in shown
    assert "altered" in shown
    assert "out/b.json  orphan" in shown
    assert run("plan", place, "t", "--root", root) == OK
    assert "\nUnresolved\n  file out/b.json is in no record" in capsys.readouterr().out


def test_plan_prints_the_steps_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "root"
    place = written(tmp_path, finished(root))
    (root / "out" / "a.json").unlink()
    assert run("plan", place, "t", "--root", root) == OK
    shown = capsys.readouterr().out
    assert "Resumes from: the beginning; nothing is verified and current" in shown
    steps = [line.split()[:3] for line in shown.splitlines() if line.strip()[:1].isdigit()]
    assert steps == [["1", "remake", "u"], ["2", "validate", "u"], ["3", "complete", "t"]]


def test_a_plan_of_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = RestartRecord.from_data({**many(1, 1).to_data(), "status": "done"})
    assert run("plan", written(tmp_path, record), "many") == OK
    assert "Nothing is due." in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_that_holds_no_record_is_unusable_and_left_alone(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty, text, folder, other = (tmp_path / name for name in ("empty", "text", "folder", "other.db"))
    empty.touch()
    text.write_text('{"schemaVersion": 1, "task_id": "t", "secret_field": "hunter2"}')
    folder.mkdir()
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE theirs (a)")
    database.close()
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\x00" + b"\xff" * 500)
    before = other.read_bytes()
    for place in (empty, text, folder, other, broken, tmp_path / "missing"):
        assert run(command, place, "t") == UNUSABLE
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith(f"{place}: ")
        assert "hunter2" not in told.err
        assert "Traceback" not in told.err
    assert not (tmp_path / "missing").exists()
    assert other.read_bytes() == before


def test_a_record_is_never_shown_under_another_tasks_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = [written(tmp_path, coding()), in_database(tmp_path, coding())]
    for place in places:
        for command in COMMANDS:
            for name in ("other", "FIX-PARSER", "fix-parse", "../fix-parser"):
                assert run(command, place, name) == UNUSABLE
                told = capsys.readouterr()
                assert told.out == ""
                assert "Accept nested comments" not in told.err


def test_a_root_that_is_not_there_is_unusable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = written(tmp_path, coding())
    assert run("assess", place, "fix-parser", "--root", tmp_path / "nowhere") == UNUSABLE
    assert capsys.readouterr().out == ""
    assert run("assess", place, "fix-parser", "--root", place) == UNUSABLE


@pytest.mark.parametrize(
    "arguments", [[], ["show"], ["show", "a"], ["look", "a", "b"], ["show", "a", "b", "--root", "c"]]
)
def test_a_command_line_that_is_none_is_unusable(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == UNUSABLE
    assert "usage: python -m taskstate.restart" in capsys.readouterr().err


@pytest.mark.parametrize("flag", [[], ["--json"]])
@pytest.mark.parametrize("command", COMMANDS)
def test_secrets_are_redacted_in_all_that_is_printed(
    command: str, flag: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = coding(pending_effects={f"E-{TOKEN}": effect("unknown")}).to_data()
    data["unresolved"] = [{"id": "I", "text": f"is {TOKEN} still good?"}]
    data["failed_attempts"][0]["command"] = f"deploy --token {TOKEN}"
    place = written(tmp_path, RestartRecord.from_data(data))
    run(command, place, "fix-parser", *flag)
    told = capsys.readouterr()
    assert "[redacted]" in told.out
    assert TOKEN not in told.out + told.err


def test_a_secret_in_a_refusal_is_redacted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "record.json"
    data: dict[str, Any] = {**coding().to_data(), "sources": {TOKEN: {"version": None}}}
    place.write_text(json.dumps(data))
    assert run("show", place, "fix-parser") == UNUSABLE
    assert TOKEN not in capsys.readouterr().err


def test_nothing_printed_can_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = coding(constraints=["red \x1b[31m\r\u202e\nnew line"]).to_data()
    run("show", written(tmp_path, RestartRecord.from_data(data)), "fix-parser")
    shown = capsys.readouterr().out
    assert "Constraint: red \\x1b[31m\\r\\u202e\\nnew line\n" in shown


def start(*arguments: str | Path, **more: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "taskstate.restart", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, **more)


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    place = written(tmp_path, many(2000, 0))
    reading, writing = os.pipe()
    os.close(reading)
    with start("assess", place, "many", stdout=writing) as child:
        os.close(writing)
        _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (BROKEN_PIPE, b"")


def test_the_module_runs_and_any_terminal_can_show_it(tmp_path: Path) -> None:
    place = written(tmp_path, coding(constraints=["caf\u00e9 \u2603"]))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    with start("show", place, "fix-parser", stdout=subprocess.PIPE, env=environment) as child:
        output, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (OK, b"")
    assert b"caf\\xe9 \\u2603" in output


def test_looking_at_a_database_changes_no_record(tmp_path: Path) -> None:
    record = supplier_review()
    place = in_database(tmp_path, record)

    async def stored() -> tuple[list[int], RestartRecord]:
        async with SQLiteStorage(place) as storage:
            store = RecordStore(storage)
            return await store.history(record.task_id), await store.load(record.task_id)

    before = asyncio.run(stored())
    for command in COMMANDS:
        run(command, place, record.task_id)
    assert asyncio.run(stored()) == before
