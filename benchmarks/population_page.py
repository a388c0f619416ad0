"""The tables of docs/results/population.md out of what `benchmarks.population` measured.

    python -m benchmarks.population_page results.json [more.json ...]

Writes what stands between the marks `<!-- measured: population -->` and `<!-- end: population -->` of the page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.page import replace_between


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


def main() -> None:
    done: dict[str, Any] = {}
    for path in sys.argv[1:]:
        done |= json.loads(Path(path).read_text(encoding="utf-8"))
    lines = ["## Coverage", ""]
    for table in ("all", "in work", "eusilc", "ses"):
        lines += [*coverages(done, [name for name in done if name.startswith(f"{table}, ")]), ""]
    lines += ["Clusters with a value that no fitted row has:", "",
              *lacking(done, [name for name, one in done.items() if "unseen" in one]), ""]
    if "speed" in done:
        one = done["speed"]
        lines += ["## Cost", "", f"{one['count_ms_median']:.2f} ms a count on one thread (99th percentile "
                  f"{one['count_ms_p99']:.2f}), {one['load_ms']:.0f} ms to load, {one['bytes']:,} bytes, "
                  f"{one['classes']:,} classes.", ""]
    replace_between("population.md", "<!-- measured: population -->", "<!-- end: population -->", "\n".join(["", *lines]))


if __name__ == "__main__":
    main()
