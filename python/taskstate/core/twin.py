"""The one place that chooses the native core or its pure-Python twin.

`TASKSTATE_CORE` is `auto` (the default: native where it was built, else pure), `native` or `pure`.
Only a native module that isn't there makes `auto` fall back; one that fails to load is an error.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from ..errors import ConfigurationError

_NATIVE = f"{__package__}._native"


def _choose() -> str:
    wanted = os.environ.get("TASKSTATE_CORE", "auto")
    if wanted not in ("auto", "native", "pure"):
        raise ConfigurationError(f"TASKSTATE_CORE is {wanted!r}; it can be auto, native or pure")
    if wanted == "pure":
        return "pure"
    try:
        importlib.import_module(_NATIVE)
    except ModuleNotFoundError as error:
        if wanted == "native" or error.name != _NATIVE:
            raise
        return "pure"
    return "native"


BACKEND = _choose()
"""Which twin is in use: `native` or `pure`."""

if TYPE_CHECKING or BACKEND == "native":
    from ._native import Record, check_state, clone, equal, measure, merge, render_block, render_parts, validate
else:
    from ._pure import Record, check_state, clone, equal, measure, merge, render_block, render_parts, validate

__all__ = [
    "BACKEND",
    "Record",
    "check_state",
    "clone",
    "equal",
    "measure",
    "merge",
    "render_block",
    "render_parts",
    "validate",
]
