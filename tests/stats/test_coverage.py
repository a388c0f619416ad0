"""Do the intervals cover? Simulated over sizes, rates and shapes of scores; `pytest -s` prints the mean widths.

Each claim is judged by an exact binomial test at .001. Order-statistic intervals are valid by construction, so they
must cover at least their level in every cell; the plain ones, which take the chosen threshold as given, do not.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from discreet.stats import (
    AucVariance,
    RocCore,
    StepCounts,
    auc_interval,
    auc_variance,
    auroc_estimate,
    bootstrap_roc,
    cohen_kappa,
    delong_logit_interval,
    fpr_at_tpr_interval,
    kappa_interval,
    percentile_interval,
    rate_interval,
    tpr_at_fpr_interval,
)
from discreet.stats.intervals import agresti_coull

Size = tuple[int, int]

SIZES = [(10, 10), (20, 20), (20, 100), (100, 20), (200, 200)]
# What audits meet: equal and unequal spreads, skew, few levels (ties), and a few records that stand out while the rest
# are like anyone's (memorised members, or easy negatives).
SHAPES = ["equal", "wide positives", "narrow positives", "exponential", "memorised few", "easy few", "five levels"]
SAMPLES = 300


def judge(cell: str, ends: object, truth: float, alternative: Literal["less", "two-sided"] = "less") -> None:
    """Ends (samples, 2) against the true value: "less" for what promises at least .95, "two-sided" for just that."""
    low, high = np.array(ends, dtype=float).T
    covered = int(((low <= truth + 1e-12) & (truth <= high + 1e-12)).sum())
    print(f"{cell}: covers {covered / low.size:.3f} of {low.size}, mean width {np.mean(high - low):.3f}")
    p_value = binomtest(covered, low.size, 0.95, alternative=alternative).pvalue
    assert p_value > 0.001, f"{cell}: covers {covered} of {low.size}, p = {p_value:.2g}"


def drawn(shape: str, auc: float, size: Size, rng: np.random.Generator) -> np.ndarray:
    """SAMPLES rows of positive and negative scores whose true AUC is `auc`."""
    (m, n), k = size, SAMPLES
    pos: np.ndarray = rng.normal(size=(k, m))
    neg: np.ndarray = rng.normal(size=(k, n))
    few = 2 * auc - 1
    if shape in {"wide positives", "narrow positives"}:
        sd = 3.0 if shape == "wide positives" else 1 / 3
        pos = sd * pos + norm.ppf(auc) * np.sqrt(1 + sd**2)
    elif shape == "exponential":
        pos, neg = auc / (1 - auc) * rng.exponential(size=(k, m)), rng.exponential(size=(k, n))
    elif shape == "memorised few":
        pos = pos + 50 * (rng.random((k, m)) < few)
    elif shape == "easy few":
        neg = neg - 50 * (rng.random((k, n)) < few)
    elif shape == "five levels":
        # With chance 2 AUC − 1 the positive's level is redrawn one step above all negatives', else it is as theirs.
        pos, neg = rng.integers(0, 4, (k, m)) + 0.0, rng.integers(0, 4, (k, n)) + 0.0
        pos[rng.random((k, m)) < few] = 4.0
    else:
        pos = pos + norm.ppf(auc) * np.sqrt(2)
    return np.concatenate([pos, neg], axis=1)


def spreads(shape: str, auc: float, size: Size, rng: np.random.Generator) -> list[AucVariance]:
    labels = np.repeat([1, 0], size)
    return [auc_variance(RocCore.of(row, labels)) for row in drawn(shape, auc, size, rng)]


def of_users(n_groups: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Users of geometric size, two classes of `n_groups`, with scores mostly their own: the unit is the user."""
    users = np.repeat(np.arange(2 * n_groups), rng.geometric(0.25, 2 * n_groups))
    own = rng.normal(size=2 * n_groups)[users]
    return users, np.sqrt(0.7) * own + np.sqrt(0.3) * rng.normal(size=users.size)


