"""Values whose own code runs inside of a core function, in a process of its own: a crash is a failing exit code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"


def run(program: str, twin: Any) -> str:
    command = [sys.executable, "-X", "faulthandler", str(PROGRAMS / program), twin.__name__.rpartition("._")[2]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_a_finalizer_that_empties_a_list_while_it_is_cloned_never_crashes_the_process(twin: Any) -> None:
    assert run("shrinking.py", twin) == "alive\n"


def test_hostile_values_never_crash_the_process(twin: Any) -> None:
    counts = re.fullmatch(r"(\d+) results, (\d+) exceptions, (\d+) finalizers\n", run("hostile.py", twin))
    assert counts is not None
    assert all(int(count) > 100 for count in counts.groups())
