"""Kill a writer at each line that touches the disk, and look at what is left.

Arguments: storage, folder, `first` (nothing is there yet) or `later` (an old value is). Prints how often the
old and the new value were found, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from opening import open_storage

import taskstate.storage

ROOM = Path(taskstate.storage.__file__).parent
SOURCES = {str(ROOM / name) for name in ("database.py", "disk.py", "folder.py", "lock.py", "sqlite_file.py")}
NEW = {"text": "new" * 5000}


def kill_at(step: int) -> None:
    """Have this process killed at the given line of the storage, in whichever thread."""
    lines = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in SOURCES:
            return None
        if event == "line":
            lines += 1
            if lines == step:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)


async def once(kind: str, root: Path, value: Any = None) -> Any:
    """Set a value, or get it."""
    async with open_storage(kind, root) as storage:
        if value is not None:
            await storage.set("k", value)
        return await storage.get("k")


def main(kind: str, folder: str, start: str) -> None:
    """Go on until a writer got through all lines."""
    root = Path(folder)
    old = None if start == "first" else {"text": "old" * 5000}
    found = {"old": 0, "new": 0, "steps": 0}
    survived = False
    while not survived:
        found["steps"] += 1
        if old is not None:
            asyncio.run(once(kind, root, old))
        child = os.fork()
        if child == 0:
            kill_at(found["steps"])
            asyncio.run(once(kind, root, NEW))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        survived = status == 0
        if not survived and os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            raise SystemExit(f"step {found['steps']}: the writer ended with status {status}")
        left = asyncio.run(once(kind, root))
        if left not in (old, NEW):
            raise SystemExit(f"step {found['steps']}: neither the old nor the new value")
        found["new" if left == NEW else "old"] += 1
        if asyncio.run(once(kind, root, {"next": 1})) != {"next": 1}:
            raise SystemExit(f"step {found['steps']}: the next writer failed")
        litter = [path.name for path in root.rglob(".new-*")]
        if litter:
            raise SystemExit(f"step {found['steps']}: left behind {litter}")
        if old is None:
            shutil.rmtree(root / "state")
    print(json.dumps(found))


main(*sys.argv[1:])
