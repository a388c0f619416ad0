"""What a question costs: CPU time of a check with one against the same answer without. Prints JSON.

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
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in lines(args.contents):
        alone, asked = Answer("1", row["answer"]), Answer("1", row["answer"], row["user"])
        pairs[row["case"]].append((seconds(guard, alone, args.rounds), seconds(guard, asked, args.rounds)))
    print(json.dumps({case: {"ratio of totals": round(sum(b for _, b in of) / sum(a for a, _ in of), 3),
                             "median ratio": round(statistics.median(b / a for a, b in of), 3),
                             "mean ms without": round(1000 * statistics.mean(a for a, _ in of), 2), "n": len(of)}
                      for case, of in pairs.items()}, indent=1))


if __name__ == "__main__":
    main()
