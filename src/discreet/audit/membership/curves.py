"""ROC curves thin enough to be written into a report: their corners near evenly spaced false positive rates in logs."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.audit.membership.plan import Plan
from discreet.core.types import BoolArray, FloatArray
from discreet.stats import RocCore

POINTS = 200


def thin_roc(scores: FloatArray, truth: BoolArray) -> dict[str, list[float]]:
    """`fpr` and `tpr`: the highest TPR at up to `POINTS` attainable FPRs, from 0 to 1; both classes must be there."""
    curve = RocCore.of(scores, truth).curve()
    n_neg = int((~truth).sum())
    wanted = np.unique(np.concatenate([[0], np.geomspace(1, n_neg, POINTS).round()])) / n_neg
    last = np.searchsorted(curve.fpr, wanted + 1e-12, side="right") - 1
    last = np.unique(np.append(last, 0))
    return {"fpr": curve.fpr[last].tolist(), "tpr": curve.tpr[last].tolist()}


def row_curve(plan: Plan) -> dict[str, Any] | None:
    """Curves of a row's target and placebo, with what the row asks; None where a side is empty."""
    rows = plan.rows
    truth = plan.member[rows] == 1
    if plan.scored.target is None or not truth.any() or truth.all():
        return None
    asked = plan.asked
    return {
        "target": asked.target, "attack": asked.attack, "scale": asked.scale, "reference_kind": asked.reference_kind,
        "selection": asked.selection, "nonmembers": asked.nonmembers, "oracle": asked.oracle,
        "curve": thin_roc(plan.scored.target[rows], truth),
        "placebo": None if plan.scored.placebo is None else thin_roc(plan.scored.placebo[rows], truth),
    }
