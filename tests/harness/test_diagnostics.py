"""What is reported, and that the log holds structural facts only."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from taskstate.harness import Diagnostic
from taskstate.harness.diagnostics import Reporter

from .support import Plain, running, tools
from .test_hooks import Faulty

CONTENT = "very private content"


def test_the_log_never_holds_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> None:
        asyncio.get_running_loop().set_debug(True)
        storage = Plain()
        faulty = Faulty("store", "plain")

        def fail() -> None:
            raise ValueError(CONTENT)

        faulty.store = fail
        async with running(storage, faulty, execution_id="r", strict=False) as run:
            await run.store(CONTENT)
            storage.error = OSError(CONTENT)
            run._lifecycle.states.set(run.ctx, faulty, {"text": CONTENT})
            await run.in_parallel([lambda child: fail()], mode="settle")
            storage.error = None

    asyncio.run(scenario())
    own = [record for record in caplog.records if record.name.startswith("taskstate")]
    assert {record.getMessage() for record in own} == {
        "layer faulty, store, execution r: ValueError",
        "layer faulty, persist, execution r: OSError",
    }
    assert all(record.exc_info is None and record.levelno == logging.WARNING for record in own)
    assert CONTENT not in caplog.text


def test_without_a_logging_setup_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("taskstate.harness")
    assert any(isinstance(handler, logging.NullHandler) for handler in logger.handlers)
    Reporter(None).report("a", "store", "e", ValueError(CONTENT))
    assert CONTENT not in "".join(capfd.readouterr())


def test_a_report_tells_where_it_comes_from_and_carries_the_error() -> None:
    seen: list[Diagnostic] = []
    error = ValueError("the text")
    Reporter(seen.append).report("a", "store", "e", error)
    (report,) = seen
    assert (report.layer_id, report.hook, report.execution_id) == ("a", "store", "e")
    assert report.error is error
    assert report.message == "ValueError: the text"
    assert repr(report) == ("Diagnostic(layer_id='a', hook='store', execution_id='e', message='ValueError: the text')")


def test_a_callback_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def callback(report: Diagnostic) -> None:
        raise RuntimeError(CONTENT)

    async def scenario() -> None:
        async with running(None, Faulty("store", "plain"), diagnostics=callback) as run:
            await run.store()
            assert run.state("faulty") == {"n": 0}

    asyncio.run(scenario())
    assert "the diagnostics callback failed: RuntimeError" in caplog.text
    assert CONTENT not in caplog.text


def test_an_error_without_a_text_is_reported_too() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    seen: list[Any] = []
    Reporter(seen.append).report("a", "store", "e", Mute())
    assert [one.message for one in seen] == ["Mute"]


def test_no_failure_is_left_to_the_event_loop(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        storage = Plain()
        async with running(storage, strict=False) as run:
            storage.error = OSError("disk gone")
            await asyncio.gather(*(tools(run).set_task_data(key="k", value=n) for n in range(3)))
            call = asyncio.ensure_future(tools(run).record_artifact(path="x"))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait({call})

    asyncio.run(scenario())
    assert "never retrieved" not in caplog.text
