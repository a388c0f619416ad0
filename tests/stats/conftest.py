"""One judge for every claim of coverage: an exact binomial test at .001, with the mean width printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from scipy.stats import binomtest

Judge = Callable[..., None]


@pytest.fixture
def judge_coverage() -> Judge:
    """`judge(cell, low, high, truth)`: arrays of ends over independent samples against the true value.

    `alternative="less"` for intervals that promise at least their level, "two-sided" for those that promise it.
    """

    def judge(
        cell: str, low: np.ndarray, high: np.ndarray, truth: float, *, level: float = 0.95,
        alternative: Literal["less", "two-sided"] = "less",
    ) -> None:
        slack = 1e-12
        covered = int(((low <= truth + slack) & (truth <= high + slack)).sum())
        width = float(np.mean(high - low))
        p_value = binomtest(covered, low.size, level, alternative=alternative).pvalue
        print(f"{cell}: covers {covered / low.size:.3f} of {low.size}, mean width {width:.3f}")
        assert p_value > 0.001, f"{cell}: covers {covered} of {low.size} at level {level}, p = {p_value:.2g}"

    return judge
