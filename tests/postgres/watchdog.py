"""Waits until whoever started it has ended, in whatever way, and then stops a server and removes its folder.

Arguments: `pg_ctl`, the server's data folder, the folder to remove, user and group of the server (or `-` twice).
The end is that of standard input: the other end of that pipe closes with the process that holds it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any


def main(pg_ctl: str, data: str, folder: str, user: str, group: str) -> None:
    """Wait, stop, remove."""
    sys.stdin.buffer.read()
    identity: dict[str, Any] = {} if user == "-" else {"user": int(user), "group": int(group), "extra_groups": []}
    if os.path.exists(os.path.join(data, "postmaster.pid")):
        command = [pg_ctl, "stop", "-D", data, "-m", "immediate", "-t", "20"]
        quiet = subprocess.DEVNULL
        subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, cwd="/", check=False, **identity)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
