"""`python -m taskstate.demo DIR`: review a folder of proposals, across a process that kills itself half-way.

What a process doesn't do it doesn't import: it takes several for one review.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from taskstate.errors import TaskStateError

from .artifacts import Artifacts
from .documents import FolderError, list_folder, read_folder
from .job import Job

if TYPE_CHECKING:
    from .review import Outcome

OK, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130
CRASH_AFTER = 3
LIMIT = 100
SHOWN = 3
"""Tables that are printed at most; the file holds all of them."""
_KILLED = -getattr(signal, "SIGKILL", signal.SIGTERM)


def say(text: str) -> None:
    """Print at once: a process that is killed flushes nothing."""
    print(text, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code (0 done, 1 failed, 2 nothing to review, 130 interrupted)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        job = _job(options)
        if options.worker:
            return _work(replace(job, crash_after=options.worker if options.worker > 0 else None))
        return _supervise(job, options)
    except FolderError as error:
        say(f"Nothing was reviewed: {error}.")
        return UNUSABLE
    except (TaskStateError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return FAILED
        print("The review can't go on:", "; ".join([str(error), *getattr(error, "__notes__", ())]), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m taskstate.demo",
        description="Extract the offers in a folder of text files, be killed on the way, recover, and compare them.",
        allow_abbrev=False,
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder of text files; subfolders are not read")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--out", type=Path, help="where extracts and comparison go (default: in ./taskstate-review)")
    place.add_argument("--temporary", action="store_true", help="they go to a new temporary folder")
    parser.add_argument("--state", type=Path, help="the SQLite file of the states (default: state.db in --out)")
    parser.add_argument("--fresh", action="store_true", help="forget what is recorded of this folder and start over")
    parser.add_argument("--no-crash", action="store_true", help="don't kill the process on the way")
    parser.add_argument("--change-criteria", action="store_true", help="between two runs, judge by one criterion more")
    parser.add_argument("--update-source", metavar="NAME", help="between two runs, amend a copy of this document")
    parser.add_argument("--limit", type=int, default=LIMIT, metavar="N", help=f"most documents (default: {LIMIT})")
    # The parent starts its children with it: the extraction after which to die, or -1 for never.
    parser.add_argument("--worker", type=int, default=0, help=argparse.SUPPRESS)
    return parser


def _job(options: argparse.Namespace) -> Job:
    folder = Path(options.folder)
    plain = Job(folder, Path(), Path())
    out = options.out
    if options.temporary:
        list_folder(folder)  # before anything is made for a folder that isn't there
        out = Path(tempfile.mkdtemp(prefix="taskstate-review-"))
    out = Path("taskstate-review", plain.thread_id) if out is None else out
    state = out / "state.db" if options.state is None else options.state
    job = Job(folder, out, state)
    for what, place in (("--out", out), ("--state", state.parent)):
        if place.resolve() == folder.resolve():
            raise FolderError(f"{what} is the folder under review itself; what is written there would be reviewed too")
    return job


def _supervise(job: Job, options: argparse.Namespace) -> int:
    """Check the folder, change what was asked for, and have the work done in processes of their own."""
    from .changes import change_criteria, find_document, is_recorded, update_source

    amended = None if options.update_source is None else find_document(job, options.update_source)
    count = _look_over(job, options.limit, fresh=options.fresh)
    job.out.mkdir(parents=True, exist_ok=True)
    job.state.parent.mkdir(parents=True, exist_ok=True)
    if options.fresh:
        from .review import forget

        asyncio.run(forget(job))
    say(f"Review of {count} document{'s' * (count > 1)} in {job.folder}, thread {job.thread_id}\n")
    # With few documents the last one is left for the second process.
    after = -1 if options.no_crash else min(CRASH_AFTER, max(count - 1, 1))
    if amended is None and not options.change_criteria:
        return _run(job, after)
    if not asyncio.run(is_recorded(job)):
        code = _run(job, after)
        if code != OK:
            return code
        say("")
    if amended is not None:
        say(update_source(job, amended) + "\n")
    if options.change_criteria:
        say(asyncio.run(change_criteria(job)) + "\n")
    return _run(job, -1)


def _look_over(job: Job, limit: int, *, fresh: bool) -> int:
    """Say what is strange about the documents; how many there are. FolderError if they are none or too many.

    Of a review that starts over, amended copies are about to be forgotten.
    """
    folder = read_folder(job.folder, None if fresh else Artifacts(job.out).copies)
    sources = folder.sources
    for name, reason in folder.left_out:
        say(f"Left out: {name}: {reason}")
    for source in sources:
        for note in source.notes:
            say(f"Note: {source.name}: {note}")
    if not sources:
        raise FolderError(f"the folder {str(job.folder)!r} holds no text file")
    if len(sources) > limit:
        raise FolderError(f"the folder {str(job.folder)!r} holds {len(sources)} documents, more than --limit {limit}")
    return len(sources)


def _run(job: Job, after: int) -> int:
    """Run the work in a process of its own; start it once more if it kills itself, after so many extractions."""
    code, pid = _child(job, after)
    if code == _KILLED and after > 0:
        say(f"\nProcess {pid} was killed (signal {-code}). A new one starts from what is stored.\n")
        code, pid = _child(job, -1)
    if code < 0:
        say(f"\nProcess {pid} was ended by signal {-code}. Run the same command again: what is done stays done.")
        return FAILED
    return code


def _child(job: Job, after: int) -> tuple[int, int]:
    command = [sys.executable, "-m", "taskstate.demo", f"--worker={after}"]
    command += [f"--out={job.out.absolute()}", f"--state={job.state.absolute()}", "--", str(job.folder.absolute())]
    with subprocess.Popen(command) as child:  # noqa: S603 - the interpreter that runs this, and no shell
        try:
            return child.wait(), child.pid
        except KeyboardInterrupt:
            # The terminal interrupts the child too; it ends its execution as aborted.
            return child.wait(), child.pid


def _work(job: Job) -> int:
    logging.getLogger("taskstate.tasks").setLevel(logging.ERROR)  # that a lease expired is part of the show
    from .review import review

    outcome = asyncio.run(review(job, say))
    if outcome.unfinished:
        say("No comparison: " + "; ".join(outcome.unfinished))
        return FAILED
    _show(outcome)
    return OK


def _show(outcome: Outcome) -> None:
    from .compare import COLUMNS, tables

    shown = list(tables(outcome.extracts, width=34, criteria=outcome.criteria))
    for table in shown[:SHOWN]:
        say("\n" + table)
    if len(shown) > SHOWN:
        say(f"\n{len(outcome.extracts) - SHOWN * COLUMNS} more documents are in the file.")
    criteria = outcome.criteria
    found = sum(fault["criterion"] in criteria for extract in outcome.extracts for fault in extract["contradictions"])
    gaps = sum(key in criteria for extract in outcome.extracts for key in extract["missing"])
    say(f"\n(!) contradictions: {found}; not stated or left open: {gaps}. Each with its line in the file above.\n")
    say(outcome.blocks)


if __name__ == "__main__":
    sys.exit(main())
