
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from discreet.core.errors import MissingExtraError
from discreet.stats.arrays import (
    binary_labels,
    counts,
    finite_scores,
    group_codes,
    midranks,
    scipy_module,
    scored_labels,
    share,
)


@pytest.mark.parametrize(("read", "given", "says"), [
    (finite_scores, [0.1, np.nan, 0.3, np.nan], r"scores\[1\] is nan \(2 such\)"),
    (finite_scores, [0.1, np.inf], r"scores\[1\] is inf \(1 such\)"),
    (finite_scores, [[0.1], [0.2]], r"scores have shape \(2, 1\)"),
    (finite_scores, ["a", "b"], "scores hold values of type <U1: expected numbers"),
    (finite_scores, [None, 1.0], "scores hold values of type object"),
    (finite_scores, [1 + 2j], "scores hold values of type complex128"),
    (binary_labels, [0, 2, 1, 2], r"labels\[1\] is 2 \(2 such\): expected only 0 and 1"),
    (binary_labels, [0.0, 0.5], r"labels\[1\] is 0.5"),
    (binary_labels, [0.0, np.nan], r"labels\[1\] is nan"),
    (binary_labels, [-1, 1], r"labels\[0\] is -1"),
    (binary_labels, ["0", "1"], "labels hold values of type <U1: expected 0 and 1"),
    (lambda given: scored_labels([0.1, 0.2, 0.3], given), [0, 1], "labels have length 2: expected 3"),
    (lambda given: group_codes(given, 2), ["a"], "groups have length 1: expected 2"),
    (lambda given: group_codes(given, 2), [1.0, np.nan], r"groups\[1\] is nan"),
    (lambda given: share(given, "tpr"), 1.5, r"tpr is 1\.5"),
    (lambda given: share(given, "level", open_interval=True), 1.0, r"level is 1\.0: expected a number strictly from 0"),
    (lambda given: share(given, "fpr"), float("nan"), "fpr is nan"),
    *[(lambda given: counts(*given), pair, "expected whole numbers") for pair in [(3, 2), (-1, 2), (0, 0), (1.5, 2)]],
])
def test_what_cannot_be_is_named(read: Callable[[Any], Any], given: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read(given)


def test_what_may_be_given() -> None:
    for labels in ([0, 1, 1], [0.0, 1.0, 1.0], [False, True, True], np.array([0, 1, 1], dtype=np.uint8)):
        assert binary_labels(labels).tolist() == [False, True, True]
    assert group_codes(["u2", "u1", "u2"], 3).tolist() == [1, 0, 1]
    assert group_codes(np.array([7.0, 3.0, 7.0]), 3).tolist() == [1, 0, 1]
    assert share(1.0, "tpr") == 1.0


@given(st.lists(st.integers(0, 9)))
def test_midranks_are_scipys(values: list[int]) -> None:
    np.testing.assert_array_equal(midranks(np.array(values, dtype=float)), rankdata(values))


def test_the_core_runs_where_scipy_is_not_installed() -> None:
    """Sort, reweight, bootstrap, AUC with its interval: numpy only. What needs scipy says so."""
    program = """
import sys
sys.modules["scipy"] = None  # import scipy now raises ImportError
import numpy as np
from discreet import stats
from discreet.core.errors import MissingExtraError

labels = np.repeat([1, 0], 100)
scores = np.random.default_rng(0).normal(size=200) + labels
core = stats.RocCore.of(scores, labels)
draws = stats.bootstrap_roc(core, [stats.StepCounts.auroc], np.random.default_rng(0), n_resamples=20)
assert draws.shape == (1, 20)
assert stats.auroc_estimate(scores, labels).resolved
assert stats.auroc_estimate(scores[:30], [1, 0] * 15).resolved
assert stats.auroc_estimate(scores, labels, groups=np.arange(200) // 2).resolved
assert stats.kappa_estimate([0, 1, 0, 1], [0, 1, 1, 1]).resolved
assert stats.rate_estimate(3, 10, method="wilson").resolved
assert stats.delong_test(scores, -scores, labels).p_value < 0.05
for needs in (
    lambda: stats.clopper_pearson(3, 10), lambda: stats.tpr_at_fpr_estimate(scores, labels, 0.05),
    lambda: stats.fisher_exact(1, 5, 2, 5), lambda: stats.mcnemar_exact(1, 5),
):
    try:
        needs()
    except MissingExtraError as error:
        print(error)
"""
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.count("pip install 'discreet[audit]'") == 4
    assert "an exact interval needs the package 'scipy'" in printed


def test_scipy_modules_are_found_here() -> None:
    assert scipy_module("special", "a test").bdtr(0, 1, 0.5) == 0.5
    with pytest.raises(MissingExtraError, match="a test needs the package 'scipy'"):
        scipy_module("no_such_module", "a test")
