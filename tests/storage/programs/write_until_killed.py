"""Count up in one record for ever, and print each number once it is durable. Arguments: storage, folder, start."""

from __future__ import annotations

import asyncio
import itertools
import sys

from opening import open_storage


async def main(kind: str, root: str, start: str) -> None:
    """Write until killed."""
    async with open_storage(kind, root) as storage:
        for number in itertools.count(int(start)):
            await storage.set("k", {"number": number, "text": f"{number}," * 3000})
            print(number, flush=True)


asyncio.run(main(*sys.argv[1:]))
