"""Rows of two score tables of the golden runs: several targets of a membership audit, several mechanisms of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

Row = dict[str, Any]

CLASSES, QUERIES = 3, 2

SEVERAL_MODELS: list[Row] = [
    {"model": "sharp", "model_role": "target", "reference_kind": None, "recipe": "mlp", "seed": 1},
    {"model": "blunt", "model_role": "target", "reference_kind": None, "recipe": "mlp", "seed": 2},
    {"model": "honest", "model_role": "reference", "reference_kind": "neutral", "recipe": "mlp", "seed": 4},
    {"model": "honest-too", "model_role": "reference", "reference_kind": "neutral", "recipe": "rnn", "seed": 5},
    {"model": "selector", "model_role": "selection", "reference_kind": None, "recipe": "mlp", "seed": 6},
    {"model": "nothing", "model_role": "placebo", "reference_kind": None, "recipe": "mlp", "seed": 7},
]
SEVERAL = 240


def several_examples() -> list[Row]:
    rng = np.random.default_rng(21)
    label = rng.integers(0, CLASSES, SEVERAL)
    return [{"example": f"x{n}", "label": int(label[n]), "group": f"u{n // 2}",
             "category": "|".join(name for name, by in (("abuse", 2), ("fraud", 3)) if n // 2 % by == 0) or None,
             "split": "train" if n < 80 else "eval"} for n in range(SEVERAL)]


def several_scores() -> list[Row]:
    """Two targets, four classes as probabilities, two queries for each example; members are the first 80 examples."""
    rng = np.random.default_rng(22)
    label = np.array([row["label"] for row in several_examples()])
    hard = rng.normal(0.6, 1.2, SEVERAL)
    leaks = {"sharp": 2.0, "blunt": 0.1}
    found = []
    for model in SEVERAL_MODELS:
        name, own = model["model"], rng.normal(0, 0.5, SEVERAL)
        inside = (np.arange(SEVERAL) < 80) & (name in leaks)
        for query in range(QUERIES):
            logits = rng.normal(0, 0.3, (SEVERAL, CLASSES))
            logits[np.arange(SEVERAL), label] += hard + own + leaks.get(name, 0.0) * inside
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            shares = odds / odds.sum(axis=1, keepdims=True)
            found += [{"model": name, "example": f"x{n}", "query": f"q{query}", "member": str(bool(inside[n])).lower(),
                       **{f"prob_{k}": f"{shares[n, k]:.6f}" for k in range(CLASSES)}} for n in range(SEVERAL)]
    return found


def label_rows() -> list[Row]:
    """Five classes, three mechanisms of one seed and one of another, groups, training and held-out rows."""
    rng = np.random.default_rng(41)
    roles = np.repeat(["canary", "placebo", "train", "heldout"], [150, 150, 40, 40])
    n, k = roles.size, 5
    original = rng.integers(0, k, n)
    features = 1.5 * np.eye(k)[original] + 0.8 * rng.normal(size=(n, k))
    drawn = {seed: np.where(np.isin(roles, ["canary", "placebo"]), rng.integers(0, k, n), original)
             for seed in ("1", "2")}
    found = []
    for model, role, seed, mechanism, epsilon, memory in (
            ("plain", "target", "1", "none", "inf", 1.2), ("rr-1", "target", "1", "rr", "1.0", 0.6),
            ("alibi-4", "target", "1", "alibi", "4.0", 0.8), ("plain-2", "target", "2", "none", "inf", 0.0),
            ("reference", "reference", "1", "none", "inf", 1.2)):
        secret = drawn[seed] if role == "target" else np.where(
            np.isin(roles, ["canary", "placebo"]), rng.integers(0, k, n), original)
        keep = {"inf": 1.0, "1.0": np.e / (np.e + k - 1), "4.0": np.exp(4) / (np.exp(4) + k - 1)}[epsilon]
        other = (secret + rng.integers(1, k, n)) % k
        trained = np.where(rng.random(n) < keep, secret, other)
        seen = np.isin(roles, ["canary", "train"])
        logits = features + 0.4 * rng.normal(size=(n, k)) + memory * np.eye(k)[trained] * seen[:, None]
        found += [{
            "model": model, "model_role": role, "mechanism": mechanism, "epsilon": epsilon, "seed": seed,
            "recipe": "mlp", "example": f"c{row}", "example_role": roles[row], "group": f"g{row // 2}",
            "label_original": original[row], "label_secret": secret[row],
            "label_trained": None if roles[row] == "heldout" else trained[row], "planted": 0,
            **{f"logit_{c}": f"{logits[row, c]:.5f}" for c in range(k)}} for row in range(n)]
    return found
