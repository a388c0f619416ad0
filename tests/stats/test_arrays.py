
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from discreet.core.errors import MissingExtraError
from discreet.stats.arrays import binary_labels, counts, finite_scores, group_codes, scipy_module, scored_labels, share


@pytest.mark.parametrize(("scores", "says"), [
    ([0.1, np.nan, 0.3, np.nan], r"scores\[1\] is nan \(2 such\)"),
    ([0.1, np.inf], r"scores\[1\] is inf \(1 such\)"),
    ([[0.1], [0.2]], r"scores have shape \(2, 1\)"),
    (["a", "b"], "scores hold values of type <U1: expected numbers"),
    ([None, 1.0], "scores hold values of type object"),
    ([1 + 2j], "scores hold values of type complex128"),
])
def test_bad_scores_are_named(scores: list[object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        finite_scores(scores)  # type: ignore[arg-type]


@pytest.mark.parametrize(("labels", "says"), [
    ([0, 2, 1, 2], r"labels\[1\] is 2 \(2 such\): expected only 0 and 1"),
    ([0.0, 0.5], r"labels\[1\] is 0.5"),
    ([0.0, np.nan], r"labels\[1\] is nan"),
    ([-1, 1], r"labels\[0\] is -1"),
    (["0", "1"], "labels hold values of type <U1: expected 0 and 1"),
])
def test_bad_labels_are_named(labels: list[object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        binary_labels(labels)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "labels", [[0, 1, 1], [0.0, 1.0, 1.0], [False, True, True], np.array([0, 1, 1], dtype=np.uint8)]
)
def test_labels_of_any_numeric_type(labels: list[object]) -> None:
    assert binary_labels(labels).tolist() == [False, True, True]  # type: ignore[arg-type]


def test_unequal_lengths_are_named() -> None:
    with pytest.raises(ValueError, match="labels have length 2: expected 3"):
        scored_labels([0.1, 0.2, 0.3], [0, 1])
    with pytest.raises(ValueError, match="groups have length 1: expected 2"):
        group_codes(["a"], 2)


def test_groups_of_any_sortable_type() -> None:
    assert group_codes(["u2", "u1", "u2"], 3).tolist() == [1, 0, 1]
    assert group_codes(np.array([7.0, 3.0, 7.0]), 3).tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match=r"groups\[1\] is nan"):
        group_codes([1.0, np.nan], 2)


def test_shares_and_counts_have_ranges() -> None:
    assert share(1.0, "tpr") == 1.0
    with pytest.raises(ValueError, match=r"tpr is 1\.5"):
        share(1.5, "tpr")
    with pytest.raises(ValueError, match=r"level is 1\.0: expected a number strictly from 0 to 1"):
        share(1.0, "level", open_interval=True)
    with pytest.raises(ValueError, match="fpr is nan"):
        share(float("nan"), "fpr")
    for k, n in [(3, 2), (-1, 2), (0, 0), (1.5, 2)]:
        with pytest.raises(ValueError, match="expected whole numbers"):
            counts(k, n)  # type: ignore[arg-type]


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
