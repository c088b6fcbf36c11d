"""Any calls in any order do what a naive model does, to a state, to its copies and to what comes back of its data."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from taskstate.record import AgentState, AgentStateError, create_agent_state, restore_agent_state, summarize_agent_state

from .model import STATUSES, Model, Refused

ids = st.sampled_from([*"abc", "é", "日😀", "a\nb"])  # few, so that most calls meet an item
bad_texts: st.SearchStrategy[Any] = st.sampled_from(["", " ", "\ufeff\u2003", "x\ud800", None, 1, ["a"], b"a"])
any_ids = st.integers(0, 9).flatmap(lambda n: bad_texts if n == 7 else ids)
contents = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(lambda text: f"{text}.")
any_contents = st.integers(0, 9).flatmap(lambda n: bad_texts if n == 7 else contents)
statuses = st.integers(0, 9).flatmap(lambda n: bad_texts | st.just("Done") if n == 7 else st.sampled_from(STATUSES))
work_items = st.fixed_dictionaries(
    {"id": any_ids, "content": any_contents}, optional={"status": statuses, "note": st.just([1])}
)
decisions = st.fixed_dictionaries({"id": any_ids, "content": any_contents}, optional={"status": st.just("open")})
additions = st.one_of(
    st.tuples(st.just("add_work_item"), work_items),
    st.tuples(st.just("add_decision"), decisions),
)
changes = st.one_of(
    st.tuples(st.just("set_work_item_status"), any_ids, statuses),
    st.tuples(st.just("set_work_item_content"), any_ids, any_contents),
    st.tuples(st.sampled_from(["remove_work_item", "remove_decision"]), any_ids),
    st.tuples(st.just("set_objective"), st.none() | st.just("") | any_contents),
)
looks = st.one_of(
    st.tuples(st.sampled_from(["get_work_item", "get_decision"]), any_ids),
    st.tuples(st.sampled_from(["list_work_items", "list_decisions", "snapshot"])),
)
calls = additions | changes | looks


def wire_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """What a call gives: text shows the order of keys."""
    try:
        return "result", repr(call())
    except (AgentStateError, Refused) as error:
        return error.code, error.item_id


class States(RuleBasedStateMachine):
    """Agent states, each with the model of it."""

    states = Bundle("states")

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[AgentState, Model]] = []

    def pair(self, state: AgentState, model: Model) -> int:
        self.pairs.append((state, model))
        return len(self.pairs) - 1

    @initialize(target=states, full=st.booleans())
    def begin(self, full: bool) -> int:
        model = Model()
        for item_id in ("a", "b", "c", "é") if full else ():
            model.add_work_item({"id": item_id, "content": f"do {item_id}"})
            model.add_decision({"id": item_id, "content": f"decide {item_id}"})
        return self.pair(create_agent_state(copy.deepcopy(model.snapshot())), model)

    @rule(at=states, call=additions)
    def add(self, at: int, call: tuple[Any, ...]) -> None:
        self.do(at, call)

    @rule(at=states, call=changes)
    def change(self, at: int, call: tuple[Any, ...]) -> None:
        self.do(at, call)

    @rule(at=states, status=st.sampled_from(STATUSES), content=contents, data=st.data())
    def change_what_is_there(self, at: int, status: str, content: str, data: st.DataObject) -> None:
        for item_id in data.draw(st.lists(st.sampled_from([item["id"] for item in self.pairs[at][1].work] or ["a"]))):
            self.do(at, ("set_work_item_status", item_id, status))
            self.do(at, ("set_work_item_content", item_id, content))

    @rule(at=states, call=looks)
    def look(self, at: int, call: tuple[Any, ...]) -> None:
        self.do(at, call)

    def do(self, at: int, call: tuple[Any, ...]) -> None:
        name, *args = call
        found, expected = (outcome(lambda one=one: getattr(one, name)(*args)) for one in self.pairs[at])
        assert found == expected

    @rule(at=states, calls=st.lists(calls, max_size=6), original=st.booleans())
    def apply(self, at: int, calls: list[tuple[Any, ...]], original: bool) -> None:
        state, model = self.pairs[at]
        operations: Any = [{"op": wire_name(name) if original else name, "args": args} for name, *args in calls]
        assert outcome(lambda: state.apply(operations)) == outcome(lambda: model.apply(calls))

    @precondition(lambda self: len(self.pairs) < 5)
    @rule(target=states, at=states, how=st.sampled_from([AgentState.copy, copy.copy, copy.deepcopy]))
    def copy(self, at: int, how: Callable[[AgentState], AgentState]) -> int:
        state, model = self.pairs[at]
        return self.pair(how(state), copy.deepcopy(model))

    @precondition(lambda self: len(self.pairs) < 5)
    @rule(target=states, at=states, way=st.sampled_from(["snapshot", "input", "json", "text", "bytes", "pickle"]))
    def leave_and_come_back(self, at: int, way: str) -> int:
        state, model = self.pairs[at]
        again = {
            "snapshot": lambda: restore_agent_state(state.snapshot(), unknown="reject"),
            "input": lambda: create_agent_state(state.snapshot()),
            "json": lambda: restore_agent_state(json.loads(json.dumps(state.snapshot()))),
            "text": lambda: AgentState.from_json(state.to_json(), unknown="reject"),
            "bytes": lambda: AgentState.from_json(json.dumps(model.snapshot()).encode()),
            "pickle": lambda: pickle.loads(pickle.dumps(state)),
        }[way]()
        return self.pair(again, copy.deepcopy(model))

    @invariant()
    def all_are_like_their_models(self) -> None:
        for state, model in self.pairs:
            expected = model.snapshot()
            assert repr(state.snapshot()) == repr(expected)
            assert state.to_json() == json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
            assert repr(state.summary()) == repr(summarize_agent_state(state)) == repr(model.summary())
            assert state.objective == model.objective
            assert len(state) == len(model.work)
            for item_id in ("a", "b", "a\nb"):
                assert (item_id in state) is (model.get_work_item(item_id) is not None)


def test_states_do_what_the_model_does() -> None:
    # A run takes few of the rules at a time, so it needs more examples than other tests to try them together.
    enough = settings(max_examples=4 * settings().max_examples, stateful_step_count=30)
    run_state_machine_as_test(States, settings=enough)


def test_the_model_itself_refuses_and_keeps_what_it_should() -> None:
    """A model that accepted anything would prove nothing."""
    model = Model()
    model.add_work_item({"id": "a", "content": "x"})
    before = model.snapshot()
    for call in (
        ("add_work_item", {"id": "a", "content": "x"}),
        ("set_work_item_status", "b", "done"),
        ("set_work_item_content", "a", " "),
        ("add_decision", {"id": "\ud800", "content": "x"}),
    ):
        assert (
            outcome(
                lambda call=call: model.apply(
                    [("remove_work_item", "a"), ("add_work_item", {"id": "a", "content": "y"}), call]
                )
            )[0]
            != "result"
        )
        assert model.snapshot() == before
