"""Figures of a fitted guard's scores on texts whose side is known: for its card, and to set thresholds by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.core.records import Estimate
from discreet.guard.detector import Scores
from discreet.stats import auroc_estimate, fpr_at_tpr_estimate, share_estimate

Figures = dict[str, Estimate]
UNIT = "text"


def side_figures(scores: Scores, unsafe: NDArray[np.bool_], points: Mapping[str, float]) -> dict[str, Figures]:
    """AUROC, FPR95, FPR90, and TPR and FPR at each operating point; `kept` without abstentions and `full` with all.

    Under `abstain` stands the share of abstentions on each side.
    """
    every = np.ones(unsafe.size, dtype=np.bool_)
    return {
        "kept": _population(scores.delta, unsafe, scores.kept, points),
        "full": _population(scores.delta, unsafe, every, points),
        "abstain": {
            "safe": share_estimate(scores.abstains[~unsafe], unit=UNIT, of="safe texts"),
            "unsafe": share_estimate(scores.abstains[unsafe], unit=UNIT, of="unsafe texts"),
        },
    }


def _population(delta: NDArray[np.float64], unsafe: NDArray[np.bool_], among: NDArray[np.bool_],
                points: Mapping[str, float]) -> Figures:
    given, labels = delta[among], unsafe[among]
    found = {
        "auroc": auroc_estimate(given, labels, unit=UNIT),
        "fpr95": fpr_at_tpr_estimate(given, labels, 0.95, unit=UNIT),
        "fpr90": fpr_at_tpr_estimate(given, labels, 0.90, unit=UNIT),
    }
    for name, tau in points.items():
        found[f"tpr_{name}"] = share_estimate(given[labels] > tau, unit=UNIT, of="unsafe texts")
        found[f"fpr_{name}"] = share_estimate(given[~labels] > tau, unit=UNIT, of="safe texts")
    return found
