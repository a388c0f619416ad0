"""Time of a whole `Guard.check` on one core by length of text, next to Presidio.

    OMP_NUM_THREADS=1 python -m benchmarks.reader.latency [--texts 20] [--rounds 5] [--output F]

Needs Presidio with spaCy's small English model in the same environment. Texts are joined from `written.jsonl`. Everything is timed in
one process, one after the other on each text, so that other work on the machine falls on all alike; medians of process CPU and wall
time, after a first round that is not counted. `network` is the reader alone, `session` what of it onnxruntime takes.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.page import machine

from discreet import Guard
from discreet.guard.benchmark.adapters.presidio import PresidioGuard
from discreet.guard.text.reader import packaged

LENGTHS = (30, 100, 300, 1000)
WRITTEN = Path(__file__).with_name("written.jsonl")


class Timed:
    """A session that adds up the CPU time of its runs."""

    def __init__(self, session: Any) -> None:
        self.session, self.seconds = session, 0.0

    def run(self, *given: Any) -> Any:
        started = time.process_time()
        out = self.session.run(*given)
        self.seconds += time.process_time() - started
        return out


def texts(length: int, number: int) -> list[str]:
    """Running words of about so many of the reader's tokens."""
    words = [w for line in WRITTEN.read_text(encoding="utf-8").splitlines() for w in json.loads(line)["text"].split()]
    encode, out = packaged()._tokenizer.encode, []
    for k in range(number):
        begin = k * len(words) // number
        ends = encode(" ".join(words[begin : begin + length]), add_special_tokens=False).offsets
        joined = " ".join(words[begin : begin + length])
        out.append(joined[: ends[min(length, len(ends)) - 1][1]])
    return out


def measure(number: int, rounds: int) -> dict[str, Any]:
    """Milliseconds by length and what is timed, and CPU time relative to Presidio."""
    logging.disable(logging.CRITICAL)
    session = packaged()._session = Timed(packaged()._session)
    presidio = PresidioGuard()
    timed: dict[str, Callable[[str], Any]] = {
        "guard": Guard("medical").check, "network": packaged().read,
        "presidio": lambda text: presidio.predict(text, None)}  # fmt: skip
    out: dict[str, Any] = {}
    for length in LENGTHS:
        cpu, wall = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
        for turn in range(rounds + 1):
            for text in texts(length, number):
                for name, judge in timed.items():
                    session.seconds, began, started = 0.0, time.perf_counter(), time.process_time()
                    judge(text)
                    if turn:
                        cpu[name].append(1e3 * (time.process_time() - started))
                        wall[name].append(1e3 * (time.perf_counter() - began))
                    if turn and name == "network":
                        cpu["session"].append(1e3 * session.seconds)
        medians = {name: round(statistics.median(values), 2) for name, values in cpu.items()}
        out[str(length)] = {"cpu_ms": medians, "wall_ms": {name: round(statistics.median(values), 2) for name, values in wall.items()},
                            "cpu_of_presidio": {name: round(value / medians["presidio"], 2) for name, value in medians.items()}}  # fmt: skip
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    line = json.dumps({"benchmark": "reader_latency", **machine(), "tokens": measure(args.texts, args.rounds)}, indent=1)
    if args.output:
        args.output.write_text(line + "\n", encoding="utf-8")
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
