"""Do the intervals of the AUC cover? Simulated over sizes, AUCs and shapes of scores; `pytest -s` prints the table.

The shapes are those that audits meet: equal and unequal spreads, skew, a few levels only (ties), and a mixture in
which a few records stand out and the rest are like anyone's (memorised members, or easy negatives).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from discreet.stats import AucVariance, RocCore, auc_interval, auc_variance, auroc_estimate, delong_logit_interval
from discreet.stats.intervals import agresti_coull

SIZES = [(10, 10), (20, 20), (20, 100), (100, 20), (50, 50), (200, 200)]
SHAPES = ["equal", "wide positives", "narrow positives", "exponential", "memorised few", "easy few", "five levels"]
SAMPLES = 300


def draw(shape: str, auc: float, m: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """SAMPLES rows of m positive and n negative scores whose true AUC is `auc`."""
    pos, neg = rng.normal(size=(SAMPLES, m)), rng.normal(size=(SAMPLES, n))
    if shape in {"wide positives", "narrow positives"}:
        sd = 3.0 if shape == "wide positives" else 1 / 3
        return sd * pos + norm.ppf(auc) * np.sqrt(1 + sd**2), neg
    if shape == "exponential":
        return auc / (1 - auc) * rng.exponential(size=(SAMPLES, m)), rng.exponential(size=(SAMPLES, n))
    if shape == "memorised few":
        return pos + 50 * (rng.random((SAMPLES, m)) < 2 * auc - 1), neg
    if shape == "easy few":
        return pos, neg - 50 * (rng.random((SAMPLES, n)) < 2 * auc - 1)
    if shape == "five levels":
        # With chance w the positive's level is redrawn one step above all negatives', else it is as theirs.
        levels = rng.integers(0, 4, (SAMPLES, m)) + 0.0
        levels[rng.random((SAMPLES, m)) < 2 * auc - 1] = 4.0
        return levels, rng.integers(0, 4, (SAMPLES, n)) + 0.0
    return pos + norm.ppf(auc) * np.sqrt(2), neg


def spreads(shape: str, auc: float, m: int, n: int, rng: np.random.Generator) -> list[AucVariance]:
    labels = np.repeat([1, 0], [m, n])
    rows = np.concatenate(draw(shape, auc, m, n, rng), axis=1)
    return [auc_variance(RocCore.of(row, labels)) for row in rows]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_auc_interval_covers(size: tuple[int, int], judge_coverage: Callable[..., None]) -> None:
    """The default of small samples promises at least its level; its width stays under the worst-case binomial's."""
    rng = np.random.default_rng([4, *size])
    widths, worst_case = [], []
    for shape in SHAPES:
        pooled = []
        for auc in (0.5, 0.6, 0.75, 0.9, 0.96, 0.99):
            found = spreads(shape, auc, *size, rng)
            low, high = np.array([auc_interval(spread) for spread in found]).T
            judge_coverage(f"auc_interval, {size}, {shape}, AUC {auc}", low, high, auc)
            pooled.append([low - auc, high - auc])
            widths += list(high - low)
            worst_case += [np.diff(agresti_coull(spread.auc, min(size)))[0] for spread in found]
        judge_coverage(f"auc_interval, {size}, {shape}, all AUCs", *np.concatenate(pooled, axis=1), 0.0)
    print(f"{size}: mean width {np.mean(widths):.3f}, worst-case binomial {np.mean(worst_case):.3f}")
    assert np.mean(widths) < 0.95 * np.mean(worst_case)


def test_twenty_and_twenty_at_auc_96(judge_coverage: Callable[..., None]) -> None:
    """The cell that the plain interval is known to miss (Wald on DeLong's variance)."""
    rng = np.random.default_rng(96)
    plain_covers, low, high = 0, [], []
    for shape in ("equal", "wide positives", "exponential"):
        for spread in spreads(shape, 0.96, 20, 20, rng):
            plain_covers += abs(spread.auc - 0.96) <= norm.ppf(0.975) * np.sqrt(spread.variance)
            ends = auc_interval(spread)
            low.append(ends.low)
            high.append(ends.high)
    assert binomtest(plain_covers, len(low), 0.95, alternative="less").pvalue < 0.001
    print(f"plain DeLong covers {plain_covers / len(low):.3f}")
    judge_coverage("auc_interval, 20 + 20, AUC .96", np.array(low), np.array(high), 0.96)


@pytest.mark.parametrize(("size", "auc"), [((100, 100), 0.5), ((200, 200), 0.75), ((400, 400), 0.9), ((100, 400), 0.6)])
def test_logit_delong_covers_where_errors_are_many(
    size: tuple[int, int], auc: float, judge_coverage: Callable[..., None]
) -> None:
    rng = np.random.default_rng([5, *size])
    for shape in SHAPES:
        low, high = np.array([delong_logit_interval(spread) for spread in spreads(shape, auc, *size, rng)]).T
        judge_coverage(f"logit DeLong, {size}, {shape}, AUC {auc}", low, high, auc, alternative="two-sided")


@pytest.mark.parametrize("size", [(75, 75), (100, 400), (150, 150), (300, 300)], ids=str)
def test_the_estimate_covers_where_it_changes_its_method(
    size: tuple[int, int], judge_coverage: Callable[..., None]
) -> None:
    """Near 30 misordered examples the sample itself decides between the two intervals."""
    rng = np.random.default_rng([6, *size])
    labels = np.repeat([1, 0], size)
    auc = 1 - 30 / min(size)
    for shape in ("equal", "wide positives", "memorised few"):
        found = [auroc_estimate(row, labels) for row in np.concatenate(draw(shape, auc, *size, rng), axis=1)]
        low, high = np.array([(e.low, e.high) for e in found]).T
        assert len({e.method for e in found}) == 2
        judge_coverage(f"auroc_estimate, {size}, {shape}, AUC {auc:.2f}", low, high, auc)


@pytest.mark.parametrize("n_groups", [20, 60])
@pytest.mark.parametrize("mixed", [False, True], ids=["one class a user", "both classes"])
def test_auc_interval_covers_over_users(n_groups: int, mixed: bool, judge_coverage: Callable[..., None]) -> None:
    """Users of geometric size with scores mostly their own: the unit is the user. Ignoring that must fail the test."""
    rng = np.random.default_rng([7, n_groups, mixed])
    for auc in (0.5, 0.75, 0.9, 0.96):
        ends, ignoring = [], 0
        for _ in range(250):
            users = np.repeat(np.arange(2 * n_groups), rng.geometric(0.25, 2 * n_groups))
            labels = rng.integers(0, 2, users.size) if mixed else users % 2
            own = rng.normal(size=2 * n_groups)[users]
            scores = np.sqrt(0.7) * own + np.sqrt(0.3) * rng.normal(size=users.size)
            scores += labels * norm.ppf(auc) * np.sqrt(2)
            core = RocCore.of(scores, labels)
            ends.append(auc_interval(auc_variance(core, users)))
            alone = auc_interval(auc_variance(core))
            ignoring += alone.low <= auc <= alone.high
        low, high = np.array(ends).T
        judge_coverage(f"auc_interval, {n_groups} users a class, mixed {mixed}, AUC {auc}", low, high, auc)
        if not mixed:
            assert ignoring / 250 < 0.9
