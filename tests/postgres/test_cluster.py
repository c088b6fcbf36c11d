from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from postgres import Cluster, programs
from postgres.fixtures import Place

pytestmark = pytest.mark.once
TESTS = Path(__file__).parent.parent

HOLD = """
import sys
from postgres import Cluster
with Cluster(sys.argv[1], fsync=False) as cluster:
    print(cluster.pid, cluster.folder, flush=True)
    sys.stdin.read()
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int, folder: str) -> bool:
    deadline = time.monotonic() + 20
    while (alive(pid) or Path(folder).exists()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid) and not Path(folder).exists()


def test_what_is_committed_survives_a_crash_and_a_stop_of_the_server(own_cluster: Cluster) -> None:
    assert own_cluster.execute("SHOW fsync") == [("on",)]
    own_cluster.execute("CREATE TABLE t (n int)")
    for number, again in enumerate([own_cluster.restart, lambda: (own_cluster.stop(), own_cluster.start())]):
        own_cluster.execute("INSERT INTO t VALUES (%s)", [number])
        before = own_cluster.pid
        again()
        assert own_cluster.pid != before
        assert own_cluster.execute("SELECT count(*) FROM t") == [(number + 1,)]


@pytest.mark.covers("postgres")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_server_does_not_outlive_the_process_that_started_it(number: signal.Signals) -> None:
    command = [sys.executable, "-c", HOLD, "postgres"]
    pipe = subprocess.PIPE
    holder = subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": str(TESTS)}, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    assert holder.stdout is not None
    pid, folder = holder.stdout.readline().split()
    assert alive(int(pid))
    holder.send_signal(number)
    holder.communicate(timeout=60)
    assert gone(int(pid), folder)


def test_a_place_is_an_empty_schema(place: Place) -> None:
    with psycopg.connect(place.conninfo, autocommit=True) as connection:
        connection.execute(f"SET search_path = {place.schema}")
        connection.execute("CREATE TABLE t ()")
    place.cluster.execute(f"SELECT * FROM {place.schema}.t")


def test_a_connection_that_is_left_is_reported_and_cut(place: Place) -> None:
    with psycopg.connect(place.conninfo, application_name="forgotten") as connection:
        with pytest.raises(AssertionError, match=r"connections leaked.*forgotten"), place.cluster.no_leak(0.1):
            second = psycopg.connect(place.conninfo, application_name="forgotten")
        with pytest.raises(psycopg.OperationalError):
            second.execute("SELECT 1")
        second.close()
        connection.execute("SELECT 1")


def test_a_database_of_its_own_is_dropped_with_all_that_is_in_it(place: Place) -> None:
    with place.cluster.database() as name, psycopg.connect(place.cluster.conninfo(name)) as connection:
        connection.execute("CREATE TABLE t ()")
    assert place.cluster.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]) == []


def test_through_the_network_it_asks_for_the_password(place: Place) -> None:
    conninfo = place.cluster.conninfo(tcp=True)
    with psycopg.connect(conninfo) as connection:
        connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(conninfo.replace(place.cluster.password, "wrong"))


def test_programs_that_the_servers_user_cannot_reach_are_copied(tmp_path: Path) -> None:
    original = programs.find("postgres").bin
    private = tmp_path / "package" / "pginstall" / "bin"  # a folder of pytest is for its owner only
    private.mkdir(parents=True)
    shutil.copy(original / "postgres", private)
    libraries = original.parent.parent.name + ".libs"
    shutil.copytree(original.parent.parent.with_name(libraries), tmp_path / "package.libs")
    reachable = programs._reachable(private)
    assert (reachable == private) == (programs.user() is None)
    assert "PostgreSQL" in programs.Programs("copy", reachable, "").run("postgres", "--version")
