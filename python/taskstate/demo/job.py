"""What is to be reviewed."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from .documents import display_name


@dataclass(frozen=True)
class Job:
    """What to review and where to keep it; `crash_after` counts extractions, None never crashes."""

    folder: Path
    out: Path
    state: Path
    crash_after: int | None = None

    @property
    def thread_id(self) -> str:
        """The thread of this folder and the task of its restart record: always the same one."""
        place = os.fsencode(self.folder.resolve())
        readable = re.sub(r"[^A-Za-z0-9]+", "-", self.folder.resolve().name).strip("-").lower()[:40]
        return f"review-{readable or 'folder'}-{hashlib.sha256(place).hexdigest()[:8]}"

    @property
    def objective(self) -> str:
        """What the review is for, in one sentence."""
        folder = display_name(self.folder.resolve()) or str(self.folder.resolve())
        return (
            f"Compare the offers in the folder {folder}: every readable document has a checked extract, "
            "and the comparison covers every criterion."
        )
