"""Gives one twin values whose Python code runs at the worst moments; a crash ends the process by a signal.

Usage: hostile.py native|pure. Prints how many calls ended in a result or in an exception, and how many
finalizers ran inside of a call.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable
from typing import Any

core: Any = importlib.import_module(f"taskstate.core._{sys.argv[1]}")
MODES = ("shallow", "namespace", "three_way")
ended = {"result": 0, "exception": 0, "finalizer": 0}
inside = [False]


def attempt(function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    inside[0] = True
    Mutating.left = 3
    try:
        function(*arguments, **options)
    except Exception:
        ended["exception"] += 1
    else:
        ended["result"] += 1
    finally:
        inside[0] = False


def everything(value: Any, other: Any) -> None:
    """Every function, with the values as such and inside of states."""
    states = [{"checkpoints": [{"timestamp": 1, "depth": 0}], "files": ["f"], "data": one} for one in (value, other)]
    for function in (core.clone, core.validate, core.measure, core.check_state):
        attempt(function, value)
    attempt(core.equal, value, other)
    attempt(core.equal, other, value)
    for one in states:
        for limit in (None, 300):
            attempt(core.render_block, one, limit)
            attempt(core.render_parts, one, limit)
    for mode in MODES:
        for base in (None, states[0], states[1]):
            attempt(core.merge, states[0], states[1], mode=mode, execution_id="e", base=base)
            attempt(core.merge, value, other, mode=mode, execution_id="e", base=base)


class Key(str):
    """A key with the hash of a plain one; harmless while a dict is made of it."""

    __slots__ = ()
    armed = False

    def __hash__(self) -> int:
        return hash(str.__str__(self))

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)


class Mutating(Key):
    """Its comparison changes the containers that it is in, a few times: CPython's own lookup starts anew each time."""

    targets: tuple[Any, ...] = ()
    left = 0
    __hash__ = Key.__hash__

    def __eq__(self, other: object) -> bool:
        if Key.armed and Mutating.left:
            Mutating.left -= 1
            Key.armed = False
            for target in Mutating.targets:
                if type(target) is dict:
                    kept = list(target.items())
                    target.clear()
                    target.update({f"new-{number}": [number] for number in range(50)})
                    target.update(kept)
                else:
                    del target[1:]
            gc.collect(0)
            Key.armed = True
        return str.__eq__(self, other)


class Raising(Key):
    __hash__ = Key.__hash__

    def __eq__(self, other: object) -> bool:
        if Key.armed:
            raise ZeroDivisionError("comparing")
        return str.__eq__(self, other)


class Unhashable(Key):
    __eq__ = Key.__eq__

    def __hash__(self) -> int:
        if Key.armed:
            raise ZeroDivisionError("hashing")
        return Key.__hash__(self)


class Dying:
    """In a cycle of its own: the collector runs `__del__`, which pulls the source to pieces."""

    def __init__(self, target: Any) -> None:
        self.me = self
        self.target = target

    def __del__(self) -> None:
        ended["finalizer"] += inside[0]
        for one in self.target:
            if type(one) is dict:
                one.clear()
            else:
                one[:] = [{"later": [1]}] * 3


def with_evil_keys() -> None:
    for kind in (Mutating, Raising, Unhashable):
        for name in ("k", "checkpoints", "files", "data", "timestamp", "__outcome"):
            nested: dict[Any, Any] = {"a": [1], kind(name): {"x": [1]}, "b": {"c": {}}}
            rows = [1, nested, [2]]
            first = {"k": nested, kind("k2"): 1, "rows": rows, "z": {kind("z"): 1}}
            # A slot that was freed and taken again: the odd key is met before the plain one.
            moved: dict[Any, Any] = {kind(name): 1, "a": [1], "b": {}}
            moved["other"] = [moved.pop(name), {}]
            moved[kind("a ")] = [1]
            second = {"k2": 1, "k": moved, "rows": [1, {name: 1, "a": [1], "b": {}}, [2]], "z": {"z": 2}}
            Mutating.targets = (nested, rows, first, moved)
            Key.armed = True
            everything(first, second)
            everything({name: 1, **second}, first)
            Key.armed = False


def with_dying_sources() -> None:
    """The collector runs in the middle of a call, and finds something to finalize."""
    gc.freeze()
    try:
        for number in range(200):
            inner: dict[str, Any] = {f"k{index}": {"n": [index, {"deep": {}}]} for index in range(20)}
            rows: list[Any] = [{"row": [index, {}]} for index in range(20)]
            value: dict[str, Any] = {"inner": inner, "rows": rows, "pair": (rows, inner), "more": [{}] * 5}
            if number % 3 == 0:
                inner["last"] = [2**70] if number % 2 else "\ud800"
            other = {"inner": dict(inner), "rows": list(rows), "pair": [1], "more": [{}] * 5}
            state = {"checkpoints": [{"timestamp": 1, "depth": 0}] * 3, "files": ["a"], "data": value}
            changed = {**state, "data": other}
            mode = MODES[number % 3]
            for call in (
                lambda value=value: core.clone(value),
                lambda value=value: core.validate(value),
                lambda value=value, other=other: core.equal(value, other),
                lambda state=state, changed=changed, mode=mode: core.merge(state, changed, mode=mode, base=state),
                lambda state=state: core.render_block(state, None),
            ):
                for target in ([inner], [rows], [inner, rows, value]):
                    gc.set_threshold(10_000)
                    Dying(target)
                    gc.set_threshold(number % 40 + 2, 1_000_000, 1_000_000)
                    attempt(call)
    finally:
        gc.set_threshold(700, 10, 10)


def with_many_shapes() -> None:
    """Containers that shrink and grow between calls, of every layout of dict."""
    value: dict[Any, Any] = {}
    for number in range(600):
        value[f"key-{number}"] = {"n": [number]}
        if number % 2:
            del value[f"key-{number // 2}"]
        if number % 100 == 0:
            everything(value, dict(value))
            value[number] = 1
            everything(value, dict(value))
            del value[number]


with_evil_keys()
with_dying_sources()
with_many_shapes()
print(*(f"{count} {kind}s" for kind, count in ended.items()), sep=", ")
