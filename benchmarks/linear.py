"""Growth of the evidence with the length of an answer: seconds for 4 and 16 times the text, as ratios.

    python benchmarks/linear.py

Linear reading gives about 4 and 16. Units are those that make careless patterns backtrack.
"""

from __future__ import annotations

import json
from time import perf_counter

from discreet.text.doc import Doc
from discreet.text.evidence.bind import find_evidence

UNITS = ["\n", " \n", "a", "A ", "52-year-old ", "'s ", "my ", ", ", "married and ", "Omaha, ", "University of ", "is a ", "$1,000 ",
         "lives with my ", "was hired as a ", "The patient, a nurse from Omaha, lives with her two sons. "]
BASE = 6_000


def seconds(unit: str, length: int) -> float:
    text = (unit * length)[:length]
    started = perf_counter()
    find_evidence(Doc.of(text), "medical")
    return perf_counter() - started


def main() -> None:
    find_evidence(Doc.of("The patient is a nurse from Omaha."), "medical")
    rows = {}
    for unit in UNITS:
        base = min(seconds(unit, BASE) for _ in range(3))
        rows[unit.strip() or repr(unit)] = {"base_s": round(base, 4), "x4": round(seconds(unit, 4 * BASE) / base, 1),
                                            "x16": round(seconds(unit, 16 * BASE) / base, 1)}
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
