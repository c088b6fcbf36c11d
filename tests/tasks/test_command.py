"""`python -m taskstate.tasks`: a worker as a process of its own, and looking at tasks and steering them."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from taskstate.tasks import DurableTasks, TaskContext, task
from taskstate.tasks.__main__ import main

pytestmark = pytest.mark.once

DEFINITIONS = """
import asyncio, time
from taskstate.tasks import DurableTasks, task

@task("nap")
async def nap(ctx, input: float) -> float:
    with open("begun", "a") as file:
        print(input, file=file)
    await asyncio.sleep(input)
    return input

@task("block")
async def block(ctx, input: float) -> None:
    with open("begun", "a") as file:
        print(input, file=file)
    time.sleep(input)

tasks = DurableTasks(types=[nap, block], store="tasks.db", worker=False)
memory = DurableTasks(types=[nap], store="memory:")
class Inner:
    tasks = tasks
def make():
    return tasks
def fail():
    raise ValueError("not\\ntoday")
number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module `work`, which is where commands run."""
    (tmp_path / "work.py").write_text(DEFINITIONS)
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("work", "broken"):
        sys.modules.pop(name, None)


class Worker:
    """A worker process, of which the tests know what has begun and what it said."""

    def __init__(self, folder: Path, *options: str, tasks: str = "work:tasks") -> None:
        self._begun = folder / "begun"
        command = [sys.executable, "-m", "taskstate.tasks", "worker", tasks, *options]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for(self, count: int) -> None:
        """Return when so many tasks have begun."""
        deadline = time.monotonic() + 30
        while self.begun() < count:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "nothing came of it"
            time.sleep(0.01)

    def begun(self) -> int:
        return self._begun.read_text().count("\n") if self._begun.exists() else 0

    def ended(self) -> tuple[int, str, str]:
        """Its exit status and what it said."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture
def workers(folder: Path) -> Iterator[Callable[..., Worker]]:
    started: list[Worker] = []

    def start(*options: str, **named: str) -> Worker:
        started.append(Worker(folder, *options, **named))
        return started[-1]

    yield start
    for worker in started:
        if worker.process.poll() is None:
            worker.process.kill()
        worker.process.communicate()


@task("nap")
async def nap(ctx: TaskContext, input: float) -> float:
    return float(await ctx.checkpoint("said", lambda: input))


@task("block")
async def block(ctx: TaskContext, input: float) -> None: ...


@task("ask\n\x1b[31m")
async def ask(ctx: TaskContext, input: int) -> None:
    await ctx.wait_for("approval")


def within(work: Callable[[DurableTasks], Awaitable[Any]], *, worker: bool = False, store: str = "tasks.db") -> Any:
    """What `work` gives, with durable tasks that are open."""

    async def run() -> Any:
        async with DurableTasks(types=[nap, block, ask], store=store, worker=worker) as tasks:
            return await work(tasks)

    return asyncio.run(run())


def started(inputs: Sequence[float], definition: Any = nap, **options: Any) -> list[str]:
    async def start(tasks: DurableTasks) -> list[str]:
        return [handle.id for handle in await tasks.start_many(definition, inputs, **options)]

    ids: list[str] = within(start)
    return ids


def test_a_worker_finishes_or_gives_back_what_it_has_within_the_grace_and_says_which(
    workers: Callable[..., Worker],
) -> None:
    short, long, later = started([1.0, 60.0, 60.0])
    worker = workers("--concurrency", "2", "--grace", "2", tasks="work:make")
    worker.wait_for(2)
    worker.process.terminate()
    status, out, err = worker.ended()
    assert (status, err) == (0, "")
    assert "stopping: nothing more is claimed\n" in out
    assert f"finished 1: {short}\nreleased 1: {long}\nlost 0\n" in out
    assert worker.begun() == 2

    async def states(tasks: DurableTasks) -> list[tuple[str, int]]:
        return [((one := await tasks.get(each))["state"], one["attempt"]) for each in (short, long, later)]

    assert within(states) == [("succeeded", 1), ("ready", 1), ("ready", 1)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_a_worker_at_once_even_if_a_function_blocks_it(
    workers: Callable[..., Worker], number: signal.Signals
) -> None:
    started([60.0], block)
    worker = workers()
    worker.wait_for(1)
    worker.process.send_signal(number)
    time.sleep(0.2)
    assert worker.process.poll() is None
    worker.process.send_signal(number)
    assert worker.ended()[0] == -number


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("work", "work: MODULE:ATTRIBUTE is wanted, as in myapp.tasks:tasks"),
        ("nowhere_at_all:tasks", "nowhere_at_all:tasks: there is no module nowhere_at_all"),
        ("work.deeper:tasks", "work.deeper:tasks: there is no module work.deeper"),
        ("broken:tasks", "broken:tasks: importing broken failed: ModuleNotFoundError: No module named 'nowhere_to_be"),
        ("work:none", "work:none: work has no attribute none"),
        ("work:Inner.none", "work:Inner.none: work has no attribute Inner.none"),
        ("work:number", "work:number: int is neither DurableTasks nor a callable that gives one"),
        ("work:Inner", "work:Inner: Inner is neither DurableTasks nor a callable that gives one"),
        ("work:fail", "work:fail: calling it failed: ValueError: not\\ntoday ("),
        ("work:memory", "work:memory: memory: is seen by its own process only"),
    ],
)
def test_a_name_that_leads_to_no_durable_tasks_is_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], named: str, told: str
) -> None:
    assert main(["worker", named]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"taskstate.tasks: {told}")
    assert err.count("\n") == 1


