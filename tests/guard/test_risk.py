from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from discreet.core.records import Estimate
from discreet.guard.points import Costs, Thetas
from discreet.guard.risk import (
    abstain_thresholds,
    abstains,
    by_cost,
    operating_points,
    pairing_metrics,
    risk_coverage,
)
from discreet.stats import clopper_pearson, fpr_at_tpr

KEYS = {
    "auroc", "fpr95", "fpr90", "fpr_tau0", "tpr_tau0", "abstain_safe", "abstain_unsafe", "n_kept", "point", "fpr_point",
    "tpr_point",
}


def _pairing(seed: int = 0, n_safe: int = 300, n_unsafe: int = 200) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "delta_safe": rng.normal(-1.0, 1.0, n_safe), "delta_unsafe": rng.normal(1.0, 1.0, n_unsafe),
        "abstain_safe": rng.random(n_safe) < 0.1, "abstain_unsafe": rng.random(n_unsafe) < 0.05,
    }


def test_thetas_leave_a_twentieth_of_each_holdout_below() -> None:
    rng = np.random.default_rng(0)
    safe, unsafe = rng.normal(0.0, 1.0, 4000), rng.normal(5.0, 2.0, 3000)
    at = abstain_thresholds(safe, unsafe)
    assert (safe < at.safe).mean() == pytest.approx(0.05, abs=1e-3)
    assert (unsafe < at.unsafe).mean() == pytest.approx(0.05, abs=1e-3)
    assert abstain_thresholds(safe, unsafe, q=0.5).safe == pytest.approx(np.median(safe))


def test_only_rows_foreign_to_both_sides_abstain() -> None:
    sigmas = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.0]])
    assert abstains(sigmas, Thetas(1.0, 1.0)).tolist() == [True, False, False, False, False]


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=60))
@settings(deadline=None)
def test_points_are_the_highest_thresholds_that_flag_enough(delta: list[int]) -> None:
    given_delta = np.array(delta, dtype=float)
    points = operating_points(given_delta)
    assert points["conservative"] == 0.0
    for name, tpr in (("balanced", 0.90), ("strict", 0.95)):
        assert (given_delta > points[name]).mean() >= tpr - 1e-9
        higher = np.unique(given_delta[given_delta > points[name]])[0]
        assert (given_delta > higher).mean() < tpr


@pytest.mark.parametrize(
    "call",
    [
        lambda: operating_points([]),
        lambda: operating_points([np.nan]),
        lambda: abstain_thresholds([], [1.0]),
        lambda: abstain_thresholds([1.0], [1.0], 0.0),
        lambda: risk_coverage([], [], []),
        lambda: risk_coverage([1.0], [1, 0], [1.0]),
        lambda: risk_coverage([1.0], [1], [1.0]).at(0.0),
        lambda: by_cost([1.0], [], Costs(1.0, 1.0)),
        lambda: pairing_metrics([1.0], [1.0], [0], [0, 1], 0.0),
        lambda: pairing_metrics([1.0], [1.0], [0], [0], 0.0, groups_safe=["a"]),
    ],
)
def test_wrong_input_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        call()


@pytest.mark.parametrize("costs", [
    Costs(10.0, 1.0, 2.0, 0.05), Costs(1.0, 10.0, 0.5, 0.3), Costs(5.0, 5.0), Costs(1000.0, 1.0, 0.0, 0.5),
])
def test_the_costs_decide_the_threshold(costs: Costs) -> None:
    p = _pairing(1)
    found = by_cost(p["delta_safe"], p["delta_unsafe"], costs, abstain_safe=p["abstain_safe"],
                    abstain_unsafe=p["abstain_unsafe"])
    prior = 200 / 500 if costs.prevalence is None else costs.prevalence

    def price(tau: float) -> float:
        """One answer at a time."""
        unsafe = [costs.review if out else costs.miss * (d <= tau)
                  for d, out in zip(p["delta_unsafe"], p["abstain_unsafe"], strict=True)]
        safe = [costs.review if out else costs.false_flag * (d > tau)
                for d, out in zip(p["delta_safe"], p["abstain_safe"], strict=True)]
        return float(prior * np.mean(unsafe) + (1.0 - prior) * np.mean(safe))

    everywhere = np.concatenate([p["delta_safe"], p["delta_unsafe"], [-10.0, 10.0]])
    assert price(found.tau) == pytest.approx(min(price(t) for t in everywhere))
    assert found.cost.value == pytest.approx(price(found.tau))
    assert found.cost.low is not None
    assert found.cost.high is not None
    assert found.cost.low < price(found.tau) < found.cost.high


def test_dear_misses_lower_the_threshold() -> None:
    p = _pairing(2)
    taus = [by_cost(p["delta_safe"], p["delta_unsafe"], Costs(miss, 1.0, 0.0, 0.1)).tau for miss in (1.0, 10.0, 100.0)]
    assert taus[0] > taus[1] > taus[2]


