"""The tables of docs/results/population.md out of what `benchmarks.population` measured.

    python -m benchmarks.population_page results.json [more.json ...]

Writes what stands between the marks `<!-- measured: population -->` and `<!-- end: population -->` of the page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "population.md"
BEGIN, END = "<!-- measured: population -->", "<!-- end: population -->"


def share(value: Any) -> str:
    if isinstance(value, list):
        return f"{value[0]:.3f} ({value[1]:.3f}–{value[2]:.3f})"
    return "" if value is None else f"{value:.3f}"


def errors(done: dict[str, Any], names: list[str]) -> list[str]:
    lines = ["| fit | estimator | median factor | 90th pct. | within ×5 | within ×2 | Spearman | AUC ≤ 20 | ≤ 20: within ×5 |",
             "|---|---|---|---|---|---|---|---|---|"]
    for name in names:
        for estimator, one in done[name]["estimators"].items():
            if "median" in one:
                lines.append(f"| {name} | {estimator} | {one['median']:.2f} | {one['p90']:.1f} | {share(one['within5'])} | "
                             f"{share(one['within2'][0])} | {share(one['spearman'])} | {share(one['auc_small'])} | "
                             f"{share(one['small_within5'])} |")
            else:
                lines.append(f"| {name} | {estimator} | | | | | | {share(one['auc_small'])} | |")
    return lines


def coverages(done: dict[str, Any], names: list[str]) -> list[str]:
    rows = list(dict.fromkeys(part for name in names for part in done[name]["coverage"]))
    lines = ["| clusters | " + " | ".join(f"{name}: 80 | 95 | width" for name in names) + " |",
             "|---|" + "---|---|---|" * len(names)]
    for row in rows:
        cells = [done[name]["coverage"].get(row) for name in names]
        lines.append(f"| {row} | " + " | ".join(
            f"{one['80']:.3f} | {one['95']:.3f} | ×{one['width80']:.1f}, ×{one['width95']:.1f}" if one else " | | "
            for one in cells) + " |")
    return lines


def lacking(done: dict[str, Any], names: list[str]) -> list[str]:
    lines = ["| fit | clusters | coverage 80 | 95 | width | within ×5 |", "|---|---|---|---|---|---|"]
    for name in names:
        one = done[name]["unseen"]
        lines.append(f"| {name} | {one['n']} | {one['80']:.3f} | {one['95']:.3f} | ×{one['width80']:.1f}, "
                     f"×{one['width95']:.0f} | {one['within5']:.3f} |")
    return lines


def counties(found: dict[str, Any]) -> list[str]:
    spreads = list(next(iter(found.values()))["spread"])
    lines = ["| group | people | largest factor | " + " | ".join(f"spread {spread}" for spread in spreads) + " |",
             "|---|---|---|" + "---|" * len(spreads)]
    for group, one in found.items():
        cells = " | ".join(f"{of_counties:.2f}, {of_people:.2f}" for of_counties, of_people in one["spread"].values())
        lines.append(f"| {group} | {one['people']:,} | {one['largest']:,.0f} | {cells} |")
    return lines


def regions(done: dict[str, Any], names: list[str]) -> list[str]:
    lines = ["| table | with the cluster in all regions | n | median factor | 90th pct. | within ×5 | chance alone: 80 | 95 | "
             "with the spread: 80 | 95 |", "|---|---|---|---|---|---|---|---|---|---|"]
    for name in names:
        for size, one in done[name]["size"].items():
            cells = [share(one[f"{kind} {level}"][0]) for kind in ("chance", "spread") for level in ("80", "95")]
            lines.append(f"| {name.partition(',')[0]} | {size} | {one['n']} | {one['median']:.2f} | {one['p90']:.2f} | "
                         f"{share(one['within5'])} | {' | '.join(cells)} |")
    return lines


def privates(done: dict[str, Any], names: list[str]) -> list[str]:
    lines = ["| table | fit | median factor | within ×5 | ≤ 20: within ×5 | coverage 80 | 95 |", "|---|---|---|---|---|---|---|"]
    for name in names:
        for fit, one in done[name]["private"].items():
            lines.append(f"| {name.partition(',')[0]} | {fit} | {one['median']:.2f} | {share(one['within5'])} | "
                         f"{share(one['small_within5'])} | {share(one['coverage80'])} | {share(one['coverage95'])} |")
    return lines


def main() -> None:
    done: dict[str, Any] = {}
    for path in sys.argv[1:]:
        done |= json.loads(Path(path).read_text(encoding="utf-8"))
    kinds: dict[str, list[str]] = {kind: [name for name, one in done.items() if kind in one]
                                   for kind in ("estimators", "coverage", "unseen", "private",
                                                "size")}
    first = [name for name in kinds["estimators"] if name.startswith("1/")]
    other = [name for name in kinds["estimators"] if name not in first]
    lines = ["## Error", "", *errors(done, first), "", "## Second populations", "", *errors(done, other), ""]
    lines += ["## Coverage", ""]
    for table in ("all", "in work", "eusilc", "ses"):
        lines += [*coverages(done, [name for name in kinds["coverage"] if name.startswith(f"{table}, ")]), ""]
    lines += ["Clusters with a value that no fitted row has:", "", *lacking(done, kinds["unseen"]), "",
              "## Place", "", *regions(done, kinds["size"]), "",
              "95% intervals for groups by county hold so many counties, and so many persons of the group:", "",
              *counties(done["counties"]["counties"]), "", "## Under differential privacy", "", *privates(done, kinds["private"]), ""]
    if "speed" in done:
        one = done["speed"]
        lines += ["## Cost", "", f"{one['count_ms_median']:.2f} ms a count on one thread (99th percentile "
                  f"{one['count_ms_p99']:.2f}), {one['load_ms']:.0f} ms to load, {one['bytes']:,} bytes, "
                  f"{one['classes']:,} classes.", ""]
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(before + "\n".join([BEGIN, "", *lines]) + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
