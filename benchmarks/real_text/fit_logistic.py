"""Fit the calibrated logistic over evidence counts on the tuning half, and record it in the package.

    python -m benchmarks.real_text.fit_logistic --data DATA

Weights are bounded below by zero (a further attribute must never lower the score) with a small ridge, and two clear
attributes of one person lie above even odds, as the policy says. A passage with
exactly one attribute holds no cluster and is a negative here. The thresholds of the operating points are read off the
same half: conservative at even odds; balanced holds 90% and strict all of the clusters in which the rules see as many
attributes as the policy asks for. No point flags fewer.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from benchmarks.real_text.passages import assemble
from discreet.guard.text.evidence.bind import find_evidence
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, minimize

from discreet.guard import score
from discreet.guard.policy import Policy
from discreet.guard.score import FEATURES, Logistic
from discreet.guard.text.doc import Doc

RIDGE = 0.3
MARGIN = 0.05
Array = NDArray[np.float64]
# Two clear attributes in one class, of somebody mentioned once: the least that a policy calls a cluster of two.
LEAST_CLUSTER = np.array([2.0, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0])


def counted(data: Path, half: str) -> tuple[list[list[tuple[float, ...]]], NDArray[np.bool_]]:
    """Features of every person of every passage that is settled, and whether the passage holds a cluster."""
    persons, labels = [], []
    for row in assemble(data, half):
        if row["cluster"] == "unclear" or row["subject"] not in ("third", "speaker", "none"):
            continue
        policy = Policy.of(row["domain"])
        found = score.clusters(find_evidence(Doc.of(row["answer"]), row["domain"]), policy)
        persons.append([score.features(c, policy) for c in found])
        labels.append(row["cluster"] == "yes")
    return persons, np.array(labels)


def best(persons: list[list[tuple[float, ...]]], weights: Array) -> Array:
    """Features of the person with the highest score in each passage, shape (n, len(FEATURES))."""
    zero = (0.0,) * len(FEATURES)
    return np.array([max(p, key=lambda f: float(np.dot(f, weights)), default=zero) for p in persons])


def fit(persons: list[list[tuple[float, ...]]], labels: NDArray[np.bool_]) -> Array:
    """Bounded logistic regression; the person that counts is chosen again after each fit, until it stays."""
    weights = np.ones(len(FEATURES))
    solution = np.concatenate([[-3.0], weights])
    for _ in range(20):
        x = best(persons, weights)

        def loss(theta: Array, x: Array = x) -> float:
            logit = theta[0] + x @ theta[1:]
            return float(np.logaddexp(0, np.where(labels, -logit, logit)).sum() + RIDGE * (theta[1:] ** 2).sum() / 2)

        bounds = Bounds(lb=[-np.inf] + [0.0] * len(FEATURES))
        policy_holds = LinearConstraint(np.concatenate([[1.0], LEAST_CLUSTER]), lb=MARGIN)
        solution = minimize(loss, solution, method="SLSQP", bounds=bounds, constraints=[policy_holds],
                            options={"maxiter": 500, "ftol": 1e-10}).x
        if np.allclose(solution[1:], weights, atol=1e-6):
            break
        weights = solution[1:]
    return np.asarray(solution)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    persons, labels = counted(args.data, "tune")
    theta = fit(persons, labels)
    chosen = best(persons, theta[1:])
    logits = theta[0] + chosen @ theta[1:]
    # Only a person with as many attributes as the policy's cluster can be flagged, so the points divide those.
    seen = np.sort(logits[labels & (chosen[:, FEATURES.index("total")] >= 2)])
    tau = {"conservative": 0.0,
           "balanced": round(min(0.0, float(np.quantile(seen, 0.1, method="lower")) - 0.01), 4),
           "strict": round(min(0.0, float(seen[0]) - 0.01), 4)}
    held = {p: round(float(np.mean((logits[labels] > t) & (chosen[labels, FEATURES.index("total")] >= 2))), 3) for p, t in tau.items()}
    weights = {name: round(float(w), 4) for name, w in zip(FEATURES, theta[1:], strict=True)}
    record = {
        "intercept": round(float(theta[0]), 4),
        "weights": weights, "tau": tau, "held_on_tuning_half": held,
        "provenance": f"benchmarks/real_text/fit_logistic.py on the tuning half: {int(labels.sum())} passages with a "
                      f"cluster, {int((~labels).sum())} without; ridge {RIDGE}",
    }
    assert Logistic(round(float(theta[0]), 4), tuple(weights.values()), tau).logit(tuple(LEAST_CLUSTER)) > 0
    target = Path(score.__file__).with_name("evidence_logistic.json")
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
