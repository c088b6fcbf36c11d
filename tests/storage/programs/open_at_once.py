"""Open fresh storages in several processes at the same instant, many times over. Arguments: storage, folder."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
from multiprocessing.synchronize import Barrier

from opening import open_storage

PROCESSES = 4
ROUNDS = {"file": 100, "sqlite": 100}
ON_A_SERVER = 20  # rounds


async def use(kind: str, root: str, part: str, name: str) -> None:
    """One open, one write."""
    async with open_storage(kind, root, part) as storage:
        await storage.set(name, name)


def take_part(kind: str, root: str, name: str, barrier: Barrier) -> None:
    """One process."""
    for number in range(ROUNDS.get(kind, ON_A_SERVER)):
        barrier.wait(60)
        asyncio.run(use(kind, root, str(number), name))


async def count(kind: str, root: str, part: str) -> int:
    """How many records there are."""
    async with open_storage(kind, root, part) as storage:
        return len(await storage.list(""))


def main(kind: str, root: str) -> None:
    """Start all, and look at what they wrote."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(PROCESSES)
    parts = [context.Process(target=take_part, args=(kind, root, str(n), barrier)) for n in range(PROCESSES)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    assert [part.exitcode for part in parts] == [0] * PROCESSES
    counts = {asyncio.run(count(kind, root, str(number))) for number in range(ROUNDS.get(kind, ON_A_SERVER))}
    assert counts == {PROCESSES}, counts
    print("all written")


if __name__ == "__main__":
    main(*sys.argv[1:])
