"""The build backend: maturin for the native wheel, hatchling for the pure one.

`TASKSTATE_BUILD=pure` chooses the wheel without Rust (py3-none-any); unset or
`native` chooses the compiled one. Both read their metadata from pyproject.toml,
and so do the requirements: a machine without Rust is never asked for maturin.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

Settings = dict[str, Any] | None

_BACKENDS = {"native": "maturin", "pure": "hatchling.build"}

KIND = os.environ.get("TASKSTATE_BUILD") or "native"
if KIND not in _BACKENDS:
    raise SystemExit(f"TASKSTATE_BUILD must be one of {', '.join(_BACKENDS)}, not {KIND!r}")


def _requires(_settings: Settings = None) -> list[str]:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    requires: list[str] = project["tool"]["taskstate"]["build"][KIND]
    return requires


get_requires_for_build_wheel = get_requires_for_build_sdist = get_requires_for_build_editable = _requires


def _hook(name: str, *args: Any) -> str:
    if KIND == "native" and shutil.which("cargo") is None:
        # maturin would fetch a toolchain of its own.
        raise SystemExit("cargo is missing: install Rust, or set TASKSTATE_BUILD=pure for the wheel without it")
    return str(getattr(import_module(_BACKENDS[KIND]), name)(*args))


if KIND == "native":  # hatchling has no such hook under pip: building its wheel is as quick

    def prepare_metadata_for_build_wheel(directory: str, settings: Settings = None) -> str:
        """Write the wheel's metadata into `directory` without compiling anything; gives the folder's name."""
        return _hook("prepare_metadata_for_build_wheel", directory, settings)

    prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(directory: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Build a wheel into `directory`; gives its file name."""
    return _hook("build_wheel", directory, settings, metadata)


def build_sdist(directory: str, settings: Settings = None) -> str:
    """Build a source distribution into `directory`; gives its file name."""
    return _hook("build_sdist", directory, settings)


def build_editable(directory: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Build a wheel that points at the source tree; gives its file name."""
    return _hook("build_editable", directory, settings, metadata)
