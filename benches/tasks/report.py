"""What came out, for people and as JSON."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from .peers import OURS, PEERS
from .turns import Claims, Pair, Turn, percentile

Row = dict[str, Any]


def machine(server: str, filesystem: str) -> Row:
    """What the figures hold for."""
    packages = sorted({name for entry in (*PEERS.values(), *OURS.values()) for name in entry.packages})
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "postgresql": server,
        "filesystem": filesystem,
        "packages": {name: version(name) for name in packages},
    }


def spread(values: Sequence[float]) -> Row:
    """The median, and the least and the greatest."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def rows(pairs: Sequence[Pair]) -> list[Row]:
    """One row for each peer, in the order in which they ran; `goal_*` where one is set."""
    made = []
    for name in dict.fromkeys(pair.peer for pair in pairs):
        entry = PEERS[name]
        mine = [pair for pair in pairs if pair.peer == name]
        row: Row = {"peer": name, "database": entry.database, "caveat": entry.caveat} | _turns([p.theirs for p in mine])
        both = [(pair.theirs, pair.ours) for pair in mine if pair.ours is not None]
        if both:
            row["ours"] = _turns([ours for _, ours in both])
            row["times_as_fast"] = spread([ours.rate / theirs.rate for theirs, ours in both])
            shares = [
                ours.step_p50 / theirs.step_p50
                for theirs, ours in both
                if ours.step_p50 is not None and theirs.step_p50 is not None
            ]
            if shares:
                row["step_share"] = spread(shares)
        row["goal_times_as_fast"], row["goal_step_share"] = entry.faster, entry.step_share
        made.append(row)
    return made


def claim_row(claims: Claims) -> Row:
    """Medians by the number that waited, and the last one's over the first one's."""
    medians = {n: statistics.median(times) for n, times in claims.by_waiting.items()}
    first, *_, last = medians.values()
    return {
        "p50_ms": medians,
        "p95_ms": {n: percentile(times, 95) for n, times in claims.by_waiting.items()},
        "ratio": last / first,
        "goal_ratio": 1.5,
    }


def show(result: Row) -> None:
    """Print the tables."""
    about = result["about"]
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    print(f"CPython {about['python']}, {about['machine']}; PostgreSQL {about['postgresql']} on {about['filesystem']}")
    print(packages)
    floor = result["floor_ms"]
    print(f"The floor, one row updated and committed: {floor['p50']:.2f} ms, 95 % below {floor['p95']:.2f}")
    for database, title in (("postgres", "PostgreSQL"), ("sqlite", "SQLite")):
        table = [row for row in result["peers"] if row["database"] == database]
        if table:
            _show_table(title, table)
    if claims := result.get("claims"):
        print("\nOne claim of ours on PostgreSQL, by how many tasks wait")
        for n, p50 in claims["p50_ms"].items():
            print(f"  {n:>6}: {p50:.2f} ms, 95 % below {claims['p95_ms'][n]:.2f}")
        print(f"  ratio {claims['ratio']:.2f}{_verdict(claims['ratio'] <= 1.5, 'at most 1.5')}")
    if enqueue := result.get("enqueue"):
        print(f"\n{enqueue['tasks']} tasks stored in one call: {_range(enqueue['seconds'], '.2f')} s", end="")
        print(_verdict(enqueue["seconds"]["median"] <= enqueue["goal_s"], f"at most {enqueue['goal_s']}"))


def _turns(turns: Sequence[Turn]) -> Row:
    row: Row = {
        "tasks_per_s": spread([turn.rate for turn in turns]),
        "tasks_per_s_with_start": spread([turn.rate_with_start for turn in turns]),
        "enqueue_s": spread([turn.enqueue_s for turn in turns]),
    }
    p50, p95 = ([value for value in values if value is not None] for values in _steps(turns))
    if p50 and p95:
        row |= {"step_p50_ms": spread(p50), "step_p95_ms": spread(p95)}
    return row


def _steps(turns: Sequence[Turn]) -> tuple[list[float | None], list[float | None]]:
    return [turn.step_p50 for turn in turns], [turn.step_p95 for turn in turns]


def _show_table(title: str, table: Sequence[Row]) -> None:
    print(f"\n{title}: {'':<{21 - len(title)}}{'tasks a second':>22}  {'step ms, p50':>20}  p95")
    for row in table:
        _show_line(PEERS[row["peer"]].title, row)
        if "ours" in row:
            _show_line("  ours, by turns", row["ours"])
            _show_ratio("times as fast", row["times_as_fast"], row["goal_times_as_fast"], most=False)
            if "step_share" in row:
                _show_ratio("part of its step", row["step_share"], row["goal_step_share"], most=True)
        if row["caveat"]:
            print(f"    ({row['caveat']})")


def _show_line(name: str, row: Row) -> None:
    steps = ""
    if "step_p50_ms" in row:
        steps = f"{_range(row['step_p50_ms'], '.2f'):>20}  {row['step_p95_ms']['median']:.2f}"
    print(f"  {name:<21}{_range(row['tasks_per_s'], '.0f'):>22}  {steps}")


def _show_ratio(name: str, ratio: Row, goal: float | None, *, most: bool) -> None:
    verdict = ""
    if goal is not None:
        met = ratio["median"] <= goal if most else ratio["median"] >= goal
        verdict = _verdict(met, f"at {'most' if most else 'least'} {goal:g}")
    print(f"    {name}: {_range(ratio, '.2f')}{verdict}")


def _range(values: Row, form: str) -> str:
    return f"{values['median']:{form}} ({values['low']:{form}} - {values['high']:{form}})"


def _verdict(met: bool, goal: str) -> str:
    return f"; {'met' if met else 'MISSED'}: {goal}"
