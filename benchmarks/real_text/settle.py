"""Join two independent readings and the settling third into labels.jsonl, and print the agreement.

    python benchmarks/real_text/settle.py --first A.tsv [A2.tsv …] --second B.tsv [B2.tsv …] --third C.tsv

The readings are tables of ids and counts, without text. Where the two agree, that is the label; where they differ in
a class that counts, the third reading is; domain facts on which they differ are left out (null).
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.stats import kappa_estimate

HERE = Path(__file__).parent
CLASSES = ("age", "sex", "ethnicity", "place", "occupation", "family", "affiliation", "direct")
IDENTIFYING = ("age", "ethnicity", "place", "occupation", "family", "affiliation")
Row = dict[str, str]


def read(paths: Sequence[Path]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as handle:
            rows.update({row["passage"]: row for row in csv.DictReader(handle, delimiter="\t")})
    return rows


def cluster_of(row: Row) -> str:
    total = sum(int(row[c]) for c in IDENTIFYING)
    return "yes" if total >= 2 else "one" if total else "no"


def settle(first: Row, second: Row, third: Row | None) -> dict[str, Any]:
    columns = ("subject", "cluster", *CLASSES)
    differ = [c for c in columns if first[c] != second[c]]
    chosen = first if not differ else third
    if chosen is None:
        return {"passage": first["passage"], "settled": "left out", "cluster": "unclear"}
    domain = int(first["domain"]) if first["domain"] == second["domain"] else None
    counts = {c: int(chosen[c]) for c in CLASSES}
    return {
        "passage": first["passage"],
        "subject": chosen["subject"],
        **counts,
        "domain_facts": domain,
        "cluster": cluster_of(chosen),
        "weak": [] if first["weak"] == "-" else first["weak"].split(","),
        "settled": "third reading" if differ else "agreed",
    }


def agreement(first: dict[str, Row], second: dict[str, Row]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for name in ("cluster", "subject", *CLASSES, "domain"):
        a, b = [r[name] for r in first.values()], [second[k][name] for k in first]
        out[name] = kappa_estimate(a, b, unit="passage").to_json()
    yes_a, yes_b = [r["cluster"] == "yes" for r in first.values()], [second[k]["cluster"] == "yes" for k in first]
    out["cluster yes against the rest"] = kappa_estimate(yes_a, yes_b, unit="passage").to_json()
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("first", "second", "third"):
        parser.add_argument(f"--{name}", type=Path, nargs="+", required=True)
    args = parser.parse_args()
    first, second, third = read(args.first), read(args.second), read(args.third)
    if first.keys() != second.keys():
        raise SystemExit("the two readings hold different passages")
    labels = [settle(first[k], second[k], third.get(k)) for k in sorted(first)]
    (HERE / "labels.jsonl").write_text("".join(json.dumps(r) + "\n" for r in labels), encoding="utf-8")
    (HERE / "agreement.json").write_text(json.dumps(agreement(first, second), indent=1) + "\n", encoding="utf-8")
    settled = sum(r["settled"] == "third reading" for r in labels)
    print(
        f"{len(labels)} labels, {settled} by the third reading, {sum(r['settled'] == 'left out' for r in labels)} left out"
    )


if __name__ == "__main__":
    main()
