"""Ratios, in one run, of the guard's densities against scikit-learn's one-class SVM.

    python benchmarks/density.py [--only scorer sweep gram rff drift] [--scale 1.0] [--repeat 3]

`scorer`  `OneClassSvm.score` against `OneClassSVM.decision_function` with the same support vectors at 3,072
          dimensions, in batches and one row at a time, interleaved, best of `--repeat`; largest difference; whether a
          row scores the same bits alone as in a batch.
`sweep`   `sweep_nu` against the plain loop (4 ν × 5 folds × 2 sides of `OneClassSVM`), both whole and on the same folds
          and widths, at 2 × 10,000 · scale rows of 3,072, and the ν that each chooses; then ours alone at twice as many.
`gram`    `sweep_nu` against the same loop over a Gram matrix that is computed once a side and sliced (`OneClassSVM` with
          kernel "precomputed"), at 2 × 2,000, 4,000 and 10,000 · scale rows of 384: CPU seconds, and peak memory.
`rff`     `RandomFourier` and `OneClassSvm` on 46,000 · scale rows of 3,072, each in a process of its own: seconds, and
          peak memory, the data included. How near δ of random features is to that of the one-class SVM.
`drift`   Shares flagged at τ = 0 of two blobs, by scale, ν and class sizes.

At scale 1 it takes some ten minutes, nearly all of them scikit-learn's loop; at .1, one. Small scales make small
folds, where the ν of a flat curve is libsvm's tolerance more than the data's.

BLAS runs on `--threads` threads (1 by default: scikit-learn's one-class SVM uses one). One line of JSON a section.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from discreet.guard.density.base import Density, DensityOptions, median_gamma
from discreet.guard.density.densities.ocsvm import OneClassSvm
from discreet.guard.density.densities.rff import RandomFourier
from discreet.guard.density.dual_density import DualDensity
from discreet.guard.density.one_class import NUS, TIE, sweep_nu

DIM = 3_072
RANK = 40


def embeddings(n: int, which: int, seed: int, outliers: float = 0.03) -> np.ndarray:
    """Unit rows (n, 3072) float32 like those of one class: few directions, noise, a common mean, some far from all."""
    fixed = np.random.default_rng(1_000)
    shared, own = fixed.standard_normal((RANK, DIM)), np.random.default_rng(1_001 + which).standard_normal((RANK, DIM))
    axes = (0.93 * shared + 0.37 * own).astype(np.float32)
    mean = (3.0 * fixed.standard_normal(DIM) + 0.5 * np.random.default_rng(2_000 + which).standard_normal(DIM))
    mean = mean.astype(np.float32)
    rng = np.random.default_rng(seed)
    out = np.empty((n, DIM), dtype=np.float32)
    for start in range(0, n, 1_000):
        size = min(1_000, n - start)
        part = rng.standard_normal((size, RANK), dtype=np.float32) @ axes + mean
        part += 2.0 * rng.standard_normal((size, DIM), dtype=np.float32)
        far = rng.random(size) < outliers
        part[far] += 8.0 * rng.standard_normal((int(far.sum()), DIM), dtype=np.float32)
        out[start : start + size] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return out


def best_of(repeat: int, runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each, interleaved, the best of `repeat`."""
    best: dict[str, float] = {}
    for _ in range(repeat):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
    return best


def scorer(scale: float, repeat: int) -> dict[str, Any]:
    x = embeddings(round(3_000 * scale), 0, 1).astype(np.float64)
    peer = OneClassSVM(gamma=median_gamma(x, np.random.default_rng(0)), nu=0.4).fit(x)
    ours = OneClassSvm.of(peer.support_vectors_, peer.dual_coef_[0], -peer.intercept_[0], peer.gamma, nu=peer.nu,
                          mass=float(peer.dual_coef_.sum()))
    batch = np.concatenate([embeddings(256, 0, 2), embeddings(256, 1, 3)]).astype(np.float64)
    few, one = batch[::8].copy(), batch[:1].copy()
    seconds = best_of(repeat, {
        "ours_batch": lambda: ours.score(batch), "peer_batch": lambda: peer.decision_function(few),
        "ours_single": lambda: [ours.score(one) for _ in range(5)],
        "peer_single": lambda: [peer.decision_function(one) for _ in range(5)],
    })
    scores = ours.score(batch)
    alone = np.concatenate([ours.score(row[None, :]) for row in batch[:64]])
    per_row = {"ours": seconds["ours_batch"] / len(batch), "peer": seconds["peer_batch"] / len(few)}
    return {
        "support_vectors": ours.stored_rows(), "dim": DIM, "batch": len(batch),
        "ours_ms_per_row": round(1e3 * per_row["ours"], 3), "peer_ms_per_row": round(1e3 * per_row["peer"], 3),
        "ratio_batch": round(per_row["peer"] / per_row["ours"], 1),
        "ours_single_ms": round(200 * seconds["ours_single"], 3),
        "peer_single_ms": round(200 * seconds["peer_single"], 3),
        "ratio_single": round(seconds["peer_single"] / seconds["ours_single"], 1),
        "largest_difference": float(np.abs(scores - peer.decision_function(batch)).max()),
        "range_of_scores": round(float(np.ptp(scores)), 3), "same_bits_alone": bool(np.array_equal(alone, scores[:64])),
    }


