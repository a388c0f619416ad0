"""What attacks, their references and selections are called in words, and how any name may be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.numbers import epsilon, number

ATTACKS: Mapping[str, str] = {
    "loss": "loss", "confidence": "confidence, top class", "confidence_true": "confidence, true class",
    "entropy": "entropy", "reference": "reference ratio",
    "probe": "logit probe", "lira": "LiRA", "lira_fixed": "LiRA, fixed variance", "lira_offline": "LiRA offline",
    "rmia": "RMIA", "rmia_offline": "RMIA offline",
}
REFERENCES: Mapping[str | None, str] = {None: "none", "paired": "paired", "neutral": "neutral",
                                        "population": "population"}
SELECTIONS: Mapping[str, str] = {"global": "all", "boundary": "boundary", "boundary_union": "boundary, pooled"}
LABEL_ATTACKS: Mapping[str, str] = {
    "lia_threshold": "LIA-Threshold", "lia_delta_margin": "LIA-Delta-Margin", "lira_label": "LiRA-label",
    "reference": "reference-calibrated", "likeliest": "likeliest class"}
LOSS_AT: Mapping[str, str] = {
    "predicted": "loss at the predicted label", "original": "loss at the original label",
    "secret": "loss at the secret itself", "trained": "loss at the trained label itself"}


def attack_name(row: Mapping[str, Any], *, scale: bool = True, reference: bool = True) -> str:
    """"reference ratio, neutral, logit scale": the attack of a row of a membership audit."""
    parts = [ATTACKS.get(row["attack"], str(row["attack"]).replace("_", " "))]
    if reference and row["reference_kind"] is not None:
        parts.append(REFERENCES[row["reference_kind"]])
    if scale:
        parts.append(f"{row['scale']} scale")
    return ", ".join(parts)


def label_attack_name(row: Mapping[str, Any], *, brief: bool = False) -> str:
    """"LIA-Delta-Margin, loss at the predicted label, β/α 1": `row` has the keys of `Settings.to_json()`, and tuned.

    `brief`, for a column: "LIA-Delta-Margin at predicted, β/α 1".
    """
    said = [LABEL_ATTACKS.get(row["attack"], str(row["attack"]).replace("_", " "))]
    source = row["loss_labels"]
    if source is not None and brief:
        said[0] += f" at {source}"
    elif source is not None:
        said.append(LOSS_AT.get(source, str(source)))
    threshold = row["threshold"]
    if threshold is not None:
        said.append(threshold if isinstance(threshold, str) else f"τ {number(float(threshold), 2)}")
    if row["beta"] is not None and row["alpha"]:
        said.append(f"β/α {row['beta'] / row['alpha']:g}")
    if row["margin"] not in (None, "p1-second"):
        said.append("max" if brief else str(row["margin"]))
    if row["fit"] is not None:
        said.append(str(row["fit"]))
    if row.get("tuned"):
        said.append("tuned")
    return ", ".join(said)


def condition_name(mechanism: str, budget: float | str) -> str:
    """"rr, ε = 2"; "no mechanism"."""
    return "no mechanism" if mechanism == "none" and epsilon(budget) == "∞" else f"{mechanism}, ε = {epsilon(budget)}"


def printable(text: str) -> str:
    """`text` with control characters spelled out: an id or an answer must not steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
