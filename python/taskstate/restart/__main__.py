"""`python -m taskstate.restart show|assess|plan FILE_OR_DB TASK_ID`: look at a restart record, and change nothing.

The record is read from a file of its JSON, or from a SQLite database. Exit codes: 0 when it was printed (of `assess`:
when the task is complete), 1 when `assess` finds the task incomplete, 2 when the input can't be used, 130 when it was
interrupted, 141 when the reader of its output went away.
"""

from __future__ import annotations

import argparse
import asyncio
import glob
import os
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ..clock import Clock, system_clock
from ..errors import InvalidRecordError, StorageError, TaskStateError
from ..storage import SQLiteStorage
from .assess import assess
from .assessment import Assessment
from .handoff import standing
from .observed import Observed
from .plan import plan
from .probes import FileProbe, observe
from .record import RestartRecord
from .secrets import guard, redact_text
from .store import RecordStore
from .tables import assessment_lines, plan_lines, record_lines

OK, INCOMPLETE, UNUSABLE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141
_DATABASE = b"SQLite format 3\x00"


class _Output(NamedTuple):
    """What a command found: the data, the lines that show it, and the exit code."""

    data: dict[str, Any]
    lines: Iterable[str]
    code: int


def main(arguments: Sequence[str] | None = None, *, clock: Clock = system_clock) -> int:
    """Run the command line; gives the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        output = asyncio.run(_run(options, clock))
        if options.json:
            text = orjson.dumps(output.data, option=orjson.OPT_INDENT_2).decode()
        else:
            text = "\n".join(output.lines)
    except TaskStateError as error:
        return _unusable(options, str(error))
    except OSError as error:
        return _unusable(options, error.strerror or type(error).__name__)
    except sqlite3.Error as error:
        return _unusable(options, f"the database can't be read: {type(error).__name__}")
    except KeyboardInterrupt:
        return INTERRUPTED
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python flushes once more when it ends, and would complain there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _unusable(options, f"can't be shown: {error.strerror or type(error).__name__}")
    return output.code


def _unusable(options: argparse.Namespace, reason: str) -> int:
    print(f"{options.place}: {redact_text(reason)}", file=sys.stderr)
    return UNUSABLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m taskstate.restart",
        description="Look at a restart record: what is true of a task, and what may happen next. Nothing is changed.",
        epilog="Exit codes: 0 printed (assess: complete), 1 assess: not complete, 2 the input can't be used. "
        "Sources and effects can't be looked at from here: what depends on current ones isn't found complete.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="show|assess|plan")
    for name, told in (
        ("show", "the record as it is stored"),
        ("assess", "the record held against what is there now"),
        ("plan", "what is to be done next, and why"),
    ):
        command = commands.add_parser(name, help=told, description=f"Print {told}.", allow_abbrev=False)
        command.add_argument("place", metavar="FILE_OR_DB", type=Path, help="a record's JSON, or a SQLite database")
        command.add_argument("task_id", metavar="TASK_ID", help="the task whose record it is")
        command.add_argument("--json", action="store_true", help="print the data")
        if name != "show":
            command.add_argument("--root", type=Path, metavar="DIR", help="where the artifacts lie; else none is seen")
    return parser


async def _run(options: argparse.Namespace, clock: Clock) -> _Output:
    record = await _load(options.place, options.task_id)
    if options.command == "show":
        whole = guard(record.model_dump(mode="json", by_alias=True), "redact")
        return _Output(guard(record.to_data(), "redact"), record_lines(whole), OK)
    assessment = assess(record, await _seen(record, options, clock))
    if options.command == "plan":
        planned = guard(plan(assessment).model_dump(mode="json"), "redact")
        return _Output(planned, _with_note(plan_lines(planned), options.root), OK)
    return _assessed(assessment, options.root)


def _assessed(assessment: Assessment, root: Path | None) -> _Output:
    found = guard(assessment.model_dump(mode="json"), "redact")
    lines = _with_note(assessment_lines(found, standing(assessment)), root)
    return _Output(found, lines, OK if assessment.complete else INCOMPLETE)


def _with_note(lines: Iterable[str], root: Path | None) -> list[str]:
    """The lines, and what wasn't looked at: a shell has no way to ask the sources and the systems written to."""
    unseen = "Sources and effects weren't" if root else "Files, sources and effects weren't"
    return [*lines, "", f"{unseen} looked at{'' if root else '; --root DIR names where the files are'}."]


async def _load(place: Path, task_id: str) -> RestartRecord:
    text = _read(place)
    if text is None:
        async with SQLiteStorage(place) as storage:
            return await RecordStore(storage).load(task_id)
    record = RestartRecord.from_json(text)
    if record.task_id != task_id:
        raise InvalidRecordError([("task_id", "the file holds the record of another task")])
    return record


def _read(place: Path) -> bytes | None:
    """The text of a record's file, None for a database that can hold records."""
    with place.open("rb") as file:  # what isn't there must not be made, as a storage would
        start = file.read(len(_DATABASE))
        if start != _DATABASE:
            return start + file.read()
    # A storage makes its table in any database that it opens.
    with closing(sqlite3.connect(f"{place.absolute().as_uri()}?mode=ro", uri=True)) as database:
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'taskstate_storage'").fetchone() is None:
            raise StorageError(place.name, "the database holds no restart records")
    return None


async def _seen(record: RestartRecord, options: argparse.Namespace, clock: Clock) -> Observed:
    if options.root is None:
        return Observed(now=clock())
    itself = [options.place.name, f"{options.place.name}-wal", f"{options.place.name}-shm"]
    return await observe(record, FileProbe(options.root, ignore=[glob.escape(name) for name in itself]), clock=clock)


if __name__ == "__main__":
    sys.exit(main())
