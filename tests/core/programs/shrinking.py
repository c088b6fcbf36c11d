"""Clone lists while the collector runs finalizers that empty them."""

from __future__ import annotations

import gc
import importlib
import sys

twin = importlib.import_module(f"taskstate.core._{sys.argv[1]}")


class Empties:
    def __init__(self, victim: list[list[str]]) -> None:
        self.itself = self
        self.victim = victim

    def __del__(self) -> None:
        self.victim.clear()


for threshold in range(1, 40):
    for size in (1, 77, 5000):
        victim = [["x"] for _ in range(size)]
        gc.disable()
        gc.collect()
        Empties(victim)
        gc.set_threshold(threshold)
        young = [[]]
        gc.enable()
        copy = twin.clone(victim)
        gc.set_threshold(700, 10, 10)
        assert all(item == ["x"] for item in copy), copy
print("alive")