def inside(ends: tuple[float, float], truth: float) -> bool:
    return ends[0] <= truth <= ends[1]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_auc_interval(size: Size) -> None:
    """The default of small samples promises at least its level; its width stays under the worst-case binomial's."""
    rng = np.random.default_rng([4, *size])
    widths, worst_case = [], []
    for shape in SHAPES:
        pooled = []
        for auc in (0.5, 0.6, 0.75, 0.9, 0.96, 0.99):
            found = spreads(shape, auc, size, rng)
            ends = np.array([auc_interval(spread) for spread in found])
            judge(f"auc_interval, {size}, {shape}, AUC {auc}", ends, auc)
            pooled.append(ends - auc)
            widths += list(np.diff(ends))
            worst_case += [np.diff(agresti_coull(spread.auc, min(size))) for spread in found]
        judge(f"auc_interval, {size}, {shape}, all AUCs", np.concatenate(pooled), 0.0)
    assert np.mean(widths) < 0.95 * np.mean(worst_case)


@pytest.mark.parametrize(("size", "auc"), [((100, 100), 0.5), ((200, 200), 0.75), ((400, 400), 0.9), ((100, 400), 0.6)])
def test_logit_delong_where_errors_are_many(size: Size, auc: float) -> None:
    rng = np.random.default_rng([5, *size])
    for shape in SHAPES:
        ends = [delong_logit_interval(spread) for spread in spreads(shape, auc, size, rng)]
        judge(f"logit DeLong, {size}, {shape}, AUC {auc}", ends, auc, "two-sided")


@pytest.mark.parametrize("size", [(75, 75), (100, 400), (300, 300)], ids=str)
def test_the_estimate_where_it_changes_its_method(size: Size) -> None:
    """Near 30 misordered examples the sample itself decides between the two intervals."""
    rng = np.random.default_rng([6, *size])
    labels, auc = np.repeat([1, 0], size), 1 - 30 / min(size)
    for shape in ("equal", "wide positives", "memorised few"):
        found = [auroc_estimate(row, labels) for row in drawn(shape, auc, size, rng)]
        assert len({one.method for one in found}) == 2
        judge(f"auroc_estimate, {size}, {shape}, AUC {auc:.2f}", [(one.low, one.high) for one in found], auc)


@pytest.mark.parametrize("n_groups", [20, 60])
@pytest.mark.parametrize("mixed", [False, True], ids=["one class a user", "both classes"])
def test_auc_interval_over_users(n_groups: int, mixed: bool) -> None:
    """Ignoring that records belong to users must fail the test."""
    rng = np.random.default_rng([7, n_groups, mixed])
    for auc in (0.5, 0.75, 0.9, 0.96):
        ends, ignoring = [], 0
        for _ in range(250):
            users, scores = of_users(n_groups, rng)
            labels = rng.integers(0, 2, users.size) if mixed else users % 2
            core = RocCore.of(scores + labels * norm.ppf(auc) * np.sqrt(2), labels)
            ends.append(auc_interval(auc_variance(core, users)))
            ignoring += inside(auc_interval(auc_variance(core)), auc)
        judge(f"auc_interval, {n_groups} users a class, mixed {mixed}, AUC {auc}", ends, auc)
        assert mixed or ignoring / 250 < 0.9


@pytest.mark.parametrize(("n", "auc"), [(60, 0.6), (100, 0.75), (200, 0.9)])
def test_percentile_bootstrap_where_it_claims_to(n: int, auc: float) -> None:
    """Not claimed near AUC 1 or with few examples."""
    rng = np.random.default_rng(100 + n)
    labels = np.repeat([1, 0], n)
    ends = [percentile_interval(bootstrap_roc(RocCore.of(row, labels), [StepCounts.auroc], rng, n_resamples=300)[0])
            for row in drawn("exponential", auc, (n, n), rng)]
    judge(f"percentile bootstrap, {n} + {n}, AUC {auc}", ends, auc, "two-sided")


