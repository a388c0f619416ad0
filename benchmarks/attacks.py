"""Ratios, in one run: LiRA against a loop over rows, RMIA against the N x M matrix, and that the results are equal.

    python benchmarks/attacks.py [--rows 50000] [--models 64] [--population 50000] [--repeat 3]

The loops are ours, written from the definitions as published packages compute them: LiRA takes a row at a time, two
masked means and deviations and two `scipy.stats.norm.logpdf`; RMIA divides every ratio of a candidate by every ratio
of the population and averages, in blocks of rows so that the matrix fits. The LiRA loop is measured on `--loop-rows`
rows and given per row. "lira" and "rmia" time whole attacks, signals included; "share" the comparison alone against
the same matrix. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from discreet.audit.membership.attack import References, View
from discreet.audit.membership.attacks.lira import Lira
from discreet.audit.membership.attacks.rmia import Rmia, share_beaten
from discreet.audit.scores.signals import masked_mean, per_model, phi, query_mean, true_p

BLOCK = 2_000


def made_up(rows: int, models: int, population: int) -> View:
    """Judged rows first, then population; everyone's φ is Gaussian and a model trained on a row is surer of it."""
    rng = np.random.default_rng(0)
    n = rows + population
    member = rng.permuted(np.tile(np.arange(models)[:, None] % 2, (1, n)), axis=0).astype(np.int8)
    label = rng.integers(0, 2, n)

    def log_p(value: np.ndarray) -> np.ndarray:
        right, wrong = -np.logaddexp(0, -value), -np.logaddexp(0, value)
        return np.asarray(np.where(label[:, None] == np.arange(2), right[..., None], wrong[..., None]))[..., None, :]

    values = rng.normal(1, 1, (models, n)) + member
    return View(
        log_p(rng.normal(1.5, 1.2, n)), label, {"population": References(log_p(values), member)},
        np.arange(rows, n), np.arange(rows),
    )


def lira_loop(value: np.ndarray, references: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """(n,), (n, R), (n, R): a row at a time."""
    scores = np.zeros(value.size)
    for i in range(value.size):
        seen, unseen = references[i][inside[i]], references[i][~inside[i]]
        scores[i] = (norm.logpdf(value[i], np.mean(seen), np.std(seen) + 1e-30)
                     - norm.logpdf(value[i], np.mean(unseen), np.std(unseen) + 1e-30))
    return scores


def rmia_matrix(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Every candidate against every population record, gamma = 1."""
    blocks = [(x[start : start + BLOCK, None] / z[None, :] >= 1.0).mean(axis=1) for start in range(0, x.size, BLOCK)]
    return np.concatenate(blocks)


def best_of(repeat: int, run: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    best, value = np.inf, np.zeros(0)
    for _ in range(repeat):
        start = time.perf_counter()
        value = run()
        best = min(best, time.perf_counter() - start)
    return best, value


def ratio_of_ratios(view: View) -> np.ndarray:
    references = view.references["population"]
    p = query_mean(per_model(true_p, references.log_p, view.label))
    prior = 0.5 * (masked_mean(p, references.member == 1) + masked_mean(p, references.member == 0))
    return query_mean(true_p(view.target, view.label)) / prior


def head(view: View, rows: int) -> View:
    """The first `rows` alone."""
    given = view.references["population"]
    return View(view.target[:rows], view.label[:rows],
                {"population": References(given.log_p[:, :rows], given.member[:, :rows])},
                np.zeros(0, dtype=np.int64), np.arange(rows))


def lira_figures(view: View, args: argparse.Namespace) -> dict[str, object]:
    only = head(view, args.rows)
    given = only.references["population"]
    ours_s, ours = best_of(args.repeat, lambda: Lira().scores(only, "logit", "population", np.random.default_rng(0)))
    value, references = phi(only.target, only.label)[:, 0], per_model(phi, given.log_p, only.label)[..., 0].T.copy()
    few = min(args.loop_rows, args.rows)
    loop_s, loop = best_of(1, lambda: lira_loop(value[:few], references[:few], given.member.T[:few] == 1))
    loop_s *= args.rows / few
    return {
        "lira_s": round(ours_s, 4), "lira_loop_s_extrapolated": round(loop_s, 2),
        "lira_ratio": round(loop_s / ours_s, 1), "lira_largest_difference": float(np.abs(ours[:few] - loop).max()),
    }


def rmia_figures(view: View, args: argparse.Namespace) -> dict[str, object]:
    ours_s, ours = best_of(args.repeat, lambda: Rmia().scores(view, "p", "population", np.random.default_rng(0)))
    ratio = ratio_of_ratios(view)
    x, z = ratio[view.judged], ratio[view.population]
    figures: dict[str, object] = {"rmia_s": round(ours_s, 4)}
    for n, m in ((5_000, 5_000), (x.size, z.size)):
        share_s, share = best_of(args.repeat, lambda n=n, m=m: share_beaten(x[:n], z[:m], 1.0))  # type: ignore[misc]
        matrix_s, matrix = best_of(1, lambda n=n, m=m: rmia_matrix(x[:n], z[:m]))  # type: ignore[misc]
        figures |= {
            f"share_{n}x{m}_s": round(share_s, 5), f"matrix_{n}x{m}_s": round(matrix_s, 3),
            f"share_ratio_{n}x{m}": round(matrix_s / share_s, 1), f"share_equal_{n}x{m}": bool((share == matrix).all()),
        }
    figures["rmia_equal"] = bool((ours[view.judged] == share).all())
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--population", type=int, default=50_000)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--loop-rows", type=int, default=5_000)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    view = made_up(args.rows, args.models, args.population)
    print(json.dumps({
        "benchmark": "attacks", "rows": args.rows, "models": args.models, "population": args.population,
        **lira_figures(view, args), **rmia_figures(view, args),
        "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }))


if __name__ == "__main__":
    main()