def plain_sweep(safe: np.ndarray, unsafe: np.ndarray, seed: int) -> tuple[float, list[float]]:
    """The loop over ν, folds and sides that anybody would write, on the draws of `sweep_nu`."""
    rng = np.random.default_rng(seed)
    folds = [rng.permutation(np.arange(len(x)) % 5) for x in (safe, unsafe)]
    gammas = [median_gamma(x, rng) for x in (safe, unsafe)]
    table = np.empty((len(NUS), 5))
    for i, fold in np.ndindex(*table.shape):
        held = np.concatenate([safe[folds[0] == fold], unsafe[folds[1] == fold]])
        sigmas = []
        for x, among, gamma in zip((safe, unsafe), folds, gammas, strict=True):
            rows = x[among != fold]
            fitted = OneClassSVM(gamma=gamma, nu=NUS[i]).fit(rows)
            sigmas.append(fitted.decision_function(held) / (NUS[i] * len(rows)))
        labels = np.repeat([0, 1], [(among == fold).sum() for among in folds])
        table[i, fold] = roc_auc_score(labels, sigmas[1] - sigmas[0])
    means = table.mean(axis=1)
    return NUS[int(np.flatnonzero(means >= means.max() - TIE)[0])], means.tolist()


def sweep(scale: float, repeat: int) -> dict[str, Any]:
    small, large = round(10_000 * scale), round(20_000 * scale)

    def ours(safe: np.ndarray, unsafe: np.ndarray) -> tuple[float, Any]:
        start = time.perf_counter()
        found = sweep_nu(safe, unsafe, rng=np.random.default_rng(5))
        return time.perf_counter() - start, found

    sides = [embeddings(small, which, 10 + which) for which in (0, 1)]
    seconds, found = min((ours(*sides) for _ in range(repeat)), key=lambda run: run[0])
    doubles = [x.astype(np.float64) for x in sides]
    start = time.perf_counter()
    nu, means = plain_sweep(doubles[0], doubles[1], 5)
    peer = time.perf_counter() - start
    whole, at_size = ours(*(embeddings(large, which, 20 + which) for which in (0, 1)))
    return {
        "rows_a_side": small, "dim": DIM, "ours_s": round(seconds, 2), "peer_s": round(peer, 1),
        "ratio": round(peer / seconds, 1), "ours_nu": found.nu, "peer_nu": nu,
        "ours_auroc": [round(m, 5) for m in found.mean.values()], "peer_auroc": [round(m, 5) for m in means],
        "ours_alone_rows_a_side": large, "ours_alone_s": round(whole, 1), "ours_alone_nu": at_size.nu,
        "peak_rss_gib": _peak(),
    }


def shared_gram(own: np.ndarray, other: np.ndarray, seed: int) -> None:
    """One side of the sweep with scikit-learn's solver on one Gram matrix."""
    gamma = median_gamma(own, np.random.default_rng(seed))
    matrix, cross = rbf_kernel(own, own, gamma), rbf_kernel(other, own, gamma)
    fold_of = np.random.default_rng(seed).permutation(np.arange(len(own)) % 5)
    for fold in range(5):
        members = np.flatnonzero(fold_of != fold)
        part = np.ascontiguousarray(matrix[np.ix_(members, members)])
        for nu in NUS:
            fitted = OneClassSVM(kernel="precomputed", nu=nu).fit(part)
            support, weights = members[fitted.support_], fitted.dual_coef_[0]
            matrix[:, support] @ weights, cross[:, support] @ weights


