"""Checks by a command: its exit status, and what becomes of it when it doesn't end."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from taskstate.errors import ConfigurationError, StorageError
from taskstate.restart import commands
from taskstate.restart.parts import Verification
from taskstate.restart.verifiers import Verifiers, command_check

from .disk import open_handles, put, record_of

pytestmark = pytest.mark.once

GRANDCHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open("pids", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename("pids", "started")
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


async def verified(root: Path, argv: list[str], location: str = "a", **options: Any) -> Verification:
    verifiers = Verifiers(clock=lambda: 1)
    verifiers.register("command", "1", command_check(argv, **options))
    return (await verifiers.verify(record_of(location, verifier="command"), "u0", root)).verification


def run(root: Path, argv: list[str], location: str = "a", **options: Any) -> tuple[Verification, dict[str, Any]]:
    put(root, location)
    made = asyncio.run(verified(root, argv, location, **options))
    return made, orjson.loads((root / str(made.evidence)).read_bytes())["details"]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_start(root: Path) -> None:
    deadline = time.monotonic() + 30
    while not (root / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def all_end(root: Path) -> bool:
    """Whether the processes that said their numbers have ended, within a while."""
    pids = [int(pid) for pid in (root / "started").read_text().split()]
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(alive, pids))


def test_exit_status_zero_passes_and_is_kept_as_evidence(tmp_path: Path) -> None:
    argv = python("import sys; print('fine'); print('really', file=sys.stderr)")
    made, details = run(tmp_path, argv)
    assert (made.state, made.reason) == ("passed", None)
    assert shlex.split(details["command"]) == argv
    assert details["exit_status"] == 0
    assert sorted(details["output_end"].split()) == ["fine", "really"]


@pytest.mark.parametrize(
    ("code", "status"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 15)", -15), ("1/0", 1)]
)
def test_any_other_exit_status_fails(tmp_path: Path, code: str, status: int) -> None:
    made, details = run(tmp_path, python(code))
    assert (made.state, made.reason) == ("failed", f"exit status {status}")
    assert details["exit_status"] == status


def test_the_path_is_put_in_and_no_shell_reads_it(tmp_path: Path) -> None:
    root = tmp_path / "a root; touch hacked"
    location = "out/$(touch hacked) `x`.json"
    code = "import sys, os; assert open(sys.argv[1]).read() == 'text'; print(os.getcwd(), sys.argv[2])"
    made, details = run(root, python(code, "{path}", "--file={path}"), location)
    assert made.state == "passed"
    assert details["output_end"].strip() == f"{root} --file={root / location}"
    assert str(tmp_path) not in repr(details["command"])
    assert not list(tmp_path.rglob("hacked"))


def test_there_is_no_input(tmp_path: Path) -> None:
    assert run(tmp_path, python("import sys; assert sys.stdin.read() == ''"))[0].state == "passed"


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    start = time.monotonic()
    made, details = run(tmp_path, python(GRANDCHILD + "time.sleep(60)"), timeout=1.5)
    assert time.monotonic() - start < 10
    assert (made.state, made.reason) == ("failed", "took longer than 1.5 s")
    assert (details["exit_status"], details["timeout_seconds"]) == (None, 1.5)
    assert all_end(tmp_path)


def test_one_that_ignores_the_signal_to_end_is_ended_too(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
    assert run(tmp_path, python(code), timeout=0.3)[0].state == "failed"


def test_what_a_command_leaves_behind_is_not_waited_for_and_ends_with_it(tmp_path: Path) -> None:
    """The grandchild holds the pipe open, for longer than the command takes."""
    start = time.monotonic()
    made, _ = run(tmp_path, python(GRANDCHILD), timeout=30)
    assert time.monotonic() - start < 10
    assert made.state == "passed"
    assert all_end(tmp_path)


def test_a_cancelled_check_ends_its_command_before_it_returns(tmp_path: Path) -> None:
    put(tmp_path, "a")

    async def scenario() -> None:
        task = asyncio.create_task(verified(tmp_path, python(GRANDCHILD + "time.sleep(60)")))
        await asyncio.to_thread(await_start, tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not alive(int((tmp_path / "started").read_text().split()[0]))

    asyncio.run(scenario())
    assert all_end(tmp_path)
    assert not (tmp_path / "evidence").exists()


def test_no_other_process_of_ours_is_ended(tmp_path: Path) -> None:
    async def scenario() -> None:
        other = await asyncio.create_subprocess_exec(*python("import time; time.sleep(60)"))
        put(tmp_path, "a")
        made = await verified(tmp_path, python("import time; time.sleep(60)"), timeout=0.2)
        assert made.state == "failed"
        assert other.returncode is None
        assert alive(other.pid)
        other.kill()
        await other.wait()

    asyncio.run(scenario())


def test_of_a_flood_of_output_the_end_is_kept(tmp_path: Path) -> None:
    code = "import sys\nfor n in range(200_000): print(n, 'x' * 50)\nprint('last')"
    made, details = run(tmp_path, python(code), keep_output=100)
    assert made.state == "passed"
    assert 0 < len(details["output_end"]) <= 100
    assert details["output_end"].endswith("last\n")
    assert details["output_bytes"] > 10_000_000


def test_what_was_written_last_is_kept_even_of_a_command_that_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = commands._status

    def ended(process: Any) -> int:
        while (status := look(process)) is None:
            time.sleep(0.01)
        return status

    monkeypatch.setattr(commands, "_status", ended)
    assert run(tmp_path, python("print('last words')"))[1]["output_end"] == "last words\n"


def test_output_without_end_ends_at_the_time_limit(tmp_path: Path) -> None:
    made, details = run(tmp_path, python("while True: print('x' * 1000)"), timeout=0.5)
    assert made.state == "failed"
    assert 16_384 - 1_000 < len(details["output_end"]) <= 16_384


def test_output_that_is_no_text_is_kept_as_far_as_it_is_one(tmp_path: Path) -> None:
    _, details = run(tmp_path, python("import sys; sys.stdout.buffer.write(b'a\\xff\\x00b')"))
    assert details["output_end"] == "a\ufffd\x00b"


def test_secrets_in_the_output_are_not_kept(tmp_path: Path) -> None:
    _, details = run(tmp_path, python("print('ghp_' + 'a1B2' * 9)"))
    assert "ghp_a1B2" not in repr(details)


def test_a_command_that_can_not_be_run_decides_nothing(tmp_path: Path) -> None:
    put(tmp_path, "a")
    put(tmp_path, "script").chmod(0o644)
    for command in ("no-such-command-here", str(tmp_path / "script")):
        with pytest.raises(StorageError, match="can't be run"):
            asyncio.run(verified(tmp_path, [command]))
    assert not (tmp_path / "evidence").exists()


def test_nothing_stays_open(tmp_path: Path) -> None:
    run(tmp_path, python("pass"))
    before = open_handles()
    run(tmp_path, python("pass"))
    run(tmp_path, python("import time; time.sleep(60)"), timeout=0.1)
    assert open_handles() == before


def test_the_environment_can_be_given(tmp_path: Path) -> None:
    code = "import os; assert os.environ['ONLY'] == 'this' and 'HOME' not in os.environ"
    assert run(tmp_path, python(code), env={"ONLY": "this"})[0].state == "passed"


@pytest.mark.parametrize("argv", ["true", [], ["a", 1], ["a\0b"], b"true"])
def test_a_command_is_a_list_of_texts(argv: Any) -> None:
    with pytest.raises(ConfigurationError, match="argv"):
        command_check(argv)


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": float("inf")}, {"keep_output": 0}]
)
def test_limits_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        command_check(["true"], **options)


@pytest.mark.parametrize("end", ["", "\\n"])
def test_of_one_line_longer_than_what_is_kept_its_last_words_are_kept(tmp_path: Path, end: str) -> None:
    code = f"print('word ' * 10_000 + 'last', end='{end}')"
    made, details = run(tmp_path, python(code), keep_output=100)
    assert made.state == "passed"
    assert details["output_end"].split()[-1] == "last"
    assert set(details["output_end"].split()) == {"word", "last"}