def test_a_worker_whose_store_cannot_be_opened_says_so_and_ends(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tasks.db").write_bytes(b"no database" * 1000)
    assert main(["worker", "work:Inner.tasks"]) == 2
    assert "the file is not a SQLite database\n" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--concurrency=0", "--concurrency=x", "--grace=-1", "--grace=nan"])
def test_a_wrong_option_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["worker", "work:tasks", option])
    assert ended.value.code == 2
    assert "is wanted" in capsys.readouterr().err


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, store: str = "tasks.db") -> str:
    code = main([*arguments, "--store", store])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def data(capsys: pytest.CaptureFixture[str], *arguments: str, store: str = "tasks.db") -> Any:
    return json.loads(shown(capsys, *arguments, "--json", store=store))


def test_tasks_are_listed_newest_first_and_by_what_is_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = started([1.0, 2.0], owner="u", conversation="c")
    (third,) = started([3.0], ask)
    assert [one["id"] for one in data(capsys, "list")] == [third, second, first]
    assert [one["input"] for one in data(capsys, "list", "--owner", "u", "--limit", "1")] == [2.0]
    assert [one["id"] for one in data(capsys, "list", "--before", second)] == [first]
    assert data(capsys, "list", "--state", "running", "--state", "failed") == []
    assert data(capsys, "list", "--name", "nap", "--conversation", "other") == []
    lines = shown(capsys, "list").splitlines()
    assert [line.split()[0] for line in lines] == ["id", third, second, first]
    assert "ask\\n\\x1b[31m  ready  1/3" in lines[1]
    assert shown(capsys, "list", "--owner", "nobody") == "No tasks.\n"


def test_a_task_is_shown_with_its_attempts_steps_and_open_waits(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(tasks: DurableTasks) -> tuple[str, str, Any]:
        done = await tasks.start(nap, 1.0, owner="u")
        await done.result()
        waiting = await tasks.start(ask, 1)
        for _ in range(3000):
            if (await waiting.info())["state"] == "suspended":
                break
            await asyncio.sleep(0.01)
        return done.id, waiting.id, await tasks.waits(waiting.id)

    done, waiting, waits = within(work, worker=True)
    found = data(capsys, "show", done)
    assert found["task"]["result"] == 1.0
    assert [attempt["outcome"] for attempt in found["history"]["attempts"]] == ["succeeded"]
    text = shown(capsys, "show", done, "--owner", "u")
    assert text.startswith(f"nap {done}: succeeded\n")
    assert "    1  succeeded  " in text
    assert "    said  3 bytes" in text
    assert data(capsys, "show", waiting)["waits"] == waits
    text = shown(capsys, "show", waiting)
    assert f"    signal  approval  {waits[0]['id']}  task {waiting}" in text
    assert "  resume reason: signal:approval" in text


def test_tasks_are_cancelled_retried_and_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = started([1.0, 2.0], owner="u")
    assert shown(capsys, "cancel", first, "--owner", "u") == f"cancelled {first}\n"
    assert shown(capsys, "cancel", first) == "It has ended already; nothing was changed.\n"
    assert data(capsys, "retry", first) == {"ready": [first]}
    assert data(capsys, "cancel", first) == {"ended": [first], "asked": []}
    assert data(capsys, "cancel", second) == {"ended": [second], "asked": []}
    assert data(capsys, "purge", "--older-than", "1h") == {"removed": 0}
    assert data(capsys, "purge", "--older-than", "0", "--state", "succeeded") == {"removed": 0}
    time.sleep(0.01)
    assert shown(capsys, "purge", "--older-than", "0s") == "2 tasks removed.\n"


def test_what_the_store_refuses_is_told_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = started([1.0], owner="u")
    for arguments, told in (
        (["show", one, "--owner", "other"], f"task {one}: not found"),
        (["cancel", "none\n"], "task none\\n: not found"),
        (["retry", one], f"task {one}: is ready"),
    ):
        assert main([*arguments, "--store", "tasks.db"]) == 1
        assert capsys.readouterr().err == f"taskstate.tasks: {told}\n"


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("none.db", "No such file or directory"),
        (".", "Is a directory"),
        ("work.py", "the database can't be read: file is not a database"),
        ("other.db", "the database holds no durable tasks"),
        ("memory:", "memory: is seen by its own process only"),
        ("mysql://root:secret@here/x", "a store is `memory:`, `postgresql://...` or the path of a SQLite file"),
        ("postgresql://u:secret@127.0.0.1:1/x", "schema taskstate: the server can't be reached"),
    ],
)
def test_a_place_without_tasks_is_refused_in_one_line_and_stays_as_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str], place: str, told: str
) -> None:
    (folder / "other.db").touch()
    before = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert main(["list", "--store", place]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"taskstate.tasks: --store: {told}")
    assert err.count("\n") == 1
    assert "secret" not in err
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == before


@pytest.mark.covers("postgres")
def test_tasks_in_postgresql_are_reached_by_url_and_nothing_is_created_where_none_are(
    folder: Path, capsys: pytest.CaptureFixture[str], clusters: Callable[..., Any]
) -> None:
    cluster = clusters("postgres")
    with cluster.database() as name:
        url = cluster.conninfo(name, tcp=True)
        assert main(["list", "--store", url]) == 2
        assert capsys.readouterr().err.startswith("taskstate.tasks: --store: schema taskstate: ")

        async def start(tasks: DurableTasks) -> str:
            return (await tasks.start(nap, 1.0)).id

        task_id = within(start, store=url)
        assert [one["id"] for one in data(capsys, "list", store=url)] == [task_id]
        assert data(capsys, "cancel", task_id, store=url)["ended"] == [task_id]
