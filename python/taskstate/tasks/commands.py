"""What the command line does with stored tasks; it needs no definitions."""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from ..errors import ConfigurationError, SchemaError, StorageError
from .durable import DurableTasks
from .records import ENDED
from .tables import show_lines, task_lines

Output: TypeAlias = tuple[Any, list[str]]
"""The data, and the lines that show it."""


class Unusable(Exception):
    """What the command was given can't be used; its text says why, in one line."""


def perform(options: argparse.Namespace) -> str:
    """Do what the options say; what is to be printed."""
    data, lines = asyncio.run(_perform(options))
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() if options.json else "\n".join(lines)


async def _perform(options: argparse.Namespace) -> Output:
    # A place is looked at as it is: what isn't there must not be made by that.
    try:
        _check(options.store)
        tasks = DurableTasks(types=[], store=options.store, worker=False, migrate=False)
        await tasks.__aenter__()
    except (ConfigurationError, SchemaError, StorageError) as error:
        raise Unusable(f"--store: {error}") from None
    except OSError as error:
        raise Unusable(f"--store: {error.strerror or type(error).__name__}") from None
    try:
        return await _COMMANDS[options.command](tasks, options)
    finally:
        await tasks.close()


def _check(place: str) -> None:
    """Raise for a place that holds no tasks; opening a file as a store would make it one."""
    if place == "memory:":
        raise Unusable("--store: memory: is seen by its own process only")
    if "://" in place:
        return
    with Path(place).open("rb"):
        pass
    try:
        with closing(sqlite3.connect(f"{Path(place).absolute().as_uri()}?mode=ro", uri=True)) as database:
            found = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'taskstate_schema_version'").fetchone()
    except sqlite3.Error as error:
        raise Unusable(f"--store: the database can't be read: {error}") from None
    if found is None:
        raise Unusable("--store: the database holds no durable tasks")


async def _list(tasks: DurableTasks, options: argparse.Namespace) -> Output:
    found = await tasks.list(
        owner=options.owner,
        conversation=options.conversation,
        name=options.name,
        states=options.state or (),
        parent_id=options.parent,
        before=options.before,
        limit=options.limit,
    )
    return found, task_lines(found)


async def _show(tasks: DurableTasks, options: argparse.Namespace) -> Output:
    task = await tasks.get(options.task_id, owner=options.owner)
    history = await tasks.history(task["id"])
    waits = await tasks.waits(task["id"])
    return {"task": task, "history": history, "waits": waits}, show_lines(task, history, waits)


async def _cancel(tasks: DurableTasks, options: argparse.Namespace) -> Output:
    done = await tasks.cancel(options.task_id, owner=options.owner)
    lines = [f"cancelled {id}" for id in done["ended"]] + [f"asked to stop {id}" for id in done["asked"]]
    return done, lines or ["It has ended already; nothing was changed."]


async def _retry(tasks: DurableTasks, options: argparse.Namespace) -> Output:
    ready = await tasks.retry(options.task_id, owner=options.owner)
    return {"ready": ready}, [f"ready again {id}" for id in ready]


async def _purge(tasks: DurableTasks, options: argparse.Namespace) -> Output:
    removed = await tasks.purge(dict.fromkeys(options.state or ENDED, options.older_than))
    return {"removed": removed}, [f"{removed} task{'' if removed == 1 else 's'} removed."]


_COMMANDS = {"list": _list, "show": _show, "cancel": _cancel, "retry": _retry, "purge": _purge}
