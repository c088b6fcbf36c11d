"""Count the instructions of a call under valgrind, which noise doesn't change: `python -m benches.instructions`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

from .states import STATES

_CALLS = {
    "clone": "core.clone(state)",
    "validate": "core.validate(state)",
    "render, whole": "core.render(state, 0)",
    "render, 800 tokens": "core.render(state, 800)",
    "merge, shallow": "core.merge(state, child)",
    "merge, three_way": "core.merge(state, child, mode='three_way', base=state)",
}
_PROGRAM = """
import copy, sys
from benches.states import STATES
from taskstate import core
state = STATES[{state!r}]
child = copy.deepcopy(state)
for _ in range(int(sys.argv[1])): {call}
"""
_FEW, _MANY = 5, 25


def main() -> None:
    """Print thousands of instructions a call, the interpreter's share included."""
    if not shutil.which("valgrind"):
        raise SystemExit("valgrind is missing")
    print(f"{'thousands of instructions':<28}" + "".join(f"{state:>10}" for state in STATES))
    for what, call in _CALLS.items():
        print(f"  {what:<26}", end="")
        for state in STATES:
            print(f"{_count(call, state) / 1000:10.1f}", end="", flush=True)
        print()


def _count(call: str, state: str) -> float:
    program = _PROGRAM.format(call=call, state=state)
    return (_total(program, _MANY) - _total(program, _FEW)) / (_MANY - _FEW)


def _total(program: str, times: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [sys.executable, "-c", program, str(times)]
    # The same order of hashes each time, or the dicts of the interpreter would count differently.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1])


if __name__ == "__main__":
    main()
