"""The command line: `python -m benches.tasks [--quick] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from . import report
from .peers import PEERS
from .place import Place, filesystem
from .turns import percentile, run_claims, run_enqueue, run_pairs

_BUDGET_S = 330.0
_RESULTS = Path(__file__).parents[2] / "target" / "benches" / "tasks.json"


def main() -> None:
    """Measure, print the tables, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benches.tasks", description="Durable tasks against their peers.")
    parser.add_argument("--quick", action="store_true", help="one short round of each, in less than 90 seconds")
    parser.add_argument("--peers", default=",".join(PEERS), help="only these, with commas between: %(default)s")
    parser.add_argument("--peers-only", action="store_true", help="leave out our own turns")
    parser.add_argument("--server", default="postgres", choices=("postgres", "postgres_system"))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=Path, default=_RESULTS, metavar="FILE", help="default: %(default)s")
    options = parser.parse_args()
    names = options.peers.split(",")
    if unknown := set(names) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    quick, ours = options.quick, not options.peers_only
    end = time.monotonic() + _BUDGET_S

    with Place(options.server) as place:
        result: report.Row = {"about": report.machine(place.version, filesystem())}
        floor = place.floor()
        result["floor_ms"] = {"p50": statistics.median(floor), "p95": percentile(floor, 95)}
        if ours:
            claims = run_claims(place, (1_000, 20_000), claims=100 if quick else 300)
            result["claims"] = report.claim_row(claims)
            seconds = run_enqueue(place, 10_000, rounds=1 if quick else 3)
            result["enqueue"] = {"tasks": 10_000, "seconds": report.spread(seconds), "goal_s": 2.0}
        pairs = run_pairs(
            names,
            place,
            rounds=1 if quick else options.rounds,
            scale=0.4 if quick else 1.0,
            ours=ours,
            more=lambda longest: time.monotonic() + longest < end,
        )
        result["peers"] = report.rows(pairs)
    report.show(result)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten: {options.json}")


if __name__ == "__main__":
    main()
