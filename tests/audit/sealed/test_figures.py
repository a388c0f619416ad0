from __future__ import annotations

from math import exp, log10
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.audit.sealed import findings
from discreet.core.types import FloatArray
from discreet.stats.epsilon import anytime_epsilon, detection_power, least_rate, one_run_epsilon
from discreet.stats.evalues import log_e_average
from discreet.stats.intervals import clopper_pearson


def found(rows: FloatArray, **more: Any) -> dict[str, Any]:
    names = [f"s{i}" for i in range(len(rows))]
    return findings(rows, names, unit="record", source="os", **more)


def test_a_leak() -> None:
    rows = np.random.default_rng(0).normal(1.0, 1, (2, 120))
    said = findings(rows, ["a", "b"], unit="group", source="os", alpha=0.1)
    path = log_e_average(rows)
    assert said["e_value"] == pytest.approx(exp(path[-1]))
    assert said["log10_e_value"] == pytest.approx(log10(said["e_value"]))
    assert said["rejected_at"] == int(np.argmax(path >= np.log(10))) + 1
    assert said["p_value"] == pytest.approx(exp(-path.max()))
    assert (said["rejected"], said["verdict"], said["pairs"]) == (True, "fail", 120)
    wins = (rows > 0).sum(axis=1)
    for name, won in zip("ab", wins, strict=True):
        rate = said["win_rate"][name]
        assert (rate["low"], rate["high"]) == pytest.approx(clopper_pearson(int(won), 120, 0.95))
    source = said["epsilon_from"]
    assert said["epsilon_lower"] == pytest.approx(one_run_epsilon(source["correct"], source["guesses"], 0.1 / 8))
    assert said["epsilon_lower_add_remove"] == said["epsilon_lower"] / 2
    assert said["epsilon_lower_anytime"] == anytime_epsilon(rows, 0.1)
    assert said["power"] == detection_power(120, 0.55, 2 * 2 / 0.1)
    assert said["least_win_rate"] == least_rate(120, 40)
    assert said["least_epsilon"] == pytest.approx(np.log(said["least_win_rate"] / (1 - said["least_win_rate"])))
    assert said["claim_codes"] == ["false_findings", "what_leaks", "largest_epsilon", "blind_scorer"]
    assert "user" in said["claims"][1]


def test_a_finding_stays_where_the_evidence_sinks_again() -> None:
    said = found(np.array([[1.0] * 12 + [-1.0] * 30]))
    assert said["rejected"]
    assert said["e_value"] < 20 <= said["e_value_max"]
    assert said["p_value"] == pytest.approx(1 / said["e_value_max"])
    assert said["log10_e_value_max"] == pytest.approx(log10(said["e_value_max"]))


def test_a_pass_needs_power_and_a_low_win_rate() -> None:
    even = np.tile([1.0, -1.0], 1_500)[None, :]
    assert found(even)["verdict"] == "pass"
    assert found(even[:, :200])["verdict"] == "inconclusive"
    assert found(even[:, :200])["power"] < 0.8
    assert found(even[:, :700], tolerance=0.6)["verdict"] == "pass"
    assert "no_proof_of_privacy" in found(even)["claim_codes"]


def test_a_win_rate_that_may_be_too_high_is_inconclusive() -> None:
    # Losses first, so that the evidence never stands high enough, and a win rate of .56 at the end.
    row = np.concatenate([-np.ones(220), np.ones(280)])[None, :]
    said = found(row, tolerance=0.6)
    assert not said["rejected"]
    assert said["power"] > 0.8
    assert said["verdict"] == "inconclusive"
    assert said["reason_code"] == "win_rate_unclear"


def test_constant_scores_show_nothing() -> None:
    said = found(np.zeros((2, 50)))
    assert (said["verdict"], said["e_value"], said["epsilon_lower"], said["power"]) == ("inconclusive", 1.0, 0.0, 0.0)
    assert said["epsilon_ceiling"] is said["least_win_rate"] is said["least_epsilon"] is None
    assert said["win_rate"]["s0"]["value"] is None
    assert said["pairs_untied"] == {"s0": 0, "s1": 0}


def test_overwhelming_evidence_stays_a_number() -> None:
    said = found(np.linspace(1, 2, 4_000)[None, :])
    assert 8e307 < said["e_value"] < 1e308
    assert said["log10_e_value"] > 1_000
    assert said["p_value"] == 0.0


def test_delta_lowers_the_bound_and_a_seed_is_named() -> None:
    said = findings(np.ones((1, 20)), ["s"], unit="record", source="seed")
    assert (said["coins_from"], said["claim_codes"][-1]) == ("seed: not secret", "seeded")
    rows = np.random.default_rng(0).normal(2.0, 1, (1, 200))
    assert found(rows, delta=1e-4)["epsilon_lower"] < found(rows)["epsilon_lower"]


def test_false_findings_in_at_most_alpha_of_seals() -> None:
    """Fixed scores of both members, fresh coins: false findings by the whole judgement."""
    rng, runs = np.random.default_rng(11), 400
    gaps = np.vstack([rng.standard_cauchy(60), rng.normal(size=60)])
    said = [found(gaps * rng.choice([-1.0, 1.0], 60)) for _ in range(runs)]
    alarms, bounds = sum(bool(s["rejected"]) for s in said), sum(s["epsilon_lower"] > 0 for s in said)
    assert binomtest(alarms, runs, 0.05, alternative="greater").pvalue > 0.001
    assert binomtest(bounds, runs, 0.05, alternative="greater").pvalue > 0.001


def test_further_openings_share_the_evidence() -> None:
    rows = np.random.default_rng(0).normal(0.4, 1, (1, 80))
    alone = found(rows)
    assert (alone["openings"], alone["e_value_average"]) == (1, pytest.approx(alone["e_value"]))
    said = findings(rows, ["s0"], unit="record", source="os", others=[-1.0, 0.0, 1.5])
    assert said["openings"] == 4
    assert said["e_value_average"] == pytest.approx((alone["e_value"] + 0.1 + 1.0 + 10**1.5) / 4)
    assert said["log10_e_value_average"] == pytest.approx(log10(said["e_value_average"]))
    claim = said["claims"][said["claim_codes"].index("several_openings")]
    assert "4 different files of scores" in claim
    assert "at most 0.2" in claim
    same = {"openings", "e_value_average", "log10_e_value_average", "claims", "claim_codes"}
    assert {k: v for k, v in said.items() if k not in same} == {k: v for k, v in alone.items() if k not in same}


def test_the_average_of_openings_keeps_its_promise_and_the_best_of_them_does_not() -> None:
    """Eight files of scores for each seal, which know no coin: how often 1/alpha is reached."""
    rng, runs, files, alpha = np.random.default_rng(12), 400, 8, 0.2
    best = average = 0
    for _ in range(runs):
        coins = rng.choice([-1.0, 1.0], 40)
        paths = [log_e_average(rng.normal(size=(1, 40)) * coins) for _ in range(files)]
        ends = [float(path[-1]) for path in paths]
        best += max(path.max() for path in paths) >= -np.log(alpha)
        average += np.logaddexp.reduce(ends) - np.log(files) >= -np.log(alpha)
    assert binomtest(average, runs, alpha, alternative="greater").pvalue > 0.001
    assert binomtest(best, runs, alpha, alternative="greater").pvalue < 0.001
