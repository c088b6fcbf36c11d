"""Print the strings of one list in pyproject.toml, a line each: `setting.py project.dependencies`."""

from __future__ import annotations

import sys
import tomllib
from functools import reduce
from pathlib import Path

settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
print(*reduce(lambda table, key: table[key], sys.argv[1].split("."), settings), sep="\n")
