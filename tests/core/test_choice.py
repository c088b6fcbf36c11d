"""The choice of the core: only a native module that isn't there is passed over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import taskstate

pytestmark = pytest.mark.once

SHOW = "import taskstate.core; print(taskstate.core.BACKEND)"
Result = subprocess.CompletedProcess[str]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package without a native module."""
    source = Path(taskstate.__file__).parent
    copy = tmp_path / "taskstate"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("_native*.so", "_native*.pyd", "__pycache__"))
    return copy


def choose(package: Path, wanted: str | None) -> Result:
    environment = {key: value for key, value in os.environ.items() if key != "TASKSTATE_CORE"}
    environment["PYTHONPATH"] = os.pathsep.join([str(package.parent), *filter(None, sys.path)])
    if wanted is not None:
        environment["TASKSTATE_CORE"] = wanted
    command = [sys.executable, "-c", SHOW]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def chosen(result: Result) -> str:
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def last_line(result: Result) -> str:
    assert result.returncode == 1, result.stdout
    return result.stderr.strip().splitlines()[-1]


def put(package: Path, source: str) -> None:
    (package / "core" / "_native.py").write_text(source, "utf-8")


def test_a_missing_native_module_falls_back_to_pure(package: Path) -> None:
    assert chosen(choose(package, None)) == "pure"
    assert chosen(choose(package, "auto")) == "pure"
    assert chosen(choose(package, "pure")) == "pure"


def test_a_missing_native_module_that_is_wanted_is_an_error(package: Path) -> None:
    assert last_line(choose(package, "native")) == "ModuleNotFoundError: No module named 'taskstate.core._native'"


def test_a_native_module_that_is_there_is_used(package: Path) -> None:
    put(package, "from taskstate.core._pure import *\n")
    assert chosen(choose(package, None)) == "native"
    assert chosen(choose(package, "native")) == "native"
    assert chosen(choose(package, "pure")) == "pure"


@pytest.mark.parametrize("wanted", [None, "native"])
@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("raise ImportError('undefined symbol: PyFoo')", "ImportError: undefined symbol: PyFoo"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("from taskstate.core import no_such_name", "ImportError: cannot import name 'no_such_name'"),
        ("raise RuntimeError('broken')", "RuntimeError: broken"),
        ("clone = None", "ImportError: cannot import name 'Record'"),
    ],
)
def test_a_broken_native_module_is_not_hidden(package: Path, source: str, error: str, wanted: str | None) -> None:
    put(package, source)
    assert last_line(choose(package, wanted)).startswith(error)
    assert chosen(choose(package, "pure")) == "pure"


def test_a_native_module_that_is_no_library_is_not_hidden(package: Path) -> None:
    (package / "core" / "_native.so").write_bytes(b"not a library")
    assert last_line(choose(package, None)).startswith("ImportError: ")


@pytest.mark.parametrize("wanted", ["Native", "rust", "1", " pure"])
def test_an_unknown_core_is_refused(package: Path, wanted: str) -> None:
    shown = f"TASKSTATE_CORE is {wanted!r}; it can be auto, native or pure"
    assert last_line(choose(package, wanted)) == f"taskstate.errors.ConfigurationError: {shown}"
