"""What a layer is: its options, its hooks, its promises."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest

from taskstate import ContextLayer, ExecutionContext, task_state
from taskstate.core import empty_state
from taskstate.errors import ConfigurationError
from taskstate.layer import DEFAULT_TIMEOUTS, TaskStateLayer
from taskstate.layer.context import HOOKS, accepted_arguments, check_outcome


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": ""}, "id is a str"),
        ({"id": 7}, "id is a str"),
        ({"scope": "session"}, "scope 'session' is none of thread, resource, global, execution"),
        ({"on_init_error": "ignore"}, "on_init_error 'ignore'"),
        ({"timeouts": {"after": 1}}, "timeout for 'after', which is no hook"),
        ({"timeouts": {"store": "1"}}, "timeout for store is no number"),
        ({"timeouts": {"store": True}}, "timeout for store is no number"),
        ({"timeouts": {"store": math.nan}}, "timeout for store is no number"),
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ContextLayer(**{"id": "own", **options})


def test_a_layer_has_the_recorded_limits_unless_it_sets_its_own() -> None:
    layer = ContextLayer("own", timeouts={"store": 7})
    assert layer.timeouts == {**DEFAULT_TIMEOUTS, "store": 7}
    assert DEFAULT_TIMEOUTS["store"] == 30_000
    assert set(DEFAULT_TIMEOUTS) == set(HOOKS)


def test_a_layer_of_no_hooks_is_a_layer() -> None:
    layer = ContextLayer("own")
    assert (layer.name, layer.slot, layer.scope, layer.budget) == ("own", 100, "thread", "auto")
    assert [hook for hook in HOOKS if getattr(layer, hook) is not None] == []
    assert repr(layer) == "<ContextLayer 'own' slot=100 scope=thread>"


def test_the_promise_not_to_change_a_state_in_place_is_not_inherited() -> None:
    class Changed(TaskStateLayer):
        pass

    class Promised(TaskStateLayer):
        pure = True

    assert TaskStateLayer.pure
    assert not ContextLayer.pure
    assert not Changed.pure
    assert Promised.pure


def test_the_arguments_that_a_hook_takes_are_found() -> None:
    class Hooks:
        def method(self, a: int, *, b: int = 0) -> None: ...

        async def later(self, **rest: int) -> None: ...

    assert accepted_arguments(Hooks().method) == {"a", "b"}
    assert accepted_arguments(Hooks().later) is None
    assert accepted_arguments(lambda: None) == frozenset()


def test_an_execution_context_is_a_value() -> None:
    ctx = ExecutionContext("e", "t", resource_id="r", depth=1, parent_id="p")
    assert ctx == ExecutionContext("e", "t", "r", 1, "p")
    assert hash(ctx) == hash(pickle.loads(pickle.dumps(ctx)))
    with pytest.raises(AttributeError):
        ctx.depth = 2  # type: ignore[misc]


def test_only_three_outcomes_are_known() -> None:
    assert [check_outcome(outcome) for outcome in ("success", "failure", "aborted")] == [
        "success",
        "failure",
        "aborted",
    ]
    for outcome in ("", "Success", None):
        with pytest.raises(ConfigurationError):
            check_outcome(outcome)  # type: ignore[arg-type]


def test_an_empty_state_is_a_new_one_each_time() -> None:
    empty_state()["files"].append("x")
    assert empty_state() == {"checkpoints": [], "files": [], "data": {}}


@pytest.mark.parametrize(
    "options", [{"merge_data": "deep"}, {"merge_data": None}, {"role": ""}, {"role": 7}, {"count_tokens": 7}], ids=str
)
def test_an_option_of_task_state_that_makes_no_sense_is_refused(options: Any) -> None:
    with pytest.raises(ConfigurationError, match="layer task-state: "):
        task_state(**options)
