"""The installed package, from a source tree or from a wheel: what it holds and how it imports."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import pkgutil
import subprocess
import sys

import pytest

import taskstate

pytestmark = pytest.mark.once
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(taskstate.__path__, "taskstate.")
    if not module.name.endswith(".__main__")
)


def python(code: str) -> str:
    """What a fresh interpreter prints, with every warning an error but the one of a debug build."""
    warnings = ["-W", "error", "-W", "default:taskstate's native core is a debug build"]
    command = [sys.executable, *warnings, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_version_is_that_of_the_distribution() -> None:
    assert taskstate.__version__ == importlib.metadata.version("taskstate")


def test_the_package_says_that_it_is_typed() -> None:
    assert importlib.resources.files("taskstate").joinpath("py.typed").is_file()


def test_the_licence_travels_with_the_distribution() -> None:
    metadata = importlib.metadata.metadata("taskstate")
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("License-File") == ["LICENSE"]


@pytest.mark.parametrize("module", MODULES)
def test_each_module_imports_alone_without_a_warning(module: str) -> None:
    python(f"import {module}")


def test_the_names_of_the_root_are_all_there() -> None:
    assert [name for name in taskstate.__all__ if not hasattr(taskstate, name)] == []
    assert list(taskstate.__all__) == sorted(set(taskstate.__all__))


def test_the_root_loads_nothing_heavy() -> None:
    heavy = "{'pydantic', 'pytest', 'hypothesis'}"
    assert python(f"import sys, taskstate; print({heavy} & set(sys.modules))") == "set()"


def test_the_root_imports_in_half_a_second() -> None:
    code = "import time; start = time.perf_counter(); import taskstate; print(time.perf_counter() - start)"
    assert min(float(python(code)) for _ in range(5)) < 0.5
