"""The plugin that fails a run in which a twin or a storage did not take part."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taskstate.core import BACKEND

pytestmark = pytest.mark.once
TESTS = Path(__file__).parent

COMPLETE = """
import pytest

@pytest.mark.parametrize("twin", ["native", "pure"])
def test_twin(twin): pass

@pytest.mark.once
@pytest.mark.covers("memory", "file")
def test_storage(): pass

def test_either(): pass
"""

SKIPPED = """
import pytest

@pytest.mark.parametrize("twin", ["native", "pure"])
def test_twin(twin):
    if twin == "native":
        pytest.skip("not built")
"""

MODULE_SKIPPED = "import pytest; pytest.importorskip('no_such_module')\n"
EXPECTED_TO_FAIL = "import pytest\n@pytest.mark.xfail\ndef test_it(): assert 0\ndef test_ok(): pass\n"


def run(folder: Path, source: str, require: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no_silent_skip", "-p", "no:cacheprovider", "test_it.py"]
    env = os.environ | {"TASKSTATE_REQUIRE": require, "PYTHONPATH": str(TESTS / "plugins")}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_a_complete_run_passes_and_says_what_ran(tmp_path: Path) -> None:
    done = run(tmp_path, COMPLETE, "native,pure,memory,file")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {"native": 1, "pure": 1} | {BACKEND: 2}
    assert "twin: tests passed on native {native}, pure {pure}".format(**counts) in done.stdout
    assert "storage: tests passed on memory 1, file 1, sqlite 0" in done.stdout


@pytest.mark.parametrize(
    ("source", "require", "fault"),
    [
        (COMPLETE, "memory,sqlite", "no test passed on sqlite"),
        (SKIPPED, "native,pure", "no test passed on native"),
        (SKIPPED, "pure", "test_it.py::test_twin[native]: skipped"),
        (MODULE_SKIPPED, "pure", "test_it.py: skipped"),
        (EXPECTED_TO_FAIL, "pure", "test_it.py::test_it: expected to fail"),
    ],
)
def test_a_run_with_a_gap_fails_and_names_it(tmp_path: Path, source: str, require: str, fault: str) -> None:
    done = run(tmp_path, source, require)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"NOT COMPLETE: {fault}" in done.stdout


def test_a_run_by_hand_may_skip(tmp_path: Path) -> None:
    assert run(tmp_path, SKIPPED, "").returncode == 0


def test_an_unknown_requirement_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, COMPLETE, "natvie").returncode == pytest.ExitCode.USAGE_ERROR
