"""Sixteen threads in one core function at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from taskstate.errors import InvalidValueError

THREADS = 16


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def state(name: str, size: int = 12) -> dict[str, Any]:
    return {
        "checkpoints": [{"timestamp": at, "depth": at % 3} for at in range(size)],
        "files": [f"{name}/{number}.txt" for number in range(size)],
        "data": {f"key-{number}": {"by": name, "list": [number, 0.5, None, {"日": "😀"}]} for number in range(size)},
    }


def together(work: Callable[[int], Any], times: int = 40) -> list[list[Any]]:
    """What each thread got from calling `work` again and again, all at the same time."""
    gate = threading.Barrier(THREADS)
    results: list[list[Any]] = [[] for _ in range(THREADS)]

    def run(number: int) -> None:
        gate.wait()
        for _ in range(times):
            try:
                results[number].append(work(number))
            except Exception as error:
                results[number].append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(one) for one in results] == [times] * THREADS
    return results


BASE, PARENT, CHILD = state("base"), state("parent"), state("child")
INVALID = {"rows": [*range(50), {"bad": b"x"}]}
CALLS: dict[str, Callable[[Any], Any]] = {
    "clone": lambda twin: twin.clone(PARENT),
    "validate": lambda twin: twin.validate(PARENT),
    "measure": lambda twin: twin.measure(PARENT),
    "equal": lambda twin: twin.equal(PARENT, state("parent")),
    "check_state": lambda twin: twin.check_state(PARENT),
    "shallow": lambda twin: twin.merge(PARENT, CHILD, mode="shallow"),
    "namespace": lambda twin: twin.merge(PARENT, CHILD, mode="namespace", execution_id="e"),
    "three_way": lambda twin: twin.merge(PARENT, CHILD, mode="three_way", base=BASE),
    "render_block": lambda twin: twin.render_block(PARENT, 1000),
    "render_parts": lambda twin: twin.render_parts(PARENT, None),
}


@pytest.mark.parametrize("name", CALLS)
def test_threads_in_one_function_get_what_one_thread_gets(twin: Any, name: str) -> None:
    before = repr((BASE, PARENT, CHILD))
    expected = repr(CALLS[name](twin))
    for one in together(lambda _: CALLS[name](twin)):
        assert [repr(result) for result in one] == [expected] * len(one)
    assert repr((BASE, PARENT, CHILD)) == before


@pytest.mark.parametrize("name", ["clone", "validate"])
def test_threads_that_meet_a_fault_get_their_own_error(twin: Any, name: str) -> None:
    found = [error for one in together(lambda _: getattr(twin, name)(INVALID)) for error in one]
    assert {str(error) for error in found} == {"value.rows[50].bad: bytes is not a JSON value"}
    assert len({id(error) for error in found}) == len(found)


def test_threads_with_different_arguments_do_not_mix_them_up(twin: Any) -> None:
    def work(number: int) -> Any:
        return twin.merge(state(f"p{number}"), state(f"c{number}"), mode="three_way", base=BASE)[0]

    for number, results in enumerate(together(work, times=10)):
        expected = work(number)
        assert all(result == expected for result in results)


def test_a_clone_of_what_another_thread_changes_is_whole_or_a_typed_error(twin: Any) -> None:
    """Not supported use, but never a crash and never an unchecked value."""
    shared: dict[str, Any] = state("shared")

    def work(number: int) -> Any:
        if number % 2:
            key = f"key-{number}"
            shared["data"].pop(key, None)
            shared["data"][key] = {"by": "x", "list": [b"bad"] if number % 4 == 1 else [1]}
            shared["files"].append("more")
            del shared["files"][0]
            return None
        clone = twin.clone(shared)
        twin.validate(clone)
        return None

    for one in together(work, times=100):
        assert all(error is None or isinstance(error, InvalidValueError | RuntimeError) for error in one), one