def sweep_once(whose: str, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    sides = [embeddings(n, which, 50 + which)[:, rng.permutation(DIM)[:384]].astype(np.float64) for which in (0, 1)]
    start = time.process_time()
    if whose == "ours":
        sweep_nu(*sides, rng=np.random.default_rng(5))
    else:
        for own, other in (sides, sides[::-1]):
            shared_gram(own, other, 5)
    return {"cpu_s": round(time.process_time() - start, 2), "peak_rss_gib": _peak()}


def gram(scale: float, threads: int) -> dict[str, Any]:
    found: dict[str, Any] = {"dim": 384}
    for n in (2_000, 4_000, round(10_000 * scale)):
        for whose in ("ours", "peer"):
            call = [sys.executable, __file__, "--sweep-once", whose, str(n), "--threads", str(threads)]
            ended = subprocess.run(call, check=True, capture_output=True, text=True)
            found[f"{whose}_{n}"] = json.loads(ended.stdout)
    return found


def fit_once(kind: str, n: int) -> dict[str, Any]:
    x = embeddings(n, 0, 30)
    kinds: dict[str, type[Density]] = {"rff": RandomFourier, "ocsvm": OneClassSvm}
    start = time.perf_counter()
    fitted = kinds[kind].fit(x, DensityOptions(nu=0.02), rng=np.random.default_rng(0))
    seconds = time.perf_counter() - start
    peak = _peak()
    new = embeddings(512, 0, 31)
    scoring = best_of(3, {"batch": lambda: fitted.score(new), "single": lambda: fitted.score(new[:1])})
    return {
        "fit_s": round(seconds, 1), "peak_rss_gib": peak, "stored_rows": fitted.stored_rows(),
        "score_ms_per_row": round(1e3 * scoring["batch"] / 512, 3), "score_single_ms": round(1e3 * scoring["single"], 2),
        "kept_mib": round(sum(a.nbytes for a in fitted.state().values()) / 2**20, 2),
    }


def rff(scale: float, threads: int) -> dict[str, Any]:
    n = round(46_000 * scale)
    found: dict[str, Any] = {"rows": n, "dim": DIM}
    for kind in ("rff", "ocsvm"):
        call = [sys.executable, __file__, "--fit-once", kind, str(n), "--threads", str(threads)]
        found[kind] = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
    x = np.concatenate([embeddings(1_500, 0, 40), embeddings(1_500, 1, 41)])
    new = np.concatenate([embeddings(500, 0, 42), embeddings(500, 1, 43)])
    labels = np.repeat([0, 1], [1_500, 1_500])
    deltas = {
        kind: DualDensity(kind, nu=0.02, random_state=0).fit(x, labels).decision_function(new) for kind in ("ocsvm", "rff")
    }
    truth = np.repeat([0, 1], [500, 500])
    found["delta_rank_correlation"] = round(float(spearmanr(deltas["ocsvm"], deltas["rff"]).statistic), 4)
    found["auroc"] = {kind: round(float(roc_auc_score(truth, delta)), 4) for kind, delta in deltas.items()}
    return found


def drift(scale: float) -> dict[str, Any]:
    """Raw δ = ν (n_u σ̃_u − n_s σ̃_s): at equal sizes τ = 0 is that of the normalised σ̃, whatever ν; else it moves."""
    rng = np.random.default_rng(50)
    new = rng.standard_normal((4_000, 4))
    new[2_000:, 0] += 2.0
    rows = []
    for share in (0.2, 0.5, 0.8):
        for nu in (0.01, 0.05, 0.2):
            n = round(2_000 * scale)
            n_unsafe = round(share * n)
            x = np.random.default_rng(51).standard_normal((n, 4))
            x[n - n_unsafe :, 0] += 2.0
            row: dict[str, Any] = {"safe": n - n_unsafe, "unsafe": n_unsafe, "nu": nu}
            for name in ("libsvm", "normalised"):
                model = DualDensity(nu=nu, scale=name, random_state=0).fit(x, np.repeat([0, 1], [n - n_unsafe, n_unsafe]))
                flagged = model.decision_function(new) > 0.0
                row[name] = {"fpr": round(float(flagged[:2_000].mean()), 3), "tpr": round(float(flagged[2_000:].mean()), 3)}
            rows.append(row)
    spread = {
        name: round(float(np.ptp([row[name]["fpr"] for row in rows])), 3) for name in ("libsvm", "normalised")
    }
    return {"rows": rows, "range_of_fpr": spread}


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = ("scorer", "sweep", "gram", "rff", "drift")
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fit-once", nargs=2, metavar=("KIND", "ROWS"), help=argparse.SUPPRESS)
    parser.add_argument("--sweep-once", nargs=2, metavar=("WHOSE", "ROWS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    with threadpool_limits(args.threads):
        if args.sweep_once:
            print(json.dumps(sweep_once(args.sweep_once[0], int(args.sweep_once[1]))))
            return
        if args.fit_once:
            print(json.dumps(fit_once(args.fit_once[0], int(args.fit_once[1]))))
            return
        runs: dict[str, Callable[[], dict[str, Any]]] = {
            "scorer": lambda: scorer(args.scale, args.repeat), "sweep": lambda: sweep(args.scale, args.repeat),
            "gram": lambda: gram(args.scale, args.threads), "rff": lambda: rff(args.scale, args.threads), "drift": lambda: drift(args.scale),
        }
        for name in args.only:
            print(json.dumps({"benchmark": f"density_{name}", "threads": args.threads, **runs[name]()}), flush=True)


if __name__ == "__main__":
    main()
