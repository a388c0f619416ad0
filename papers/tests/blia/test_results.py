"""A condition over seeds against the same counted by hand, seed by seed."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pytest
from papers.tests.blia.conftest import parts_of, tried
from scipy.stats import binomtest, fisher_exact
from tests.audit.labels.tables import changed

from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.audit import audit_labels
from discreet.audit.labels.rows import Tried
from discreet.audit.scores.table import CANARY, CONTROL, ScoreTable
from discreet.core.errors import InputError
from discreet_papers.blia.results import Part, chosen, condition, strongest
from discreet_papers.blia.tables import HALVED


@pytest.fixture(scope="module")
def found(remembering: list[Part]) -> dict[str, Any]:
    return condition(remembering)


def row_of(found: dict[str, Any], target: str = "canary", **asked: Any) -> dict[str, Any]:
    [row] = [row for row in found["attacks"] if row["target"] == target
             and all(row[name] == value for name, value in asked.items())]
    return dict(row)


def right(table: ScoreTable, role: int, labels: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Right guesses of LIA-Threshold at ½, and all, by a loop."""
    rows = [row for row in range(len(table.examples)) if table.canaries.role[0, row] == role]
    return sum(int(table.logits[0, row, 0, 1] >= table.logits[0, row, 0, 0]) == labels[row] for row in rows), len(rows)


def test_threshold_is_counted_over_all_seeds(found: dict[str, Any], remembering: list[Part]) -> None:
    for target in ("canary", "trained"):
        name = "label" if target == "canary" else target
        counted = {side: np.sum([right(table, role, getattr(table.canaries, name)[0]) for table, _ in remembering],
                                axis=0)
                   for side, role in (("success", CANARY), ("control", CONTROL))}
        row = row_of(found, target, attack="lia_threshold", threshold="fixed")
        for side, (hits, n) in counted.items():
            ends = binomtest(int(hits), int(n)).proportion_ci(0.95, "exact")
            assert row[side]["n"] == n == 360
            assert [row[side][end] for end in ("value", "low", "high")] == pytest.approx([hits / n, *ends])
        table = [[hits, n - hits] for hits, n in counted.values()]
        assert row["difference_p"] == pytest.approx(fisher_exact(table).pvalue)


def test_every_attack_is_the_sum_of_its_audits(found: dict[str, Any], remembering: list[Part]) -> None:
    audits = [audit_labels(table, tune=False) for table, _ in remembering]
    names = ("attack", "threshold", "margin", "alpha", "beta", "loss_labels", "fit")
    for row in found["attacks"]:
        alone = [one for audit in audits for one in audit.attacks if one.target == row["target"]
                 and all(getattr(one.settings, name) == row[name] for name in names)]
        assert len(alone) == 3
        for side in ("success", "control"):
            estimates = [one.success if side == "success" else one.held_out for one in alone]
            hits = sum(round((one.value or 0.0) * (one.n or 0)) for one in estimates)
            n = sum(one.n or 0 for one in estimates)
            assert (row[side]["value"], row[side]["n"]) == (None if not n else pytest.approx(hits / n), n)
    compared = [one["attack"] for one in found["stronger"]]
    assert "reference-calibrated" in compared
    assert len(compared) == len(set(compared))
    assert not any(name.startswith("LIA-Threshold") for name in compared)
    assert {one["baseline"] for one in found["stronger"]} <= {
        f"LIA-Threshold, {kind}" for kind in ("fixed", "mean", "median")}
    [(table, target)] = parts_of(1)
    with pytest.raises(InputError, match="no canary"):
        condition([(changed(table, role=np.full_like(table.canaries.role, CONTROL)), target)])


def test_what_is_proved_is_under_the_epsilon_and_above_nothing(found: dict[str, Any]) -> None:
    assert found["ceiling"] == pytest.approx(exp(1) / (1 + exp(1)))
    assert 0.2 < found["epsilon_lower"]["value"] <= 1.0
    quiet = condition(parts_of(2))
    assert quiet["epsilon_lower"]["value"] < 0.3
    assert not any(row["vetoed"] for row in quiet["attacks"] if row["access"] == "outputs")


