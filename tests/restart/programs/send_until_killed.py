"""Take a task over and send mails as effects until killed. Arguments: storage, folder.

A mail is a line of the file `sent`.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from pathlib import Path

from opening import mail, open_storage

from taskstate.restart.store import RecordStore


def send(root: str, effect_id: str) -> None:
    """Send a mail, for good."""
    with Path(root, "sent").open("a") as sent:
        sent.write(f"{effect_id}\n")
        sent.flush()
        os.fsync(sent.fileno())


async def main(kind: str, root: str) -> None:
    """Go on with the first number that has no effect yet, and print each one whose receipt is stored."""
    async with open_storage(kind, root) as storage:
        store = RecordStore(storage)
        record = await store.resume("t")
        for number in itertools.count(len(record.pending_effects)):
            async with mail(store, record, f"e{number}") as write:
                send(root, f"e{number}")
                write.applied(f"receipt:{number}")
            record = write.record
            print(number, flush=True)


asyncio.run(main(*sys.argv[1:]))
