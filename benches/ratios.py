"""Print how the core compares with its peers on the same states: `python -m benches.ratios`."""

from __future__ import annotations

import copy
import platform
from importlib.metadata import version
from typing import Any

import copium
import msgspec
import orjson

from taskstate import core
from taskstate.core import _pure
from taskstate.record import AgentState, render_agent_state, restore_agent_state, summarize_agent_state

from . import floor
from .records import ADAPTER, DECODER, SnapshotStruct, agent_state
from .states import STATES, huge
from .timing import Call, Timing, race

_INDENTED = orjson.OPT_INDENT_2


def main() -> None:
    """Print every table."""
    print(f"CPython {platform.python_version()}, {platform.machine()}, core: {core.BACKEND}")
    print(", ".join(f"{peer} {version(peer)}" for peer in ("orjson", "copium", "msgspec", "pydantic")))
    print("Each ratio is the median of rounds timed by turns, with its quartiles. Lower is better for what is named.")
    large_dump = _clone_and_render()
    _budget_against_size(large_dump)
    for items in (43, 1000):
        _agent_state(items)


def _clone_and_render() -> Call:
    floor_clone = floor.load()
    for name, state in STATES.items():
        print(f"\n{name}: {len(orjson.dumps(state)) / 1000:.1f} KB of JSON")
        _show(
            "clone, by peer",
            race(
                {
                    "compiled floor": lambda s=state: floor_clone(s),
                    "taskstate clone": lambda s=state: core.clone(s),
                    "taskstate validate": lambda s=state: core.validate(s),
                    "copium.deepcopy": lambda s=state: copium.deepcopy(s),
                    "orjson round trip": lambda s=state: orjson.loads(orjson.dumps(s)),
                    "copy.deepcopy": lambda s=state: copy.deepcopy(s),
                }
            ),
        )
        _show(
            "render, by budget",
            race(
                {
                    "orjson.dumps, indented": lambda s=state: orjson.dumps(s, option=_INDENTED),
                    "the same, decoded to a str": lambda s=state: orjson.dumps(s, option=_INDENTED).decode(),
                    "render, whole": lambda s=state: core.render(s, 0),
                    "render, 800 tokens": lambda s=state: core.render(s, 800),
                    "render, 100 tokens": lambda s=state: core.render(s, 100),
                }
            ),
        )
        _show("merge, by mode", race(_merges(state)))
    return lambda: orjson.dumps(STATES["large"], option=_INDENTED)


def _merges(state: Any) -> dict[str, Call]:
    """Merges into the state it was spawned from: of the child as it was and of one that did a turn's work."""
    idle = copy.deepcopy(state)
    busy = copy.deepcopy(state)
    busy["checkpoints"] = [*busy["checkpoints"], {"timestamp": 1_770_000_000_000, "depth": 1}][-50:]
    busy["files"].append("out/summary.md")
    busy["data"]["verdict"] = {"ok": True, "open": []}
    return {
        "clone": lambda: core.clone(state),
        "shallow": lambda: core.merge(state, busy),
        "three_way, idle child": lambda: core.merge(state, idle, mode="three_way", base=state),
        "three_way, busy child": lambda: core.merge(state, busy, mode="three_way", base=state),
    }


def _budget_against_size(large_dump: Call) -> None:
    large, ten = STATES["large"], huge()
    print(f"\nrender at a budget: large against {len(orjson.dumps(ten)) / 1e6:.1f} MB of JSON")
    for budget in (100, 800):
        _show(
            f"{budget} tokens",
            race(
                {
                    "large": lambda b=budget: core.render(large, b),
                    "10 MB": lambda b=budget: core.render(ten, b),
                    "orjson.dumps(large)": large_dump,
                }
            ),
        )


def _agent_state(items: int) -> None:
    snapshot = agent_state(items)
    text = orjson.dumps(snapshot)
    state = restore_agent_state(snapshot)
    work = snapshot["workItems"]
    print(f"\nagent state of {items} work items: {len(text) / 1000:.1f} KB of JSON")
    _show(
        "restore, by peer",
        race(
            {
                "msgspec.convert into Structs": lambda: msgspec.convert(snapshot, SnapshotStruct),
                "pydantic validate_python": lambda: ADAPTER.validate_python(snapshot),
                "restore_agent_state": lambda: restore_agent_state(snapshot),
                "the pure twin": lambda: _pure.Record.restore(snapshot),
            }
        ),
    )
    _show(
        "what a live record gives",
        race(
            {
                "restore_agent_state": lambda: restore_agent_state(snapshot),
                "summarize_agent_state": lambda: summarize_agent_state(state),
                "[dict(item) for item in work items]": lambda: [dict(item) for item in work],
                "snapshot()": state.snapshot,
                "copy()": state.copy,
                "render_agent_state, 800 tokens": lambda: render_agent_state(state, 800),
            }
        ),
    )
    _show(
        "JSON text, by peer",
        race(
            {
                "msgspec.json.decode into Structs": lambda: DECODER.decode(text),
                "AgentState.from_json": lambda: AgentState.from_json(text),
                "orjson.loads, then restore": lambda: restore_agent_state(orjson.loads(text)),
                "orjson.dumps of the snapshot": lambda: orjson.dumps(snapshot),
                "to_json()": state.to_json,
            }
        ),
    )


def _show(title: str, timings: dict[str, Timing]) -> None:
    base = next(iter(timings))
    print(f"  {title + ' (1 = ' + base + ')':<48}{'ratio':>8}   {'quartiles':<16}{'time':>10}")
    for name, timing in timings.items():
        low, high = timing.spread
        print(f"    {name:<46}{timing.ratio:8.3f}   {f'{low:.3f} - {high:.3f}':<16}{timing.nanoseconds / 1000:8.2f} us")


if __name__ == "__main__":
    main()