def normals(n_pos: int, n_neg: int, shift: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat([1, 0], [n_pos, n_neg])
    return rng.normal(size=labels.size) + shift * labels, labels


@pytest.mark.parametrize("size", [(50, 100), (500, 100), (50, 500), (500, 1000), (50, 4000)], ids=str)
@pytest.mark.parametrize("fpr", [0.01, 0.05])
def test_tpr_at_fpr(size: Size, fpr: float) -> None:
    rng = np.random.default_rng([1, *size])
    for shift in (0.0, 1.0, 2.5):
        ends = [tpr_at_fpr_interval(*normals(*size, shift, rng), fpr) for _ in range(SAMPLES)]
        judge(f"TPR at FPR {fpr}, {size}, shift {shift}", ends, norm.sf(norm.isf(fpr) - shift))


@pytest.mark.parametrize("size", [(100, 100), (500, 200), (2000, 2000)], ids=str)
@pytest.mark.parametrize("tpr", [0.9, 0.95])
def test_fpr_at_tpr(size: Size, tpr: float) -> None:
    rng = np.random.default_rng([2, *size])
    for shift in (0.0, 1.0, 2.5):
        ends = [fpr_at_tpr_interval(*normals(*size, shift, rng), tpr) for _ in range(SAMPLES)]
        judge(f"FPR at TPR {tpr}, {size}, shift {shift}", ends, norm.sf(norm.isf(tpr) + shift))


def test_tied_scores() -> None:
    """Ten levels: at FPR .25 of uniform levels the best rule passes the two upper ones, P(positive there) = .36."""
    rng = np.random.default_rng(3)
    labels = np.repeat([1, 0], [200, 300])
    rows = np.concatenate([rng.integers(0, 10, (2, SAMPLES, 200)).max(axis=0), rng.integers(0, 10, (SAMPLES, 300))], 1)
    judge("TPR at FPR .25, ten levels", [tpr_at_fpr_interval(row, labels, 0.25) for row in rows], 1 - 0.8**2)


@pytest.mark.parametrize("n_groups", [60, 200])
def test_rates_over_users(n_groups: int) -> None:
    """Approximate, so not by construction."""
    rng = np.random.default_rng([6, n_groups])
    for shift in (0.0, 1.5):
        ends = []
        for _ in range(SAMPLES):
            users, scores = of_users(n_groups, rng)
            ends.append(tpr_at_fpr_interval(scores + shift * (users % 2), users % 2, 0.1, groups=users))
        judge(f"TPR at FPR .1, {n_groups} users a class, shift {shift}", ends, norm.sf(norm.isf(0.1) - shift))


@pytest.mark.parametrize("n_groups", [20, 100])
def test_shares_over_users(n_groups: int) -> None:
    """Every user has a rate of their own (beta, correlation ½) and a geometric number of answers."""
    rng = np.random.default_rng([7, n_groups])
    for truth in (0.05, 0.3, 0.5):
        ends, ignoring = [], 0
        for _ in range(SAMPLES):
            users = np.repeat(np.arange(n_groups), rng.geometric(0.25, n_groups))
            hits = rng.random(users.size) < rng.beta(truth, 1 - truth, n_groups)[users]
            ends.append(rate_interval(hits, groups=users))
            ignoring += inside(rate_interval(hits), truth)
        judge(f"share {truth} over {n_groups} users", ends, truth)
        assert ignoring / SAMPLES < 0.9


@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.2), (0.95, 0.05), (0.4, 0.3, 0.3)], ids=str)
def test_kappa_interval(n: int, shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng([1, n, len(shares)])
    margin = np.array(shares)
    for truth in (0.0, 0.4, 0.8, 0.95):
        joint = truth * np.diag(margin) + (1 - truth) * np.outer(margin, margin)
        tables = rng.multinomial(n, joint.ravel(), 500).reshape(-1, margin.size, margin.size)
        defined = [table for table in tables if cohen_kappa(table).value is not None]
        judge(f"kappa_interval, n {n}, shares {shares}, κ {truth}", [kappa_interval(one)[0] for one in defined], truth)
