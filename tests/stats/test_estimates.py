
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.core.records import Estimate
from discreet.stats import (
    auroc,
    auroc_estimate,
    clopper_pearson,
    fpr_at_tpr,
    fpr_at_tpr_estimate,
    kappa_estimate,
    precision_recall_estimates,
    rate_estimate,
    share_estimate,
    tpr_at_fpr,
    tpr_at_fpr_estimate,
    wilson,
)

LABELS = np.repeat([1, 0], [120, 150])
SCORES = np.random.default_rng(0).normal(size=270) + LABELS
USERS = np.concatenate([np.arange(120) // 2, 1000 + np.arange(150) // 3])


def ends(estimate: Estimate) -> tuple[float, float, float]:
    assert estimate.low is not None
    assert estimate.value is not None
    assert estimate.high is not None
    return estimate.low, estimate.value, estimate.high


@st.composite
def any_sample(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = draw(st.integers(0, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = (rng.random(n) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))).astype(int)
    return rng.normal(size=n).round(draw(st.integers(0, 3))), labels, rng.integers(0, 8, n)


@example((np.array([1.0, 0.0, -1.0]), np.array([0, 1, 1]), np.array([4, 3, 3])), False, 0.01)
@given(any_sample(), st.booleans(), st.sampled_from([0.01, 0.05, 0.5, 0.95]))
def test_an_estimate_is_a_figure_inside_its_interval_or_a_reason(
    data: tuple[np.ndarray, np.ndarray, np.ndarray], grouped: bool, rate: float
) -> None:
    scores, labels, users = data
    groups = users if grouped else None
    flags = (scores > 0).astype(int)
    found = [
        auroc_estimate(scores, labels, groups=groups),
        tpr_at_fpr_estimate(scores, labels, rate, groups=groups),
        fpr_at_tpr_estimate(scores, labels, rate, groups=groups),
        share_estimate(labels, groups=groups),
        *precision_recall_estimates(flags, labels, groups=groups),
    ]
    if scores.size:
        found.append(kappa_estimate(flags, labels))
    for estimate in found:
        assert set(estimate.to_json()) == set(Estimate.__slots__)
        if estimate.resolved:
            low, value, high = ends(estimate)
            assert -1 <= low <= value <= high <= 1
            assert estimate.method
            assert estimate.reason is None
        else:
            assert estimate.reason
            assert estimate.low is estimate.high is None


def test_estimates_carry_the_figure_and_the_sample() -> None:
    for estimate, value in [
        (auroc_estimate(SCORES, LABELS), auroc(SCORES, LABELS)),
        (tpr_at_fpr_estimate(SCORES, LABELS, 0.05), tpr_at_fpr(SCORES, LABELS, 0.05)),
        (fpr_at_tpr_estimate(SCORES, LABELS, 0.9), fpr_at_tpr(SCORES, LABELS, 0.9)),
    ]:
        assert estimate.value == value
        assert (estimate.n, estimate.n_pos, estimate.n_neg, estimate.unit) == (270, 120, 150, "example")
    by_user = auroc_estimate(SCORES, LABELS, groups=USERS, unit="user", level=0.9)
    assert (by_user.n, by_user.n_pos, by_user.n_neg, by_user.unit, by_user.level) == (110, 60, 50, "user", 0.9)
    assert by_user.value == auroc(SCORES, LABELS)


def test_the_method_of_the_auc_follows_the_sample() -> None:
    assert "logit-scale DeLong" in auroc_estimate(SCORES, np.arange(270) % 2).method
    assert "effective n of DeLong" in auroc_estimate(SCORES[100:140], LABELS[100:140]).method
    assert "effective n of DeLong" in auroc_estimate(SCORES + 5 * LABELS, LABELS).method
    assert "Obuchowski" in auroc_estimate(SCORES, LABELS, groups=USERS).method
    assert "effective n of DeLong" in auroc_estimate(SCORES, LABELS, method="score").method
    low, value, high = ends(auroc_estimate(SCORES + 20 * LABELS, LABELS))
    assert 0.95 < low < value == high == 1.0
    # A score that says the same of everybody has an AUC of one half, whatever the sample, and never an error.
    for n in (5, 30, 200):
        low, value, high = ends(auroc_estimate(np.zeros(2 * n), np.repeat([0, 1], n)))
        assert low < value == 0.5 < high


def test_one_percent_of_twenty_non_members_is_unresolved() -> None:
    labels = np.repeat([1, 0], 20)
    found = tpr_at_fpr_estimate(np.arange(40), labels, 0.01, unit="record")
    assert not found.resolved
    assert found.reason == (
        "TPR at FPR 0.01 over 20 negatives: 100 needed at the least, 437 for both bounds"
    )
    assert (found.n, found.n_pos, found.n_neg, found.unit) == (40, 20, 20, "record")
    assert tpr_at_fpr_estimate(np.arange(40), labels, 0.05).resolved
    for n_neg in (436, 437):
        labels = np.repeat([1, 0], [300, n_neg])
        found = tpr_at_fpr_estimate(np.random.default_rng(2).normal(size=labels.size) + 4 * labels, labels, 0.01)
        assert (ends(found)[0] > 0) == (n_neg == 437)


@pytest.mark.parametrize(("tpr", "least"), [(0.95, 20), (0.9, 10), (0.5, 2), (0.99, 100)])
def test_a_missed_positive_must_be_possible(tpr: float, least: int) -> None:
    rng = np.random.default_rng(1)
    for n_pos, resolved in [(least - 1, False), (least, True)]:
        labels = np.repeat([1, 0], [n_pos, 50])
        found = fpr_at_tpr_estimate(rng.normal(size=labels.size), labels, tpr)
        assert found.resolved == resolved
        if not resolved:
            assert f"over {n_pos} positives: {least} needed at the least" in str(found.reason)


def test_missing_classes_are_unresolved() -> None:
    for labels, reason in [([0] * 5, "over 0 positives"), ([1] * 5, "over 0 negatives"), ([], "over 0 positives")]:
        for estimate in (auroc_estimate, tpr_at_fpr_estimate, fpr_at_tpr_estimate):
            found = estimate(np.arange(len(labels)), labels)
            assert not found.resolved
            assert reason in str(found.reason)
    assert "AUROC over 1 positives: 2 needed" in str(auroc_estimate([1, 2, 3], [1, 0, 0]).reason)
    one_user = auroc_estimate([1, 2, 3, 4], [1, 1, 0, 0], groups=["a", "a", "b", "c"], unit="user")
    assert "AUROC over 1 users with positives: 2 needed" in str(one_user.reason)
    assert (one_user.n, one_user.n_pos, one_user.n_neg) == (3, 1, 2)


def test_shares() -> None:
    found = rate_estimate(3, 40, unit="canary")
    assert (found.n, found.unit, found.method) == (40, "canary", "Clopper–Pearson")
    assert ends(found)[::2] == clopper_pearson(3, 40)
    assert ends(rate_estimate(3, 40, method="wilson"))[::2] == wilson(3, 40)
    assert rate_estimate(0, 0, of="abstained answers").reason == "a share of no abstained answers: at least 1 is needed"
    for k, n in [(5, 4), (-1, 4), (1, 0)]:
        with pytest.raises(ValueError, match="expected whole numbers"):
            rate_estimate(k, n)
    alone, grouped = share_estimate(LABELS), share_estimate(LABELS, groups=USERS, unit="user")
    assert (alone.value, alone.n) == (120 / 270, 270)
    assert (grouped.value, grouped.n, grouped.unit) == (120 / 270, 110, "user")
    assert ends(grouped)[2] > ends(alone)[2]
    assert "over 1 user" in str(share_estimate([1, 0], groups=["a", "a"], unit="user").reason)


def test_precision_and_recall() -> None:
    predicted = [1, 1, 1, 0, 0, 0, 0, 0]
    labels = [1, 1, 0, 1, 0, 0, 0, 0]
    precision, recall = precision_recall_estimates(predicted, labels, unit="answer")
    assert (precision.value, precision.low, precision.high) == (2 / 3, *clopper_pearson(2, 3))
    assert (recall.value, recall.n, recall.n_pos, recall.n_neg) == (2 / 3, 3, 3, 5)
    nothing = precision_recall_estimates([0, 0, 0], [1, 0, 1])
    assert nothing.precision.reason == "a share of no predicted positives: at least 1 is needed"
    assert nothing.recall.value == 0.0
    nobody = precision_recall_estimates([1, 0, 0], [0, 0, 0])
    assert nobody.precision.value == 0.0
    assert nobody.recall.reason == "a share of no positives: at least 1 is needed"
    users = precision_recall_estimates(predicted, labels, groups=[1, 2, 3, 1, 2, 3, 4, 4], unit="user")
    assert (users.precision.n, users.precision.n_pos, users.precision.n_neg) == (3, 2, 3)


def test_kappa() -> None:
    first, second = list("aabbb" * 10), list("ababb" * 10)
    found = kappa_estimate(first, second)
    assert found.value == pytest.approx(1 / 6)
    assert (found.n, found.unit) == (50, "item")
    assert "all fall in one category" in str(kappa_estimate(["x"] * 4, ["x"] * 4).reason)


@pytest.mark.parametrize("estimate", [auroc_estimate, tpr_at_fpr_estimate, fpr_at_tpr_estimate])
def test_wrong_input_is_an_error_not_an_unresolved_figure(estimate: type) -> None:
    for scores, labels, says in [
        ([0.1, np.nan], [0, 1], r"scores\[1\] is nan"),
        ([0.1, 0.2], [0, 3], r"labels\[1\] is 3"),
        ([0.1, 0.2], [0], "labels have length 1: expected 2"),
    ]:
        with pytest.raises(ValueError, match=says):
            estimate(scores, labels)
    with pytest.raises(ValueError, match=r"level is 1\.0"):
        estimate([0.1, 0.2], [0, 1], level=1.0)
    with pytest.raises(ValueError, match="groups have length 1: expected 2"):
        estimate([0.1, 0.2], [0, 1], groups=["a"])
