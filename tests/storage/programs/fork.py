"""Use one storage object on both sides of forks, in idle moments and in the midst of writes.

Arguments: storage, folder. Also hands the object to processes of multiprocessing, by fork and by spawn, and
to a pool of threads with an event loop each.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import threading
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from opening import open_storage


async def write(storage: Any, name: str, times: int = 3) -> None:
    """Write and read back."""
    for number in range(times):
        await storage.set(name, number)
        assert await storage.get(name) == number


def run(storage: Any, name: str) -> None:
    """As a function that any process can start."""
    asyncio.run(write(storage, name))


def open_files() -> list[str]:
    """The names of the files that this process has open (where the system tells)."""
    handles = Path("/proc/self/fd")
    return [os.readlink(handle) for handle in handles.iterdir() if handle.is_symlink()] if handles.exists() else []


def fork(storage: Any, name: str, root: str) -> None:
    """Write in a child, which must have inherited no open file of the storage."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert not [name for name in open_files() if name.startswith(str(Path(root) / "state"))]
            run(storage, name)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    run(storage, f"{name}-parent")
    _, status = os.waitpid(child, 0)
    assert status == 0, name


def main(kind: str, root: str) -> None:
    """All of it, and then a look at every record."""
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    storage = open_storage(kind, root)
    names = []

    asyncio.run(write(storage, "before"))
    fork(storage, "idle", root)

    ended = threading.Event()

    def keep_writing() -> None:
        async def loop() -> None:
            while not ended.is_set():
                await asyncio.gather(*(storage.set(f"busy-{number}", "x" * 1000) for number in range(5)))

        asyncio.run(loop())

    busy = threading.Thread(target=keep_writing)
    busy.start()
    for number in range(10):
        fork(storage, f"amid-writes-{number}", root)
        names += [f"amid-writes-{number}", f"amid-writes-{number}-parent"]
    ended.set()
    busy.join()

    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=run, args=(storage, method))
        process.start()
        run(storage, f"{method}-parent")
        process.join(60)
        assert process.exitcode == 0, (method, process.exitcode)
        names += [method, f"{method}-parent"]

    with ThreadPoolExecutor(4) as pool:
        threads = [f"thread-{number}" for number in range(8)]
        list(pool.map(run, [storage] * 8, threads))
    names += ["before", "idle", "idle-parent", *threads]

    async def look() -> dict[str, Any]:
        async with storage:
            return await storage.get_many(names)

    assert asyncio.run(look()) == dict.fromkeys(names, 2)
    print("all written")


if __name__ == "__main__":
    main(*sys.argv[1:])
