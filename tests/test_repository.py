"""The source tree: its versions agree, and nothing in it ties it to one machine. Not run against a wheel."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import taskstate

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parent.parent

# None of these patterns matches its own text here.
FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w./])/(?:work|tmp|root|home)/\w"),
    "a path out of the tree": re.compile(r"\.\./[s]hared"),
    "the host of a registry": re.compile(r"\b(?:pypi[.]org|crates[.]io|pythonhosted[.]org)"),
}
LOCK_FILES = {"Cargo.lock"}


def settings(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def sources() -> list[str]:
    """The files under version control, those not yet added included."""
    git = ["git", "-c", "safe.directory=*", "-C", str(ROOT)]
    command = [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def lines() -> Iterator[tuple[str, str]]:
    """Each line of the sources with its place."""
    for name in sorted(set(sources()) - LOCK_FILES):
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        yield from ((f"{name}:{number}", line) for number, line in enumerate(text.splitlines(), 1))


def test_the_versions_agree() -> None:
    version = settings("pyproject.toml")["project"]["version"]
    locked = {crate["name"]: crate["version"] for crate in settings("Cargo.lock")["package"]}
    assert settings("rust/Cargo.toml")["package"]["version"] == version
    assert locked["taskstate-native"] == version
    assert taskstate.__version__ == version


def test_the_changelog_is_kept() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_ties_the_tree_to_a_machine(what: str) -> None:
    found = [f"{place}: {line.strip()}" for place, line in lines() if FORBIDDEN[what].search(line)]
    assert found == []


def test_a_machine_path_would_be_found() -> None:
    pattern = FORBIDDEN["a path of one machine"]
    assert pattern.search("see " + "/work" + "/main") is not None
    assert pattern.search("https://example.test/" + "work/x") is None


def test_source_files_stay_small() -> None:
    small = 400
    code = [name for name in sources() if name.endswith((".py", ".rs")) and name.startswith(("python/", "rust/"))]
    long = [name for name in code if len((ROOT / name).read_text(encoding="utf-8").splitlines()) > small]
    assert long == []
