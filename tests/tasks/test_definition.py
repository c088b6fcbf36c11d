"""What a definition may be."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest
from pydantic import BaseModel

from taskstate.errors import ConfigurationError
from taskstate.tasks import DurableTasks, Limits, SyncTaskContext, TaskContext, task
from taskstate.tasks.backoff import delay_ms

pytestmark = pytest.mark.once

WHOLE = ("attempts", "max_input_bytes", "max_result_bytes", "max_checkpoint_bytes", "concurrency")
SECONDS = ("backoff_s", "backoff_max_s", "timeout_s", "lease_s", "cancel_grace_s")


class Page(BaseModel):
    path: str


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", math.nan, 2**31, [1]])
def test_a_limit_that_counts_is_a_whole_number_above_zero(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Limits(**{name: value})
    assert getattr(Limits(**{name: 1}), name) == 1


@pytest.mark.parametrize("name", SECONDS)
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, True, "1", 10**10, 10**400])
def test_a_limit_in_seconds_is_a_finite_number(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Limits(**{name: value})
    assert getattr(Limits(**{name: 2}), name) == 2


def test_a_time_out_and_a_lease_of_nothing_are_refused_and_a_backoff_of_nothing_is_not() -> None:
    for name in ("timeout_s", "lease_s"):
        with pytest.raises(ConfigurationError):
            Limits(**{name: 0})  # type: ignore[arg-type]
    assert delay_ms(Limits(backoff_s=0), 5) == 0


def test_the_wait_before_an_attempt_doubles_up_to_its_bound_however_many_failed() -> None:
    limits = Limits(backoff_s=1, backoff_max_s=20)
    for failures, most in ((0, 1000), (3, 8000), (10, 20_000), (10**6, 20_000)):
        found = [delay_ms(limits, failures) for _ in range(200)]
        assert 0 <= min(found) <= max(found) <= most
        assert max(found) > most / 2


@pytest.mark.parametrize("name", ["", "x" * 201, "a\x00b", "\ud800", 5, None, b"a"])
def test_a_name_is_a_text_that_every_store_can_keep(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="name"):
        task(name)
    assert task("ä\n" * 100)(lambda ctx, given: None).name == "ä\n" * 100


@pytest.mark.parametrize("version", [0, -1, True, 1.5, "1"])
def test_a_version_is_a_whole_number_above_zero(version: Any) -> None:
    with pytest.raises(ConfigurationError, match="version"):
        task("a", version=version)
    with pytest.raises(ConfigurationError, match="version"):
        task("a", accepts=(version,))


def test_contracts_are_what_the_function_is_annotated_with_unless_they_are_given() -> None:
    @task("annotated")
    async def annotated(ctx: TaskContext, input: Page) -> list[int]:
        """Read a page."""
        return []

    @task("given", input=int, result=str, description="", version=3, accepts=(1, 2))
    def given(ctx: SyncTaskContext, input: Page) -> list[int]:
        """Not used."""
        return []

    assert (annotated.input.kind, annotated.result.kind, annotated.description) == (Page, list[int], "Read a page.")
    assert (given.input.kind, given.result.kind, given.description) == (int, str, "")
    assert given.versions == (3, 1, 2)
    assert annotated.is_async
    assert not given.is_async


def test_any_callable_of_two_arguments_can_be_a_task() -> None:
    class Async:
        async def __call__(self, ctx: Any, input: Any) -> None: ...

        async def method(self, ctx: Any, input: Any) -> None: ...

    async def three(first: Any, ctx: Any, input: Any) -> None: ...

    for callable_ in (Async(), Async().method, functools.partial(three, 1)):
        assert task("a")(callable_).is_async
    assert not task("a")(lambda ctx, given: given).is_async
    for bad in (lambda: None, lambda ctx: None):
        with pytest.raises(ConfigurationError, match="a context and an input"):
            task("a")(bad)


@pytest.mark.parametrize("kind", [pytest, object(), 5])
def test_a_type_that_cannot_be_a_contract_is_refused_when_the_task_is_made(kind: Any) -> None:
    with pytest.raises(ConfigurationError, match="input"):
        task("a", input=kind)(lambda ctx, given: None)


def test_calling_a_definition_calls_its_function() -> None:
    assert task("a")(lambda ctx, given: (ctx, given))("c", "i") == ("c", "i")


def test_two_definitions_of_one_name_and_what_is_no_definition_are_refused() -> None:
    one, other = (task("a")(lambda ctx, given: None) for _ in range(2))
    with pytest.raises(ConfigurationError, match="two definitions"):
        DurableTasks(types=[one, other], store="memory:")
    with pytest.raises(ConfigurationError, match="function"):
        DurableTasks(types=[lambda ctx, given: None], store="memory:")  # type: ignore[list-item]
    tasks = DurableTasks(types=[one], store="memory:")
    assert tasks.definition("a") is tasks.definition(one) is one
    for unknown in ("b", other):
        with pytest.raises(ConfigurationError, match="not one of the types"):
            tasks.definition(unknown)
