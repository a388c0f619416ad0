"""What a single check of a fitted guard costs at about 100 tokens, and whether a score depends on its batch.

    python benchmarks/guard_check.py --guard DIR [--checks 200]

Prints one line of JSON: milliseconds of CPU of a check (p50, p95), of its encoder alone (fp32, one thread), of reading
and of scoring, the share of a check outside the encoder, and the largest difference between δ alone, δ in a batch and δ in another
order. The answers are a grammar's, cut to about 100 tokens.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from discreet.core.records import Answer
from discreet.guard.density.detector import Rows, rows_of
from discreet.guard.guard import Guard
from discreet.guard.reading import read_answer
from discreet.synth.campaign import run_campaign
from discreet.synth.plan import equal_sizes, make_plan

WORDS = 75


def answers(domain: str, n: int) -> list[Answer]:
    with tempfile.TemporaryDirectory() as folder:
        run_campaign(make_plan(domain, {**dict.fromkeys(equal_sizes(1), 0), "unsafe": n // 2, "safe": n - n // 2}, 3), Path(folder) / "s")
        rows = [json.loads(line) for name in ("unsafe", "safe") for line in (Path(folder) / "s" / f"{name}.jsonl").open(encoding="utf-8")]
    return [Answer(str(i), " ".join(row["answer"].split()[:WORDS])) for i, row in enumerate(rows)]


def interleaved(calls: dict[str, Callable[[Answer], object]], given: list[Answer]) -> dict[str, np.ndarray]:
    """Milliseconds of CPU of every call on every answer, one after the other, so that a busy machine hits all alike."""
    out: dict[str, list[float]] = {name: [] for name in calls}
    for answer in given:
        for name, call in calls.items():
            started = time.process_time()
            call(answer)
            out[name].append((time.process_time() - started) * 1000)
    return {name: np.array(values) for name, values in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guard", type=Path, required=True)
    parser.add_argument("--checks", type=int, default=200)
    args = parser.parse_args()
    guard = Guard.load(args.guard)
    detector, policy = guard.detector, guard.policy
    given = answers(detector.domain.name, args.checks)
    encoder = detector.fusion.encoders[0]
    reads = {a.id: read_answer(a, policy, reader=guard.reader) for a in given}

    def made(those: list[Answer]) -> Rows:
        return rows_of(detector.fusion, detector.evidence, [reads[a.id] for a in those], detector.encoded, detector.counted)

    rows = {a.id: made([a]) for a in given}
    calls: dict[str, Callable[[Answer], object]] = {
        "check": guard.check, "encoder": lambda a: encoder.encode([a.answer]),
        "reading": lambda a: read_answer(a, policy, reader=guard.reader), "scoring": lambda a: detector.score(rows[a.id]),
    }  # fmt: skip
    interleaved(calls, given[:20])
    spent = interleaved(calls, given)
    outside = (spent["check"] - spent["encoder"]) / spent["check"]
    alone = np.array([detector.score(rows[a.id]).delta[0] for a in given])
    batch = detector.score(made(given)).delta
    order = np.random.default_rng(0).permutation(len(given))
    mixed = [given[int(i)] for i in order]
    shuffled = detector.score(made(mixed)).delta
    print(json.dumps({
        "benchmark": "guard_check", "domain": detector.domain, "checks": len(given), "words": WORDS,
        "cpu_ms": {name: {"p50": round(float(np.median(v)), 2), "p95": round(float(np.percentile(v, 95)), 2)} for name, v in spent.items()},
        "outside_encoder_p50": round(float(np.median(outside)), 3),
        "largest_difference": {"batched": float(np.abs(alone - batch).max()), "any_order": float(np.abs(batch[order] - shuffled).max())},
    }))


if __name__ == "__main__":
    main()
