"""A compiled lower bound for `clone`, built on first use with the C compiler that Python was built with."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).with_name("floor.c")
_BUILT = Path(__file__).parents[2] / "target" / "benches"


def build() -> Path:
    """Compile the floor unless it is there and newer than its source; gives the module's path."""
    module = _BUILT / f"_floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    if module.exists() and module.stat().st_mtime >= _SOURCE.stat().st_mtime:
        return module
    _BUILT.mkdir(parents=True, exist_ok=True)
    unfinished = module.with_name(f"{os.getpid()}-{module.name}")
    include = sysconfig.get_path("include")
    command = [*_compiler(), "-O3", "-fPIC", "-shared", f"-I{include}", str(_SOURCE), "-o", str(unfinished)]
    subprocess.run(command, check=True)
    unfinished.replace(module)
    return module


def _compiler() -> list[str]:
    wanted = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    return wanted if shutil.which(wanted[0]) else ["cc"]


def load() -> Callable[[Any], Any]:
    """The floor's `clone`."""
    loader = importlib.machinery.ExtensionFileLoader("_floor", str(build()))
    spec = importlib.util.spec_from_loader("_floor", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    clone: Callable[[Any], Any] = module.clone
    return clone
