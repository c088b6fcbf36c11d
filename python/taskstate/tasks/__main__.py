"""`python -m taskstate.tasks worker MODULE:ATTRIBUTE`: run a worker; `list|show|cancel|retry|purge`: look and steer.

Exit codes: 0 when it was done (of `worker`: stopped in order), 1 when the store refuses what was asked, 2 when the
definitions or the place can't be used, 130 when it was interrupted, 141 when the reader of its output went away.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Final

from ..errors import TaskStateError
from .commands import Unusable, perform
from .records import ENDED, STATES
from .serving import serve
from .tables import printable

OK, REFUSED, UNUSABLE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        if options.command == "worker":
            serve(options.tasks, concurrency=options.concurrency, grace_s=options.grace)
        else:
            print(perform(options), flush=True)
    except Unusable as error:
        return _told(error, UNUSABLE)
    except TaskStateError as error:
        return _told(error, REFUSED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more when it ends, and would complain there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    return OK


def _told(error: Exception, code: int) -> int:
    print(f"taskstate.tasks: {printable(str(error))}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m taskstate.tasks",
        description="Run a worker for durable tasks, or look at tasks and steer them.",
        epilog="Exit codes: 0 done, 1 the store refuses what was asked, 2 the definitions or the place can't be used.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="worker|list|show|cancel|retry|purge")
    worker = _command(commands, "worker", "run a worker until SIGTERM or SIGINT; a second signal ends it at once")
    worker.add_argument("tasks", metavar="MODULE:ATTRIBUTE", help="a DurableTasks, or a callable that gives one")
    worker.add_argument("--concurrency", type=_count, metavar="N", help="tasks at once")
    worker.add_argument("--grace", type=_seconds, metavar="S", help="how long what runs may go on after the signal")

    listing = _stored(commands, "list", "show tasks, newest first")
    listing.add_argument("--conversation", metavar="ID", help="only those of this conversation")
    listing.add_argument("--name", metavar="NAME", help="only those of this definition")
    listing.add_argument("--state", action="append", choices=STATES, help="only those in this state; may be repeated")
    listing.add_argument("--parent", metavar="TASK_ID", help="only those that this task started")
    listing.add_argument("--before", metavar="TASK_ID", help="go on after this task")
    listing.add_argument("--limit", type=_count, default=100, metavar="N", help="most tasks (default: 100)")
    for name, told in (
        ("show", "show a task and all that is recorded of it"),
        ("cancel", "cancel a task and all below it"),
        ("retry", "make a task that failed or was cancelled ready again"),
    ):
        _stored(commands, name, told).add_argument("task_id", metavar="TASK_ID")
    for command in commands.choices.values():
        if command is not worker:
            command.add_argument("--owner", metavar="NAME", help="another owner's task isn't found")
    purge = _stored(commands, "purge", "remove tasks that ended long ago, with all that belongs to them")
    purge.add_argument("--older-than", type=_age, required=True, metavar="AGE", help="30d, 12h, 45m, or seconds")
    purge.add_argument("--state", action="append", choices=ENDED, help="only those in this state; may be repeated")
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, told: str
) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=told, description=f"{told[0].upper()}{told[1:]}.", allow_abbrev=False)


def _stored(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, told: str
) -> argparse.ArgumentParser:
    command = _command(commands, name, told)
    command.add_argument("--store", required=True, metavar="PLACE", help="a SQLite file, or postgresql://...")
    command.add_argument("--json", action="store_true", help="print the data")
    return command


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError("a whole number of at least 1 is wanted")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 10**6:
        raise argparse.ArgumentTypeError("a number of seconds is wanted")
    return value


def _age(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhd]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError("a number followed by s, m, h or d is wanted")
    return float(found[1]) * _UNITS[found[2]]


if __name__ == "__main__":
    sys.exit(main())
