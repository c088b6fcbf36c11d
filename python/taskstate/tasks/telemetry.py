"""Spans of OpenTelemetry where its API is installed; nothing where it isn't."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .records import Claim

try:
    import opentelemetry.propagate
    import opentelemetry.trace
except ModuleNotFoundError as error:  # pragma: no cover - depends on what is installed
    if error.name is None or not error.name.startswith("opentelemetry"):
        raise
    _THERE = False
else:
    _THERE = True


class Spans:
    """Makes the spans of tasks. No attribute holds content."""

    def __init__(self) -> None:
        self._tracer: Any = opentelemetry.trace.get_tracer("taskstate.tasks") if _THERE else None

    @staticmethod
    def carrier() -> str | None:
        """The `traceparent` of the span that is current where a task is started."""
        if not _THERE or not opentelemetry.trace.get_current_span().get_span_context().is_valid:
            return None
        carrier: dict[str, str] = {}
        opentelemetry.propagate.inject(carrier)
        return carrier.get("traceparent")

    @contextmanager
    def leg(self, claim: Claim) -> Iterator[Callable[[str], None]]:
        """A span of one leg, linked to where the task was started; it is told what the leg came to."""
        if self._tracer is None:
            yield lambda outcome: None
            return
        attributes = {
            "taskstate.task.id": claim.id,
            "taskstate.task.name": claim.name,
            "taskstate.task.version": claim.version,
            "taskstate.task.attempt": claim.failures + 1,
            "taskstate.task.fence": claim.fence,
        }
        # An exception would be recorded with its message.
        with self._tracer.start_as_current_span(
            f"task {claim.name}",
            attributes=attributes,
            links=_links(claim),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield lambda outcome: span.set_attribute("taskstate.task.outcome", outcome)


def _links(claim: Claim) -> list[Any]:
    if claim.traceparent is None:
        return []
    context = opentelemetry.propagate.extract({"traceparent": claim.traceparent})
    found = opentelemetry.trace.get_current_span(context).get_span_context()
    return [opentelemetry.trace.Link(found)] if found.is_valid else []
