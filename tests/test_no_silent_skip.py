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

CRASHES = """
import os, pytest

@pytest.mark.parametrize("number", range(20))
def test_it(number):
    if number == 13: os._exit(0)
"""

# Each worker ends without a word, with all of its tests reported.
DIES_AFTERWARDS = """
import os, pytest

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"): os._exit(0)
"""

LOSES_A_TEST = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    return True if item.name == "test_lost" else None
"""

WORKERS = {"one process": (), "workers": ("-p", "xdist", "-n2", "--dist=worksteal")}


@pytest.fixture(params=list(WORKERS))
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Options: all in one process, or spread over two workers."""
    return WORKERS[request.param]


def run(folder: Path, source: str, require: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no_silent_skip", "-p", "no:cacheprovider", *options, "test_it.py"]
    env = os.environ | {"TASKSTATE_REQUIRE": require, "PYTHONPATH": str(TESTS / "plugins")}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what else is installed takes seconds to load
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_a_complete_run_passes_and_says_what_ran(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, COMPLETE, "native,pure,memory,file", *workers)
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
def test_a_run_with_a_gap_fails_and_names_it(
    tmp_path: Path, workers: tuple[str, ...], source: str, require: str, fault: str
) -> None:
    done = run(tmp_path, source, require, *workers)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"NOT COMPLETE: {fault}" in done.stdout


def test_a_test_that_was_collected_and_never_ran_fails_the_run(tmp_path: Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "conftest.py").write_text(LOSES_A_TEST, encoding="utf-8")
    done = run(tmp_path, "def test_ok(): pass\ndef test_lost(): pass\n", BACKEND, *workers)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "NOT COMPLETE: 1 tests did not run, such as test_it.py::test_lost" in done.stdout


# The controller may also be the one that stumbles, while it gives work to the dead worker.
DIED = {1: "NOT COMPLETE: worker gw", 3: "cannot send"}


@pytest.mark.parametrize("require", ["", BACKEND])
def test_a_worker_that_dies_in_a_test_fails_the_run(tmp_path: Path, require: str) -> None:
    done = run(tmp_path, CRASHES, require, *WORKERS["workers"])
    assert done.returncode in DIED, done.stdout + done.stderr
    assert DIED[done.returncode] in done.stdout


@pytest.mark.parametrize("require", ["", BACKEND])
def test_a_worker_that_dies_after_its_tests_fails_the_run(tmp_path: Path, require: str) -> None:
    (tmp_path / "conftest.py").write_text(DIES_AFTERWARDS, encoding="utf-8")
    done = run(tmp_path, "def test_ok(): pass\n", require, *WORKERS["workers"])
    assert done.returncode in DIED, done.stdout + done.stderr
    assert DIED[done.returncode] in done.stdout


def test_a_failed_test_fails_the_run(tmp_path: Path, workers: tuple[str, ...]) -> None:
    done = run(tmp_path, "def test_ok(): pass\ndef test_it(): assert 0\n", BACKEND, *workers)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "NOT COMPLETE" not in done.stdout


def test_a_run_by_hand_may_skip(tmp_path: Path, workers: tuple[str, ...]) -> None:
    assert run(tmp_path, SKIPPED, "", *workers).returncode == 0


def test_an_unknown_requirement_is_refused(tmp_path: Path, workers: tuple[str, ...]) -> None:
    assert run(tmp_path, COMPLETE, "natvie", *workers).returncode == pytest.ExitCode.USAGE_ERROR
