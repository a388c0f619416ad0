"""Ratio, in one run: our stratified bootstrap of the AUROC against a loop over scikit-learn's `roc_auc_score`.

    python benchmarks/stats_roc.py [--per-class 50000] [--resamples 1000] [--peer-resamples 10]

scikit-learn sorts every resample; its time is measured on a few resamples and given per resample. Ours is measured
whole, sorting included, once with the AUROC alone and once with FPR95 and TPR at 1% FPR from the same pass. Draws are
part of both. Best of `--repeat` runs each, interleaved. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import roc_auc_score

from discreet.stats import RocCore, StepCounts, bootstrap_roc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-class", type=int, default=50_000)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--peer-resamples", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()

    rng = np.random.default_rng(0)
    n = args.per_class
    scores = np.concatenate([rng.normal(0.3, 1.0, n), rng.normal(0.0, 1.0, n)])
    labels = np.repeat([1, 0], n)

    def ours() -> np.ndarray:
        core = RocCore.of(scores, labels)
        return bootstrap_roc(core, [StepCounts.auroc], np.random.default_rng(1), n_resamples=args.resamples)

    def ours_three() -> np.ndarray:
        three = [StepCounts.auroc, lambda c: c.fpr_at_tpr(0.95), lambda c: c.tpr_at_fpr(0.01)]
        return bootstrap_roc(
            RocCore.of(scores, labels), three, np.random.default_rng(1), n_resamples=args.resamples
        )

    def peer() -> np.ndarray:
        draw = np.random.default_rng(1)
        values = []
        for _ in range(args.peer_resamples):
            rows = np.concatenate([draw.integers(0, n, n), draw.integers(n, 2 * n, n)])
            values.append(roc_auc_score(labels[rows], scores[rows]))
        return np.array(values)

    best: dict[str, float] = {}
    values: dict[str, np.ndarray] = {}
    runs: dict[str, Callable[[], np.ndarray]] = {"ours": ours, "peer": peer, "ours_three": ours_three}
    for _ in range(args.repeat):
        for name, run in runs.items():
            start = time.perf_counter()
            values[name] = run()
            best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
    per_resample = {
        "ours": best["ours"] / args.resamples,
        "ours_three": best["ours_three"] / args.resamples,
        "peer": best["peer"] / args.peer_resamples,
    }
    print(json.dumps({
        "benchmark": "stats_roc", "per_class": n, "resamples": args.resamples,
        "peer_resamples": args.peer_resamples,
        "ours_s": round(best["ours"], 3), "ours_three_statistics_s": round(best["ours_three"], 3),
        "peer_s_extrapolated": round(per_resample["peer"] * args.resamples, 2),
        "ratio": round(per_resample["peer"] / per_resample["ours"], 1),
        "ratio_three_statistics": round(per_resample["peer"] / per_resample["ours_three"], 1),
        "auroc_sd_ours": float(values["ours"].std()), "auroc_mean_ours": float(values["ours"].mean()),
        "auroc_mean_peer": float(values["peer"].mean()),
        "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }))


if __name__ == "__main__":
    main()
