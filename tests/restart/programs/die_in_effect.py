"""Send a mail as an effect, and be killed before one of the writes. Arguments: storage, folder, number of the write.

The mail is a line of the file `sent`. The writes are those to the storage and the mail, in the order in which they
are made. The program prints what each one is; a number beyond the last one lets it live.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from opening import mail, open_storage

from taskstate.restart.store import RecordStore

made = 0
last = 0


def writes(what: str) -> None:
    """The process is about to write; it is killed if this is the one."""
    global made  # noqa: PLW0603
    made += 1
    print(what, flush=True)
    if made == last:
        os.kill(os.getpid(), signal.SIGKILL)


def watch(storage: Any) -> None:
    """Count the writes of a storage."""

    def watched(method: Any) -> Any:
        def write(key: str, *rest: Any) -> Any:
            writes(key.split("/")[1])
            return method(key, *rest)

        return write

    for name in ("set", "delete", "compare_and_set", "compare_and_delete"):
        setattr(storage, name, watched(getattr(storage, name)))


def send(root: str) -> None:
    """Send the mail, for good."""
    with Path(root, "sent").open("a") as sent:
        writes("mail")
        sent.write("e\n")
        sent.flush()
        os.fsync(sent.fileno())


async def main(kind: str, root: str, number: str) -> None:
    """Send it as a careful worker does."""
    global last  # noqa: PLW0603
    async with open_storage(kind, root) as storage:
        store = RecordStore(storage)
        record = await store.load("t")
        watch(storage)
        last = int(number)
        async with mail(store, record, "e") as write:
            send(root)
            write.applied("receipt:e")
    writes("end")


asyncio.run(main(*sys.argv[1:]))
