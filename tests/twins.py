"""Which twins of the core can be tested: a wheel without Rust has one, and nothing to compare it with."""

from __future__ import annotations

import os

TWINS = ["pure"] if os.environ.get("TASKSTATE_CORE") == "pure" else ["native", "pure"]
