"""The three leak classes of section III-B through the default guard: a Markdown table, and JSON lines with --output.

    python benchmarks/leaks.py [--n 200] [--seed 0] [--domain medical] [--rules] [--output F] [--records DIR]

`--rules` leaves the learned reader out. `--records` also writes the cases, a JSON Lines file a domain, for
`discreet guard check`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from discreet.core.files import dump_json, write_atomic
from discreet.core.records import Estimate, plain
from discreet.guard.domains import builtin_domains
from discreet.guard.guard import Guard
from discreet.synth.leaks import make_leaks
from discreet_papers.ppe.leaks import measure_leaks

COLUMNS = ("flagged", "held", "control_flagged", "control_held", "passage_flagged", "general_flagged",
           "direct")


def cell(one: Estimate | None) -> str:
    if one is None or one.value is None:
        return "–"
    return f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--domain", choices=builtin_domains(), action="append")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--records", type=Path)
    given = parser.parse_args()
    rows = []
    print(f"| domain | leak | cases | n | {' | '.join(name.replace('_', ' ') for name in COLUMNS)} |")
    print("|---|---|---|---|" + "---|" * len(COLUMNS))
    for domain in given.domain or builtin_domains():
        cases = make_leaks(domain, given.n, given.seed)
        if given.records:
            given.records.mkdir(parents=True, exist_ok=True)
            write_atomic(given.records / f"{domain}.jsonl",
                         "".join(dump_json(row) + "\n" for case in cases for row in case.to_json()))
        for row in measure_leaks(Guard(domain, reader=not given.rules), cases):
            rows.append(plain(row))
            print(f"| {domain} | {row['leak']} | {row['cases']} | {row['n']} | "
                  f"{' | '.join(cell(row[name]) for name in COLUMNS)} |", flush=True)
    if given.output:
        write_atomic(given.output, "".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
