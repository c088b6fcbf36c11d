"""Files that the review leaves behind: extracts and comparisons, each written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from .documents import Source, document_id
from .findings import RULES_VERSION

COMPARISON = "comparison.md"
_EXTRACTS = "extracts"
_SUFFIX = ".extract.json"
_JOURNAL = "journal.jsonl"
_COPIES = "sources"
# By pattern, since the folder may hold files of the user's.
_OWN = (
    f"{_EXTRACTS}/*.extract*.json",
    "comparison.md",
    "comparison-*.md",
    f"evidence/{'?' * 64}.json",
    f"{_COPIES}/{'?' * 12}/*",
    _JOURNAL,
)


class Artifacts:
    """The folder of one review. Paths handed out and recorded are relative to it, so that it can be moved."""

    def __init__(self, out: Path) -> None:
        self.out = out

    def extract_path(self, source: Source) -> str:
        """Where the extract of this version of a document belongs, whether or not it is there.

        A new version of a document, or of the rules, has another path: the older extract stays as it was.
        """
        version = f"{source.name}\0{source.sha256}\0{RULES_VERSION}"
        digest = hashlib.sha256(version.encode("utf-8")).hexdigest()[:12]
        readable = re.sub(r"[^A-Za-z0-9._-]+", "-", document_id(source.name)).strip(".-")[:60] or "document"
        return f"{_EXTRACTS}/{readable}.{digest}{_SUFFIX}"

    def read(self, path: str) -> bytes | None:
        """The bytes of an artifact; None if it isn't there."""
        try:
            return (self.out / path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, content: bytes) -> None:
        """Put an artifact in place, durably: under its name there is only ever a complete file."""
        target = self.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        with open(part, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(part, target)
        _sync_folder(target.parent)

    def note(self, event: str, **facts: Any) -> None:
        """Add a line to the journal. It is there to be looked at; no decision is made from it."""
        self.out.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"event": event, **facts, "pid": os.getpid()}, ensure_ascii=False)
        with open(self.out / _JOURNAL, "a", encoding="utf-8") as handle:
            handle.write(line + "\n")

    @property
    def copies(self) -> Path:
        """Where amended copies of documents are, which are read instead of them."""
        return self.out / _COPIES

    def copy_path(self, sha256: str, name: str) -> str:
        """Where the amended copy of this version of a document belongs."""
        return f"{_COPIES}/{sha256[:12]}/{name}"

    def own_names(self) -> set[str]:
        """The names in the folder that may be artifacts: all else is none of the review's business."""
        return {_EXTRACTS, *(path.name for path in self.out.glob("comparison*.md"))}

    def clear(self) -> None:
        """Remove what earlier reviews wrote here, and nothing else."""
        for pattern in _OWN:
            for path in self.out.glob(pattern):
                path.unlink()


def to_bytes(value: Any) -> bytes:
    """JSON for reading: the same value always gives the same bytes."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def digest(content: bytes) -> str:
    """The SHA-256 of the bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _sync_folder(folder: Path) -> None:
    # A rename is durable once the folder is; where folders can't be opened there is nothing to do.
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
