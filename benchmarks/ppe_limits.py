"""The suites of the PPE paper's limits (`discreet_papers.ppe.limits`), a JSON line a row.

    python -m benchmarks.ppe_limits quotes --n 25 --seed 0 --data DATA --output F
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks.machine import machine

from discreet_papers.ppe.limits import SUITES, plain_row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=list(SUITES))
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    started = time.process_time()
    with given.output.open("w", encoding="utf-8") as out:
        for row in SUITES[given.suite](given.n, given.seed, given.data):
            out.write(json.dumps(plain_row(row)) + "\n")
            out.flush()
    print({**machine(), "cpu_s": round(time.process_time() - started)}, file=sys.stderr)


if __name__ == "__main__":
    main()
