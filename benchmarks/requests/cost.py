"""What a question costs, and retrieved texts: CPU time of a check with them against the same answer without. Prints JSON.

    python -m benchmarks.requests.cost [--contents F] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.requests.score import HERE, lines

from discreet import Answer, Guard


def seconds(guard: Guard, answer: Answer, rounds: int) -> float:
    found = []
    for _ in range(rounds):
        started = time.process_time()
        guard.check(answer)
        found.append(time.process_time() - started)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contents", type=Path, default=HERE / "contents.jsonl")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    guard = Guard("medical")
    guard.check("The guard is warm.", "I am 52. Is it?")
    times: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for row in lines(args.contents):
        answer, user = row["answer"], row["user"]
        ways = Answer("1", answer), Answer("1", answer, user), Answer("1", answer, user, tuple(row["passages"]))
        alone, asked, retrieved = (seconds(guard, one, args.rounds) for one in ways)
        times[row["case"]].append((alone, asked, retrieved))
    print(json.dumps({case: {"question": ratios([(a, b) for a, b, _ in of]),
                             "question and retrieved texts": ratios([(a, c) for a, _, c in of]),
                             "mean ms without": round(1000 * statistics.mean(a for a, *_ in of), 2), "n": len(of)}
                      for case, of in times.items()}, indent=1))


def ratios(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Of the second times to the first ones."""
    return {"ratio of totals": round(sum(b for _, b in pairs) / sum(a for a, _ in pairs), 3),
            "median ratio": round(statistics.median(b / a for a, b in pairs), 3)}


if __name__ == "__main__":
    main()
