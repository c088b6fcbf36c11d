"""What an application's callables say of sources and effects, and what all probes together see."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from taskstate.errors import ConfigurationError
from taskstate.restart import RestartRecord, SeenEffect, SeenSource, assess
from taskstate.restart.parts import Effect
from taskstate.restart.probes import CallableProbe, FileProbe, SeenFiles, SeenOutside, observe

from .disk import put, record_of, seen

pytestmark = pytest.mark.once


def effect(state: str = "unknown", kind: str = "order") -> dict[str, Any]:
    told = {"kind": kind, "target": "firm", "idempotency_key": "k", "request_hash": "0" * 64, "state": state}
    return told | ({"evidence": "receipt"} if state in ("applied", "not_applied") else {})


def review(**fields: Any) -> RestartRecord:
    sources = {name: {"version": 1} for name in ("P1", "P2", "P3", "P4")}
    return record_of(**{"sources": sources, **fields})


def look(probe: CallableProbe, record: RestartRecord) -> SeenOutside:
    return asyncio.run(probe.look(record))


class Service:
    """A callable object whose call is async."""

    async def __call__(self) -> SeenSource:
        await asyncio.sleep(0)
        return SeenSource(version=4)


async def asked(version: int) -> SeenSource:
    await asyncio.sleep(0)
    return SeenSource(version=version)


def test_plain_and_async_callables_say_which_version_a_source_has() -> None:
    probe = CallableProbe(
        sources={
            "P4": Service(),
            "P3": lambda: asked(3),
            "P2": partial(asked, 2),
            "P1": lambda: SeenSource(version=1),
            "stranger": lambda: SeenSource(version=9),
        }
    )
    found = look(probe, review())
    assert found == ({f"P{n}": SeenSource(version=n) for n in range(1, 5)}, {})
    assert list(found.sources) == ["P1", "P2", "P3", "P4"]


def test_a_source_that_is_gone_differs_from_one_that_could_not_be_asked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def broken() -> SeenSource:
        raise RuntimeError("the password is private")

    async def lost() -> SeenSource:
        raise ConnectionError("private")

    probe = CallableProbe(sources={"P1": lambda: None, "P2": broken, "P3": lost})
    record = review()
    observed = asyncio.run(observe(record, probe, clock=lambda: 1))
    assert observed.sources == {"P1": None}
    judged = assess(record, observed)
    assert [judged.item("source", name).verdict for name in ("P1", "P2", "P3", "P4")] == ["stale"] + ["validate"] * 3
    assert "source P2 isn't seen: its callable raised RuntimeError" in caplog.text
    assert "source P3 isn't seen: its callable raised ConnectionError" in caplog.text
    assert "private" not in caplog.text


def stops() -> SeenSource:
    raise StopIteration


async def cancels_itself() -> SeenSource:
    raise asyncio.CancelledError


@pytest.mark.parametrize("answer", [stops, cancels_itself, lambda: 7, lambda: {"version": 7}, lambda: SeenEffect])
def test_whatever_a_callable_does_the_others_are_heard(answer: Any) -> None:
    probe = CallableProbe(sources={"P1": answer, "P2": lambda: SeenSource(version=2)})
    assert look(probe, review()).sources == {"P2": SeenSource(version=2)}


def test_a_fixed_source_is_not_asked() -> None:
    record = review(sources={"P1": {"version": 1, "nature": "fixed"}})
    assert look(CallableProbe(sources={"P1": lambda: SeenSource(version=2)}), record) == ({}, {})


def test_a_callable_that_takes_too_long_is_left_out() -> None:
    release = threading.Event()
    probe = CallableProbe(
        sources={"P1": lambda: release.wait(10), "P2": lambda: asyncio.sleep(60), "P3": lambda: None}, timeout=0.1
    )

    async def scenario() -> SeenOutside:
        try:
            return await probe.look(review())
        finally:
            release.set()

    start = time.monotonic()
    assert asyncio.run(scenario()).sources == {"P3": None}
    assert time.monotonic() - start < 5


def test_a_cancelled_look_ends(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        task = asyncio.create_task(CallableProbe(sources={"P1": lambda: asyncio.sleep(60)}).look(review()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)

    asyncio.run(scenario())
    assert "isn't seen" not in caplog.text


def test_unsettled_effects_are_asked_about_by_their_kind() -> None:
    heard: list[tuple[str, str]] = []

    async def order(effect_id: str, told: Effect) -> SeenEffect:
        heard.append((effect_id, told.idempotency_key))
        return SeenEffect(state="applied", evidence=f"orders/{effect_id}")

    def mail(_: str, told: Effect) -> SeenEffect:
        return SeenEffect(state="unknown") if told.state == "pending" else SeenEffect(state="not_applied")

    effects = {"e1": effect(), "e2": effect("pending", "mail"), "e3": effect("applied"), "e4": effect("unknown", "fax")}
    record = review(pending_effects=effects)
    found = look(CallableProbe(effects={"order": order, "mail": mail}), record)
    expected = {"e1": SeenEffect(state="applied", evidence="orders/e1"), "e2": SeenEffect(state="unknown")}
    assert found == ({}, expected)
    assert heard == [("e1", "k")]
    assert record.pending_effects["e1"].state == "unknown"


def test_a_contradiction_shows_where_settled_effects_are_asked_about_too() -> None:
    record = review(pending_effects={"e": effect("applied")})
    probe = CallableProbe(effects={"order": lambda *_: SeenEffect(state="not_applied")}, settled=True)
    observed = asyncio.run(observe(record, probe, clock=lambda: 1))
    assert "contradicts what is recorded" in assess(record, observed).item("effect", "e").because


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_timeout_is_a_number_of_seconds(timeout: float) -> None:
    with pytest.raises(ConfigurationError):
        CallableProbe(timeout=timeout)


def test_all_probes_together_give_one_observation(tmp_path: Path) -> None:
    put(tmp_path, "a")
    put(tmp_path, "b", b"orphan")
    record = record_of("a", sources={"P1": {"version": 1}}, pending_effects={"e": effect()})
    outside = CallableProbe(
        sources={"P1": lambda: SeenSource(version=2)}, effects={"order": lambda *_: SeenEffect(state="unknown")}
    )
    times = iter([1_000])
    observed = asyncio.run(observe(record, FileProbe(tmp_path), outside, clock=lambda: next(times)))
    assert observed.now == 1_000
    assert observed.files == {"a": seen(b"text")}
    assert observed.unindexed == {"b": seen(b"orphan")}
    assert observed.sources == {"P1": SeenSource(version=2)}
    assert observed.effects == {"e": SeenEffect(state="unknown")}


def test_without_a_probe_nothing_was_looked_at() -> None:
    observed = asyncio.run(observe(record_of("a")))
    assert (observed.files, observed.sources, observed.effects, observed.unindexed) == ({}, {}, {}, {})
    assert observed.now > 1_600_000_000_000


def test_two_probes_that_see_different_things_under_one_name_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "one", "a")
    (tmp_path / "two").mkdir()
    record = record_of("a")
    one, two = FileProbe(tmp_path / "one"), FileProbe(tmp_path / "two")
    with pytest.raises(ConfigurationError, match="two probes see different files under a"):
        asyncio.run(observe(record, one, two))
    assert asyncio.run(observe(record, one, one)).files == {"a": seen(b"text")}


def test_a_probe_of_the_application_is_one_too() -> None:
    class Bucket:
        async def look(self, record: RestartRecord) -> SeenFiles:
            return SeenFiles({each.location: None for each in record.artifacts.values()}, {})

    assert asyncio.run(observe(record_of("s3://b/a"), Bucket())).files == {"s3://b/a": None}
