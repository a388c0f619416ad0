"""A score that says the same of everybody has an AUC of one half, whatever the sample, and never an error."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.stats import auroc_estimate


@pytest.mark.parametrize("n", [5, 30, 200])
def test_a_constant_score_has_half_the_area(n: int) -> None:
    labels = np.repeat([0, 1], n)
    figure = auroc_estimate(np.zeros(2 * n), labels)
    assert figure.value == 0.5
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < 0.5 < figure.high
