from __future__ import annotations

import subprocess
import sys

import pytest

import discreet.stats
from discreet.core.errors import MissingExtraError
from discreet.stats.extras import scipy_module


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_the_core_runs_where_scipy_is_not_installed() -> None:
    """Sort, reweight, bootstrap, AUC with its interval: numpy only. What needs scipy says so."""
    printed = run("""
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
""")
    assert printed.count("pip install 'discreet[audit]'") == 4
    assert "an exact interval needs the package 'scipy'" in printed


def test_importing_brings_no_heavy_package() -> None:
    printed = run("import sys, discreet.stats; print({'scipy', 'sklearn', 'pandas', 'torch'} & set(sys.modules))")
    assert printed.strip() == "set()"


def test_scipy_modules_are_found_here() -> None:
    assert scipy_module("special", "a test").bdtr(0, 1, 0.5) == 0.5
    with pytest.raises(MissingExtraError, match="a test needs the package 'scipy'"):
        scipy_module("no_such_module", "a test")


def test_public_names_exist_and_are_sorted_and_documented() -> None:
    names = discreet.stats.__all__
    assert list(names) == sorted(names)
    for name in names:
        assert getattr(discreet.stats, name).__doc__ or name == "Statistic"