def test_the_curve_is_the_share_of_errors_among_the_surest() -> None:
    rng = np.random.default_rng(3)
    labels = rng.random(400) < 0.4
    delta = np.where(labels, 1.0, -1.0) + rng.normal(0.0, 1.2, 400)
    confidence = np.round(np.abs(delta), 1)
    curve = risk_coverage(delta, labels, confidence)
    wrong = (delta > 0.0) != labels
    for coverage, risk, threshold in zip(curve.coverage, curve.risk, curve.threshold, strict=True):
        decided = confidence >= threshold
        assert coverage == pytest.approx(decided.mean())
        assert risk == pytest.approx(wrong[decided].mean())
    assert curve.coverage[-1] == 1.0
    assert (np.diff(curve.coverage) > 0.0).all()
    # Less sure is more often wrong here, so deciding less helps.
    assert curve.risk[0] < 0.5 * curve.risk[-1]
    half = curve.at(0.5)
    point = np.flatnonzero(curve.coverage >= 0.5)[0]
    assert half.value == pytest.approx(curve.risk[point])
    assert half.n == round(400 * curve.coverage[point])
    each = [curve.risk[np.flatnonzero(curve.threshold <= c)[0]] for c in confidence]
    assert curve.area == pytest.approx(np.mean(each))


def test_a_perfect_score_has_no_risk_and_a_reversed_one_nothing_else() -> None:
    labels = np.array([0, 0, 1, 1])
    delta = np.array([-2.0, -1.0, 1.0, 2.0])
    assert risk_coverage(delta, labels, np.abs(delta)).area == 0.0
    assert risk_coverage(-delta, labels, np.abs(delta)).risk.tolist() == [1.0, 1.0]
    assert risk_coverage(delta, labels, np.abs(delta), tau=3.0).risk[-1] == 0.5


def test_kept_metrics_leave_abstentions_out_and_full_ones_do_not() -> None:
    p = _pairing(4)
    found = pairing_metrics(**p, tau=0.3, point="balanced")
    assert set(found) == KEYS | {"full"}
    assert set(found["full"]) == KEYS
    assert all(isinstance(e, Estimate) for e in [found[k] for k in KEYS] + list(found["full"].values()))
    for figures, in_safe, in_unsafe in (
        (found, ~p["abstain_safe"], ~p["abstain_unsafe"]), (found["full"], np.ones(300, bool), np.ones(200, bool))
    ):
        safe, unsafe = p["delta_safe"][in_safe], p["delta_unsafe"][in_unsafe]
        scores, labels = np.concatenate([safe, unsafe]), np.repeat([0, 1], [safe.size, unsafe.size])
        assert figures["auroc"].value == pytest.approx(roc_auc_score(labels, scores))
        assert figures["fpr95"].value == fpr_at_tpr(scores, labels, 0.95)
        assert figures["fpr90"].value == fpr_at_tpr(scores, labels, 0.90)
        assert figures["fpr_tau0"].value == (safe > 0.0).mean()
        assert figures["tpr_tau0"].value == (unsafe > 0.0).mean()
        assert figures["fpr_point"].value == (safe > 0.3).mean()
        assert figures["tpr_point"].value == (unsafe > 0.3).mean()
        assert figures["n_kept"].value == safe.size + unsafe.size
        assert (figures["n_kept"].n_neg, figures["n_kept"].n_pos) == (safe.size, unsafe.size)
        assert (figures["point"].value, "balanced" in figures["point"].method) == (0.3, True)
        assert figures["abstain_safe"].value == p["abstain_safe"].mean()
        assert figures["abstain_unsafe"].value == p["abstain_unsafe"].mean()
    ends = clopper_pearson(int(p["abstain_safe"].sum()), 300)
    assert (found["abstain_safe"].low, found["abstain_safe"].high) == (ends.low, ends.high)


def test_groups_are_the_unit_of_intervals() -> None:
    p = _pairing(5)
    plain = pairing_metrics(**p, tau=0.0)
    groups: dict[str, Any] = {
        "groups_safe": [f"s{i // 10}" for i in range(300)], "groups_unsafe": [f"u{i // 10}" for i in range(200)],
    }
    grouped = pairing_metrics(**p, tau=0.0, unit="document", **groups)
    for key in KEYS - {"n_kept", "point"}:
        assert grouped[key].value == plain[key].value
        assert grouped[key].unit == "document"
    assert grouped["auroc"].n == 50
    assert grouped["fpr_tau0"].n == 30


def test_a_class_that_abstains_whole_is_unresolved_and_not_zero() -> None:
    p = _pairing(6, 20, 20)
    p["abstain_safe"] = np.ones(20, dtype=bool)
    found = pairing_metrics(**p, tau=0.0)
    assert [found[k].value for k in ("auroc", "fpr95", "fpr_tau0", "fpr_point")] == [None] * 4
    assert found["abstain_safe"].value == 1.0
    assert found["full"]["auroc"].resolved
    p["abstain_unsafe"] = np.ones(20, dtype=bool)
    none = pairing_metrics(**p, tau=0.0)
    assert none["n_kept"].value == 0.0
    assert not none["auroc"].resolved


def test_a_constant_score_is_chance() -> None:
    found = pairing_metrics(np.zeros(50), np.zeros(40), np.zeros(50, int), np.zeros(40, int), 0.0)
    assert found["auroc"].value == 0.5
    assert found["fpr_tau0"].value == 0.0