def test_oracles_are_vetoed_and_prove_nothing() -> None:
    found = condition(parts_of(2, memory=0.0, signal=6.0, canaries=400, held_out=400))
    oracle = row_of(found, attack="lia_delta_margin", loss_labels="canary", margin="p1-second", beta=1.0)
    assert oracle["oracle"]
    assert oracle["vetoed"]
    assert oracle["success"]["value"] == pytest.approx(0.75, abs=0.06)
    assert log(3) > 1.0 > found["epsilon_lower"]["value"]


def test_flips_of_all_seeds_together(found: dict[str, Any], remembering: list[Part]) -> None:
    moved = sum(int((table.canaries.label[0] != table.canaries.trained[0]).sum()) for table, _ in remembering)
    assert found["flips"]["observed"]["value"] == pytest.approx(moved / 720)
    assert found["flips"]["expected"] == pytest.approx(1 / (1 + exp(1)))
    assert found["flips"]["ok"]


def test_a_mechanism_that_is_broken_on_purpose_is_taken_and_told() -> None:
    parts = []
    for table, target in parts_of(2, canaries=2000, held_out=2000, epsilon=1.0, references=0):
        unlike = (table.canaries.label != table.canaries.trained) & (np.arange(len(table.examples)) % 2 == 0)
        trained = np.where(unlike, table.canaries.label, table.canaries.trained)
        parts.append((changed(table, trained=trained, models=(replace(table.models[0], mechanism=HALVED),)), target))
    flips = condition(parts)["flips"]
    assert flips["observed"]["value"] == pytest.approx(flips["expected"] / 2, abs=0.02)
    assert not flips["ok"]


def test_planted_canaries_are_counted_apart() -> None:
    found = condition(parts_of(2, canaries=200, memory=2.0, planted=(1, 16)))  # type: ignore[arg-type]
    assert [one["copies"] for one in found["planted"]] == [1, 16]
    assert [one["success"]["n"] for one in found["planted"]] == [40, 40]
    assert found["planted"][1]["success"]["value"] > 0.9
    assert found["n_canaries"] == 2 * 160
    assert found["n_controls"] == 240


def judged(success: float, control: float, p: float, *, vetoed: bool = False) -> dict[str, Any]:
    return {"success": {"value": success}, "control": {"value": control}, "difference_p": p, "vetoed": vetoed}


def test_the_strongest_attack_leads_its_control_and_is_not_vetoed() -> None:
    sure, likely, void = judged(0.7, 0.5, 0.001), judged(0.8, 0.6, 0.01), judged(0.9, 0.7, 1e-9, vetoed=True)
    assert strongest([likely, void, sure]) is sure
    behind, further = judged(0.48, 0.5, 0.4), judged(0.45, 0.5, 0.01)
    assert strongest([further, behind]) is behind
    assert strongest([void]) is None


def test_the_chosen_attack_is_judged_on_the_rows_that_did_not_choose_it() -> None:
    secret = np.zeros(400, dtype=np.int64)
    even, coin = np.arange(400) % 2, np.arange(400) // 2 % 2

    # Right on each even place and wrong on each odd one: what looks best while choosing is nothing afterwards.
    flat, modest, lucky = (tried(one, secret) for one in (coin, np.where(np.arange(400) % 10 < 7, 0, 1), even))
    fixed, mean = LiaThreshold("fixed"), LiaThreshold("mean")
    found = chosen([(fixed, lucky, flat), (mean, modest, flat)])
    assert found is not None
    assert (found["threshold"], found["success"]["value"], found["success"]["n"]) == ("fixed", 0.0, 200)
    assert found["control"]["n"] == 200
    silent = Tried(None, secret, secret, 2, "no references")
    assert chosen([(fixed, silent, silent)]) is None


def test_choosing_costs_nothing_where_nothing_is_remembered() -> None:
    """The largest of many is above ½ on average; the chosen one, on the other half, is not."""
    rng, best, after = np.random.default_rng(3), [], []
    attacks = [LiaThreshold("fixed")] * 12
    for _ in range(60):
        secret, other = rng.integers(0, 2, (2, 200))
        given = [(attack, tried(rng.integers(0, 2, 200), secret), tried(rng.integers(0, 2, 200), other))
                 for attack in attacks]
        best.append(max(canary.rate("canary", "canary").value or 0.0 for _, canary, _ in given))
        found = chosen(given)
        assert found is not None
        after.append(found["success"]["value"])
    assert np.mean(best) > 0.54
    # 60 means over 100 coins each: four standard errors are .026.
    assert abs(np.mean(after) - 0.5) < 0.026
