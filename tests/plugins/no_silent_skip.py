"""A pytest plugin: a twin or a storage whose tests did not run fails the run.

`TASKSTATE_REQUIRE` names what must have run, separated by commas: twins (`native`,
`pure`), storages (`memory`, `file`, `sqlite`) and servers (`postgres`). While it is set, a test that was
skipped or expected to fail also fails the run, unless ALLOWED names it. Unset (a
run of a few tests by hand), the plugin only counts.

A test counts for a backend when it passed and either a fixture of KINDS was
parametrized with the backend's name, or the test is marked `covers(name, ...)`.
One that names no twin counts for the twin in use, unless it is marked `once`.

The suite runs twice, with TASKSTATE_CORE=native and =pure. A test marked `once` needs
one of the two only, and so does every test that a fixture `twin` runs on both anyway:
`-m "not once"` leaves them out of the second run.

Under pytest-xdist the workers say in their reports what a test counts for; only the
controller, which hears of every test, counts and decides. A worker that died fails
the run, whatever was required: the tests it had yet to report may never be missed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterable
from fnmatch import fnmatchcase
from typing import Any

import pytest

from taskstate.core import BACKEND

KINDS = {
    "twin": ("native", "pure"),
    "storage": ("memory", "file", "sqlite"),
    "server": ("postgres", "postgres_system"),
}
NAMES = [name for names in KINDS.values() for name in names]

ALLOWED: dict[str, str] = {}
"""Pattern of a test's id -> why it may be skipped."""

_SEEN = "taskstate_backend"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "covers(*names): the twins and storages that this test exercises")
    config.addinivalue_line("markers", "once: doesn't depend on the twin that TASKSTATE_CORE chose")
    is_worker = hasattr(config, "workerinput")
    config.pluginmanager.register(Watch([] if is_worker else _required()), "taskstate-watch")


def _required() -> list[str]:
    names = [name.strip() for name in os.environ.get("TASKSTATE_REQUIRE", "").split(",") if name.strip()]
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise pytest.UsageError(f"TASKSTATE_REQUIRE: unknown {unknown}; known are {NAMES}")
    return names


def backends_of(item: pytest.Item) -> set[str]:
    """The names of the twins and storages that a test exercises."""
    found = {str(name) for mark in item.iter_markers("covers") for name in mark.args}
    params = getattr(getattr(item, "callspec", None), "params", {})
    found |= {str(value) for kind, value in params.items() if kind in KINDS and value in NAMES}
    if not found & set(KINDS["twin"]) and item.get_closest_marker("once") is None:
        found.add(BACKEND)
    if unknown := found - set(NAMES):
        raise pytest.UsageError(f"{item.nodeid}: covers() doesn't know {sorted(unknown)}")
    return found


def pytest_report_header() -> str:
    return f"taskstate core: {BACKEND}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "twin" in getattr(getattr(item, "callspec", None), "params", {}):
            item.add_marker("once")


class Watch:
    """Counts what passed for each backend, and what was skipped."""

    def __init__(self, required: list[str]) -> None:
        self.required = required
        self.passed: Counter[str] = Counter()
        self.skipped: dict[str, str] = {}
        self.unreported: dict[str, None] = {}
        self.reported: set[str] = set()
        self.died: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._collected(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._collected(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if error:
            self.died.append(f"worker {node.gateway.id} died: {error}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "call":
            report.user_properties += [(_SEEN, name) for name in sorted(backends_of(item))]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reported.add(report.nodeid)
        self.unreported.pop(report.nodeid, None)
        if report.skipped:
            self._skip(report)
        elif report.when == "call" and report.passed:
            self.passed.update(str(name) for key, name in report.user_properties if key == _SEEN)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._skip(report)

    def _collected(self, ids: Iterable[str]) -> None:
        self.unreported |= dict.fromkeys(one for one in ids if one not in self.reported)

    def _skip(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if not any(fnmatchcase(report.nodeid, pattern) for pattern in ALLOWED):
            reason = getattr(report, "wasxfail", None)
            self.skipped[report.nodeid] = "skipped" if reason is None else f"expected to fail: {reason}"

    def faults(self) -> list[str]:
        """Why the run doesn't count, a line each."""
        if not self.required:
            return self.died
        missing = [f"no test passed on {name}" for name in self.required if not self.passed[name]]
        if self.unreported:
            missing.append(f"{len(self.unreported)} tests did not run, such as {next(iter(self.unreported))}")
        return self.died + missing + [f"{test}: {why}" for test, why in self.skipped.items()]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.faults() and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("twins and storages")
        for kind, names in KINDS.items():
            counts = ", ".join(f"{name} {self.passed[name]}" for name in names)
            terminalreporter.line(f"{kind}: tests passed on {counts}")
        for fault in self.faults():
            terminalreporter.line(f"NOT COMPLETE: {fault}", red=True)
