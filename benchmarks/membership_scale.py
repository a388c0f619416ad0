"""Budget of the membership audit: 50,000 members, 50,000 non-members, 64 shadows, from a file to a page.

    OMP_NUM_THREADS=1 python -m benchmarks.membership_scale [--bootstraps 1000] [--keep F]
    OMP_NUM_THREADS=1 python -m benchmarks.membership_scale --millions 1

A world of `audit.simulate` is written once to a temporary folder (not timed); then one fresh process loads it, audits it
(all attacks, scales, reference kinds, selections, curves and strata; control, paired and neutral reference and selection
model besides the shadows; permutations off) and makes the HTML page. Wall and CPU seconds by stage, imports included,
and peak memory. The exit code is 1 where a budget is broken: 60 s of wall time, 4 GB. With `--millions N` the table
has N million records, half of them members, of a target and its control model alone; of one million the budgets are 30 s
of CPU time and 1 GB, of more there are none.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.page import machine

BUDGET = {"wall_s": 60.0, "peak_gb": 4.0}
MILLION = {"cpu_s": 30.0, "peak_gb": 1.0}


def write(path: Path, args: argparse.Namespace) -> None:
    """The world as a flat Parquet file; half of the non-members are the paired reference's training set."""
    import numpy as np

    from discreet.audit.core.simulate import World, simulated_table
    from discreet.audit.scores.write import write_scores

    others = args.nonmembers // 2
    world = World(members=args.members, others=others, clean=args.nonmembers - others, selector=1_000, leak=0.2,
                  reference_leak=1.0, shadows=args.shadows)
    if args.millions:
        half = args.millions * 500_000
        world = World(members=half, others=0, clean=half, selector=0, leak=0.2, paired=0, neutral=0)
    write_scores(simulated_table(world, np.random.default_rng(0)), path)


@contextmanager
def stage(found: dict[str, Any], name: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    found[name] = {"wall_s": round(time.perf_counter() - wall, 2), "cpu_s": round(time.process_time() - cpu, 2)}


def measure(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    """In the fresh process: stages, rows and peak memory."""
    stages: dict[str, Any] = {}
    with stage(stages, "import"):
        from discreet.audit.membership.audit import audit_membership
        from discreet.audit.scores.load import load_scores
        from discreet.report import summarise, to_html
    with stage(stages, "load"):
        table = load_scores(path)
    with stage(stages, "audit"):
        found = audit_membership(table, design="randomised", permutations=0, bootstraps=args.bootstraps)
    with stage(stages, "page"):
        record = {"kind": "audit membership", "schema": 1, **found.to_json()}
        page = to_html(summarise(record))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"stages": stages, "verdict": found.verdict, "rows": len(found.attacks), "page_kb": round(len(page) / 1e3),
            "models": len(table.models), "examples": len(table.examples), "peak_gb": round(peak, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=50_000)
    parser.add_argument("--nonmembers", type=int, default=50_000)
    parser.add_argument("--shadows", type=int, default=64)
    parser.add_argument("--millions", type=int, default=0, metavar="N",
                        help="N million records of a target and its control model")
    parser.add_argument("--bootstraps", type=int, default=1_000)
    parser.add_argument("--keep", type=Path, help="where the file of scores stays; taken as it is if it exists")
    parser.add_argument("--measured", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measured:
        print(json.dumps(measure(args.measured, args)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = args.keep or Path(folder) / "scores.parquet"
        if not path.exists():
            write(path, args)
        load, start = os.getloadavg()[0], time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.membership_scale", "--measured", str(path), "--bootstraps",
                   str(args.bootstraps)]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        wall = time.perf_counter() - start
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = {"benchmark": "membership_scale", **machine(), "load_before": round(load, 2),
                 "file_mb": round(path.stat().st_size / 1e6), "wall_s": round(wall, 2),
                 "cpu_s": round(own.ru_utime + own.ru_stime, 2), **json.loads(printed)}
    budget: dict[str, float] = {0: BUDGET, 1: MILLION}.get(args.millions, {})
    broken = [name for name, most in budget.items() if found[name] > most]
    print(json.dumps({**found, "budget": budget, "broken": broken}, indent=1))
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
