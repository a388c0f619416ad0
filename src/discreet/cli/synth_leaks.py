"""`discreet synth leaks`: answers that leak what their passages hold, join or never said, with controls."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from discreet.cli import library as lib
from discreet.cli.options import DOMAINS, option
from discreet.cli.output import Output
from discreet.core.files import dump_json, write_atomic


def leaks(
    *,
    domain: Annotated[str, option("D", "What to write about: " + DOMAINS)],
    out: Annotated[Path, option("F", "Write the records as JSON Lines, for guard check and synth validate.")],
    n: Annotated[int, option("N", "Cases of each leak class.", min=1)] = 200,
    seed: Annotated[int, option("N", "Seed of random draws.", min=0)] = 42,
    output: Output,
) -> None:
    """Write cases of the three leak classes, by the grammar: retention, synthesis and fabrication.

    Each case is an answer with its passages (sources) that binds two to four classes to one person, and a control: the
    same question and passages with an answer that binds nothing. A passage holds the whole cluster (retention), several
    hold one attribute each (synthesis), or none does (fabrication). No text is printed.
    """
    cases = lib.leaks.make_leaks(domain, n, seed)
    rows = [row for case in cases for row in case.to_json()]
    write_atomic(out, "".join(dump_json(row) + "\n" for row in rows))
    by_leak = dict(Counter(case.leak for case in cases))
    result = {"kind": "synth leaks", "schema": 1, "domain": cases[0].domain, "seed": seed, "cases": by_leak,
              "records": len(rows), "passages": sum(len(case.sources) for case in cases), "synthetic": True,
              "file": str(out)}
    output.say(result, lambda: "\n".join([
        f"{cases[0].domain}: {len(rows):,} records of {len(cases):,} cases (a leak and its control each), seed {seed}, "
        f"in {out}", *(f"  {leak:12} {count:>7,}" for leak, count in by_leak.items())]))
