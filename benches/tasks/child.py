"""The process of one engine: `python -m benches.tasks.child MODULE [VARIANT]` takes lines of JSON and answers so."""

from __future__ import annotations

import json
import os
import sys

from .peers import load


def main() -> None:
    """Answer until `close` or the end of the input."""
    # What an engine prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer = load(*sys.argv[1:])
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answers.write(json.dumps(getattr(peer, command)(*arguments)) + "\n")
        answers.flush()
        if command == "close":
            break


if __name__ == "__main__":
    main()
