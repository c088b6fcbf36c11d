"""SQL that is kept in files: several statements a file, each below a line `-- name: <name>`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def read_statements(package: str, name: str) -> dict[str, str]:
    """The statements of `sql/<name>.sql` in a package, by their names, without comments."""
    text = files(package).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    return {key: _without_comments(body) for key, body in zip(parts[::2], parts[1::2], strict=True)}


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip()
