from __future__ import annotations

import numpy as np

from discreet.audit.membership.curves import POINTS, thin_roc
from discreet.stats import roc_curve, tpr_at_fpr


def test_points_lie_on_the_curve_and_are_few() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(9000) < 0.3
    scores = rng.normal(size=9000) + truth
    found = thin_roc(scores, truth)
    assert (found["fpr"][0], found["tpr"][0], found["fpr"][-1], found["tpr"][-1]) == (0.0, 0.0, 1.0, 1.0)
    assert 50 < len(found["fpr"]) <= POINTS + 3
    for fpr, tpr in list(zip(found["fpr"], found["tpr"], strict=True))[1::7]:
        assert tpr == tpr_at_fpr(scores, truth, fpr)
    assert len(roc_curve(scores, truth).fpr) > len(found["fpr"])


def test_ties_stay_diagonal() -> None:
    found = thin_roc(np.zeros(6), np.array([True, False] * 3))
    assert found == {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}
