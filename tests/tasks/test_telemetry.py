"""Spans of tasks, and tasks where OpenTelemetry isn't installed."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import opentelemetry.trace
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from taskstate.errors import TaskUnsuccessfulError
from taskstate.tasks import DurableTasks, Limits, TaskContext, task

pytestmark = pytest.mark.once


@task("step.child")
async def child(ctx: TaskContext, input: str) -> str:
    return input


@task("parent", version=3, limits=Limits(attempts=1))
async def parent(ctx: TaskContext, input: str) -> str:
    with opentelemetry.trace.get_tracer("test").start_as_current_span("inside"):
        await ctx.checkpoint("secret-free", lambda: input)
    found = await ctx.run(child, input)
    if input == "secret bad":
        raise ValueError(input)
    return found


class Spans:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    found = Spans()
    monkeypatch.setattr(opentelemetry.trace, "get_tracer", lambda name, *_, **__: found.provider.get_tracer(name))
    yield found
    found.provider.shutdown()


def links(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]


async def test_each_leg_is_a_span_linked_to_where_the_task_was_started(spans: Spans) -> None:
    async with DurableTasks(types=[parent, child], store="memory:") as tasks:
        with spans.tracer.start_as_current_span("request") as request:
            handle = await tasks.start(parent, "secret", conversation="c")
        await handle.result(10)
    first, second = legs = spans.named("task parent")
    assert [dict(leg.attributes or {})["taskstate.task.outcome"] for leg in legs] == ["suspended", "succeeded"]
    for leg in legs:
        assert links(leg) == [request.get_span_context().span_id]
        assert leg.parent is None
    assert dict(first.attributes or {}) == {
        "taskstate.task.id": handle.id,
        "taskstate.task.name": "parent",
        "taskstate.task.version": 3,
        "taskstate.task.attempt": 1,
        "taskstate.task.fence": 1,
        "taskstate.task.outcome": "suspended",
    }
    assert first.context is not None
    inside = spans.named("inside")
    assert inside[0].parent is not None
    assert inside[0].parent.span_id == first.context.span_id
    (below,) = spans.named("task step.child")
    assert links(below) == [first.context.span_id]
    assert second.context is not None
    assert second.context.trace_id != first.context.trace_id


async def test_a_task_started_outside_any_span_or_with_a_trace_that_is_none_has_no_link(spans: Spans) -> None:
    async with DurableTasks(types=[child], store="memory:") as tasks:
        await tasks.run(child, "a", timeout=10)
    (leg,) = spans.named("task step.child")
    assert links(leg) == []


async def test_neither_spans_nor_logs_hold_content(spans: Spans, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="taskstate")
    async with DurableTasks(types=[parent, child], store="memory:") as tasks:
        with pytest.raises(TaskUnsuccessfulError) as caught:
            await tasks.run(parent, "secret bad", conversation="c", timeout=10)
    assert "secret" not in str(caught.value)
    shown: list[Any] = [span.to_json() for span in spans.exporter.get_finished_spans() if span.name != "inside"]
    assert len(shown) == 3
    assert "secret bad" not in "".join(shown)
    assert caplog.records
    assert "secret bad" not in "".join(str(vars(record)) for record in caplog.records)
    done = [record for record in caplog.records if getattr(record, "outcome", None) == "failed"]
    assert len(done) == 1


def test_tasks_run_where_the_api_is_not_installed() -> None:
    code = """
import asyncio, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from taskstate.tasks import DurableTasks, task

@task("echo")
async def echo(ctx, input):
    return input

async def main():
    async with DurableTasks(types=[echo], store="memory:") as tasks:
        print(await tasks.run(echo, 5, timeout=10))

asyncio.run(main())
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("5\n", "")
