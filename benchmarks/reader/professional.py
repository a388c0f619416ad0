"""What broad professional text is to the reader, and when a fitted guard abstains: statistics of vectors and two limits.

    python -m benchmarks.reader.professional --data DATA [--texts F …] [--output F]

Writes `professional.safetensors` beside the weights, and limits and hashes into the card; after `train` and `calibrate`,
because both are of these weights and thresholds. The statistics are of the labelled passages that teach. Out of distribution
is what lies further from them than `FAR` of the passages of a family do from those of the other families. Unsure is an
answer that nothing flags between the log-odds of the operating point and a lower limit: the lowest at which a share
`ABSTAINED` at most of the passages of families that taught nothing is abstained on, out of distribution included, and
never one below that of the unfitted guard. The measured shares are of limits that the other families gave. `apart` are
shares of other texts that lie beyond the limit: program code, orders at a counter, passages with their words in any order.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reader.corpus import labelled
from benchmarks.reader.export import write_card
from benchmarks.reader.rows import Row
from benchmarks.real_text.passages import rows as rows_in
from numpy.typing import NDArray

from discreet.core.arrays import write_arrays
from discreet.core.records import Answer
from discreet.guard.density.fitted_dual import Projection
from discreet.guard.density.professional import ARRAYS, Professional
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.guard.score import combined, score
from discreet.guard.text import reader as package

Floats = NDArray[np.float64]
COMPONENTS, APART = 64, 100
FAR, ABSTAINED = 0.05, 0.12


def reference(vectors: Floats, limit: float = 0.0) -> Professional:
    """Mean, components and variances of vectors (n, d), as they are stored."""
    mean = vectors.mean(axis=0)
    _, lengths, axes = np.linalg.svd(vectors - mean, full_matrices=False)
    variances = lengths**2 / len(vectors)
    rest = float(variances[COMPONENTS:].sum() / (vectors.shape[1] - COMPONENTS))
    return Professional(Projection.of(mean, axes[:COMPONENTS].astype(np.float16)), variances[:COMPONENTS], rest, limit, {}, "")


def left_out(vectors: Floats, families: NDArray[np.str_]) -> Floats:
    """The distance of each vector from the passages of the other families."""
    out = np.zeros(len(vectors))
    for family in set(families.tolist()):
        own = families == family
        out[own] = reference(vectors[~own]).distances(vectors[own].astype(np.float32))
    return out


def lowest(odds: Floats, far: NDArray[np.bool_], tau: float, least: float) -> float:
    """The lowest log-odds, at least `least`, above which a share `ABSTAINED` at most of n passages is abstained on."""
    quiet = np.sort(odds[(odds <= tau) & ~far])[::-1]
    room = int(ABSTAINED * len(odds)) - int((far & (odds <= tau)).sum())
    return min(tau, max(least, float(quiet[room]) if 0 <= room < len(quiet) else tau if room < 0 else least))


def read(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    """Vectors (n, d) and log-odds (n,) of the calibrated score."""
    vectors, found = [], []
    for row in rows:
        policy = Policy.of(row["domain"])
        seen = read_answer(Answer(row["id"], row["text"], None), policy)
        assert seen.seen is not None
        vectors.append(seen.seen.vector)
        found.append(score(seen, policy, combined()).logit)
    return np.array(vectors, np.float64), np.array(found)


def leaks(rows: Sequence[Row]) -> NDArray[np.float64]:
    """1 for a cluster of a third person or the speaker, 0 for none, NaN where one attribute stands or another's."""
    return np.array([0.0 if r["cluster"] == "no" else
                     1.0 if r["cluster"] == "yes" and r["people"].get(str(r["main"])) in ("third", "speaker") else np.nan
                     for r in rows])  # fmt: skip


def figures(odds: Floats, away: NDArray[np.bool_], leak: Floats, tau: float) -> dict[str, float]:
    known = ~np.isnan(leak)
    wrong = (odds > tau) != (leak == 1)
    errors = {name: float(wrong[known & among].mean()) for name, among in (("abstained", away), ("kept", ~away))}
    return {"abstained": float(away.mean()), "errors_abstained": errors["abstained"], "errors_kept": errors["kept"],
            "ratio": errors["abstained"] / errors["kept"], "held_clusters": float((away | (odds > tau))[leak == 1].mean()),
            "flagged_none": float((odds > tau)[leak == 0].mean())}


def apart(made: Professional, data: Path, others: Sequence[Row]) -> dict[str, float]:
    """Shares of texts that are no professional prose which lie beyond the limit."""
    rng = random.Random(1)
    texts = {"program code": [r["text"][:600] for r in islice(rows_in(data / "code_vulnerability" / "cve_functions.jsonl.gz"), APART)],
             "orders at a counter": [r["text"][:600] for r in islice(rows_in(data / "taskmaster4" / "all.jsonl.gz"), APART)],
             "words in any order": [" ".join(rng.sample(w := r["text"].split(), len(w))) for r in others[:APART]]}  # fmt: skip
    return {name: float(made.out_of_distribution(np.array([package.packaged().read(t).vector for t in those])).mean())
            for name, those in texts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    every = labelled(args.data, args.texts)
    rows, others = [r for r in every if r["teaches"]], [r for r in every if not r["teaches"]]
    (vectors, _), (unseen, odds) = read(rows), read(others)
    families, names = (np.array([r["family"] for r in those]) for those in (rows, others))
    limit = float(np.quantile(left_out(vectors, families), 1 - FAR))
    made = reference(vectors, limit)
    far = made.out_of_distribution(unseen.astype(np.float32))
    unsure, found = {}, {}
    for point, tau in combined().tau.items():
        least = combined().unsure_above(point)
        unsure[point] = round(lowest(odds, far, tau, least), 4)
        limits = {f: lowest(odds[names != f], far[names != f], tau, least) for f in set(names.tolist())}
        away = (odds <= tau) & (far | (odds > np.array([limits[f] for f in names])))
        found[point] = figures(odds, away, leaks(others), tau) | {
            "out_of_distribution": float((far & (odds <= tau)).mean()),
            "by_family": {f: float(away[names == f].mean()) for f in sorted(limits)}}

    write_arrays(package.FOLDER / ARRAYS, {"mean": made.projection.mean.astype(np.float32), "rest": np.array([made.rest]),
                                           "components": made.projection.components.astype(np.float16), "variances": made.variances})
    file = package.FOLDER / package.CARD
    card = json.loads(file.read_text(encoding="utf-8"))
    sha256 = hashlib.sha256((package.FOLDER / ARRAYS).read_bytes()).hexdigest()
    card["professional"] = {"sha256": sha256, "weights": card["sha256"][package.MODEL], "rows": len(rows),
                            "components": COMPONENTS, "limit": round(limit, 4), "unsure": unsure}
    write_card(package.FOLDER, card)
    record: dict[str, Any] = {"benchmark": "reader_professional", "card": card["professional"], "passages": len(others), "points": found,
                              "apart": apart(made, args.data, others)}
    print(json.dumps(record, indent=1))
    if args.output:
        args.output.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
