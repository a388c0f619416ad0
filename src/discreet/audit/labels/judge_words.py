"""Label attacks and figures in words."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from discreet.core.records import Estimate

NAMES = {"lia_threshold": "LIA-Threshold", "lia_delta_margin": "LIA-Delta-Margin", "lira_label": "LiRA-label",
         "reference": "reference-calibrated", "likeliest": "likeliest class"}
SOURCES = {"predicted": "loss at the predicted label", "original": "loss at the original label",
           "secret": "loss at the secret itself", "trained": "loss at the trained label itself"}
OF = {"secret": "the secret label", "trained": "the label that was trained on"}


def attack_words(row: Mapping[str, Any], *, brief: bool = False) -> str:
    """"LIA-Delta-Margin, loss at the predicted label, β/α 1": `row` has the keys of `Settings.to_json()`, and tuned.

    `brief`, for a column: "LIA-Delta-Margin at predicted, β/α 1".
    """
    said = [NAMES.get(row["attack"], str(row["attack"]).replace("_", " "))]
    source = row["loss_labels"]
    if source is not None and brief:
        said[0] += f" at {source}"
    elif source is not None:
        said.append(SOURCES.get(source, str(source)))
    threshold = row["threshold"]
    if threshold is not None:
        said.append(threshold if isinstance(threshold, str) else f"τ {short(float(threshold))}")
    if row["beta"] is not None and row["alpha"]:
        said.append(f"β/α {row['beta'] / row['alpha']:g}")
    if row["margin"] not in (None, "p1-second"):
        said.append("max" if brief else str(row["margin"]))
    if row["fit"] is not None:
        said.append(str(row["fit"]))
    if row.get("tuned"):
        said.append("tuned")
    return ", ".join(said)


def condition_words(mechanism: str, epsilon: float | str) -> str:
    """"randomised by rr at ε = 2"; "no mechanism"."""
    if mechanism == "none" and epsilon in ("inf", inf):
        return "no mechanism"
    return f"{mechanism}, ε = {epsilon_words(epsilon)}"


def epsilon_words(epsilon: float | str) -> str:
    """"2", "∞"."""
    return "∞" if epsilon in ("inf", inf) else f"{float(epsilon):g}"


def percent(estimate: Estimate) -> str:
    """"61.2% (56.3% to 66.0%) of 400"; "canaries" or the like goes after it."""
    if estimate.value is None:
        return "unresolved"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.1%}"
    return f"{estimate.value:.1%} ({estimate.low:.1%} to {estimate.high:.1%}) of {estimate.n:,}"


def p_words(p: float) -> str:
    """".034"; "below .001"."""
    return "below .001" if p < 0.001 else short(p, 3)


def short(value: float, digits: int = 2) -> str:
    """".52"."""
    said = f"{value:.{digits}f}"
    return said[1:] if said.startswith("0.") else said
