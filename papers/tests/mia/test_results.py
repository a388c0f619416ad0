"""Averages, gains and changes against numpy and scipy by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from papers.tests.mia.conftest import row_of as row
from papers.tests.mia.conftest import utility_of as utility
from scipy import stats

from discreet.core.records import Estimate
from discreet_papers.mia.results import (
    accuracy,
    change,
    figures,
    kept_steps,
    paper_range,
    reach,
    rows_of,
)
from discreet_papers.shared import averaged


def gain(audits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(change([(audit, audit) for audit in audits], "paper", {"selection": "boundary", "n": 20}, {}))


def estimate(value: float, half: float = 0.1) -> Estimate:
    return Estimate(value, value - half, value + half, n=40, n_pos=20, n_neg=20, unit="example")


def test_two_directions_of_one_seed_are_averaged_ends_and_all() -> None:
    found = averaged([[estimate(0.6, 0.1), estimate(0.7, 0.04)]])
    assert (found.value, found.low, found.high) == pytest.approx((0.65, 0.58, 0.72))
    assert (found.n, found.unit) == (40, "example")


def test_from_three_seeds_on_the_interval_is_students() -> None:
    rng = np.random.default_rng(0)
    seeds = rng.normal(0.6, 0.02, (5, 2))
    found = averaged([[estimate(float(one)) for one in seed] for seed in seeds])
    means = seeds.mean(axis=1)
    low, high = stats.t.interval(0.95, 4, means.mean(), stats.sem(means))
    assert (found.value, found.low, found.high) == pytest.approx((means.mean(), low, high))
    assert (found.unit, found.n) == ("seed", 5)


def test_an_interval_over_seeds_stays_within_what_the_figure_can_be() -> None:
    found = averaged([[estimate(one)] for one in (0.9, 0.99, 0.999)])
    assert found.high == 1.0
    assert averaged([[estimate(one)] for one in (0.9, 0.99, 0.999)], (-1.0, 2.0)).high != 1.0


def test_what_is_unresolved_in_any_part_is_unresolved() -> None:
    assert averaged([[estimate(0.6), Estimate.unresolved("too few")]]).reason == "too few"
    assert averaged([[]]).value is None


def test_an_average_without_intervals_has_none() -> None:
    found = averaged([[Estimate(0.2, None, None), Estimate(0.4, 0.1, 0.6)]])
    assert found.value == pytest.approx(0.3)
    assert found.low is None


def test_a_question_finds_its_rows_alone() -> None:
    others = [row(0.9, selection="boundary", n=20), row(0.9, label=1), row(0.9, definition="honest, p"),
              row(0.9, category="theft"), row(0.9, structure="multi-turn"), row(0.9, attack="loss"),
              row(0.9, definition="paper, clean non-members"), row(0.9, decile=3, decile_by="target")]
    audit = {"attacks": [row(0.6), *others, row(0.7)]}
    assert [found["auc"]["value"] for found in rows_of(audit, "reference", "paper")] == [0.6, 0.7]
    assert [found["auc"]["value"] for found in rows_of(audit, "reference", "paper", label=1)] == [0.9]
    shown = figures([audit], "reference", "paper")
    assert shown["auc"]["value"] == pytest.approx(0.65)
    assert shown["control"]["value"] == pytest.approx(0.5)
    assert shown["tpr_at_5pct_fpr"]["value"] == pytest.approx(0.325)
    assert reach([audit], "reference", "paper") == {"least": 0.6, "most": 0.7}
    assert reach([audit], "probe", "paper") == {"least": None, "most": None}
    lacking = {"attacks": [row(0.6), row(None)]}
    assert reach([audit, lacking], "reference", "paper") == {"least": None, "most": None}


def test_updates_that_were_kept() -> None:
    def trained(*steps: int | None) -> dict[str, Any]:
        models = {name: {} if kept is None else {"best_step": kept, "planned_steps": 40}
                  for name, kept in zip(("f_A", "f_B"), steps, strict=True)}
        return {"models": {**models, "f_S": {"best_step": 1, "planned_steps": 2}}}

    assert kept_steps([trained(10, 30), trained(40, 40)]) == {"kept": 30.0, "planned": 40.0}
    assert kept_steps([trained(10, None)]) is None
    assert kept_steps([]) is None


def test_a_gain_is_boundary_less_global_of_each_direction() -> None:
    def audit(shift: float) -> dict[str, Any]:
        whole = [row(0.60 + shift, 0.50), row(0.70, 0.52)]
        edge = [row(0.80, 0.55, selection="boundary", n=20), row(0.75, 0.50, selection="boundary", n=20)]
        return {"attacks": [*whole, *edge]}

    one, control = gain([audit(0.0)])
    assert one["value"] == pytest.approx(((0.80 - 0.60) + (0.75 - 0.70)) / 2)
    assert control["value"] == pytest.approx(((0.55 - 0.50) + (0.50 - 0.52)) / 2)
    assert one["low"] is None

    shifts = np.array([0.0, 0.02, 0.05])
    three, _ = gain([audit(float(shift)) for shift in shifts])
    by_seed = (0.20 - shifts + 0.05) / 2
    assert three["value"] == pytest.approx(by_seed.mean())
    low, high = stats.t.interval(0.95, 2, by_seed.mean(), stats.sem(by_seed))
    assert (three["low"], three["high"]) == pytest.approx((low, high), abs=1e-5)


def test_a_gain_without_a_boundary_is_unresolved() -> None:
    audit = {"attacks": [row(0.6), row(None, None, selection="boundary", n=20)]}
    assert gain([audit])[0]["reason"] == "too few"


def test_a_change_is_between_two_audits_of_one_seed() -> None:
    before, after = {"attacks": [row(0.6, 0.5), row(0.7, 0.5)]}, {"attacks": [row(0.9, 0.6), row(0.8, 0.6)]}
    value, control = change([(after, before)], "paper", {}, {})
    assert (value["value"], control["value"]) == pytest.approx((0.2, 0.1))


def test_accuracy_is_of_every_target() -> None:
    plain = {"targets": [{"utility": utility(0.9, 0.8)}, {"utility": utility(0.9, 0.7)}]}
    copied = {"targets": [{"utility": utility(0.95, 0.85)}, {"utility": utility(0.95, 0.7)}]}
    assert accuracy([plain])["value"] == pytest.approx(0.75)
    assert accuracy([plain], "gap", "1")["value"] == pytest.approx(0.15)
    assert accuracy([copied], before=[plain])["value"] == pytest.approx(0.025)


def test_the_papers_ranges() -> None:
    full = paper_range("table 7", structure="single-turn", attack="reference", regime="full", metric="auc")
    assert full == {"low": 0.698, "high": 0.869, "models": 4}
    assert paper_range("figure 2", structure="all", regime="full", label="safe") == {
        "low": 0.02, "high": 0.13, "models": None}
    assert paper_range("figure 2", structure="pooled", regime="full", label="safe") == {
        "low": None, "high": 0.22, "models": None}
    assert paper_range("table 7", structure="none") is None
