"""Is an attack stronger than LIA-Threshold? On guesses made up to know a share of the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from papers.tests.blia.conftest import tried
from scipy import stats

from discreet.audit.labels.attacker_view import LabelAttack
from discreet.audit.labels.attacks.lia_threshold import THRESHOLDS, LiaThreshold, Likeliest
from discreet_papers.blia.results import stronger_attacks

RNG = np.random.default_rng
Labels = NDArray[np.int64]


def guesses_of(rng: np.random.Generator, secret: Labels, known: NDArray[np.float64], share: float) -> Labels:
    """Right where `known` falls under `share`, by chance elsewhere; two attacks with one `known` know alike."""
    return np.where(known < share, secret, rng.integers(0, 2, secret.size))


def world(seed: int, n: int = 1000) -> tuple[np.random.Generator, Labels, Any]:
    rng = RNG(seed)
    return rng, rng.integers(0, 2, n), rng.random(n)


def compared(attacks: list[Labels], baselines: list[Labels], secret: Labels, control_right: float = 0.5
             ) -> list[dict[str, Any]]:
    """Attacks called Likeliest, thresholds as baselines, all with controls of which so many are right."""
    zeros = np.zeros(secret.size, dtype=np.int64)
    control = np.where(np.arange(secret.size) < control_right * secret.size, 0, 1)
    kinds: list[tuple[LabelAttack, Labels]] = [
        *((Likeliest(kind), guess) for kind, guess in zip(THRESHOLDS, attacks, strict=False)),
        *((LiaThreshold(kind), guess) for kind, guess in zip(THRESHOLDS, baselines, strict=False))]
    return stronger_attacks([(attack, tried(guess, secret), tried(np.where(guess.max() < 0, -1, control), zeros))
                             for attack, guess in kinds])


def test_who_knows_more_is_stronger_and_the_figures_are_those_of_scipy() -> None:
    rng, secret, known = world(1, 300)
    a, t = guesses_of(rng, secret, known, 0.6), guesses_of(rng, secret, known, 0.2)
    [found] = compared([a], [t], secret)
    only_a, only_t = int(((a == secret) & (t != secret)).sum()), int(((a != secret) & (t == secret)).sum())
    assert (found["only_attack"], found["only_baseline"]) == (only_a, only_t)
    assert found["paired_p"] == found["holm_p"] == pytest.approx(stats.binomtest(only_a, only_a + only_t).pvalue)
    won = int((a == secret).sum())
    assert found["difference_p"] == pytest.approx(stats.fisher_exact([[won, 300 - won], [150, 150]])[1])
    assert (found["right"], found["baseline_right"]) == (won, (t == secret).sum())
    assert found["success"]["n"] == found["control"]["n"] == found["n"] == 300
    assert found["stronger"] is True


def test_what_it_knows_of_controls_too_is_no_memory() -> None:
    rng, secret, known = world(2)
    a = guesses_of(rng, secret, known, 0.6)
    [found] = compared([a], [guesses_of(rng, secret, known, 0.3)], secret, float((a == secret).mean()))
    assert found["holm_p"] < 1e-6
    assert not found["stronger"]


def test_who_lags_is_not_stronger_however_clearly_and_costs_no_other_a_step_of_holm() -> None:
    rng, secret, known = world(3)
    good, bad = compared([guesses_of(rng, secret, known, 0.9), 1 - secret], [guesses_of(rng, secret, known, 0.4)],
                         secret)
    assert good["holm_p"] == pytest.approx(2 * good["paired_p"])
    assert bad["difference_p"] < 0.01
    assert (bad["paired_p"], bad["holm_p"], bad["stronger"]) == (1.0, 1.0, False)


def test_where_it_abstains_the_baseline_speaks_so_that_a_few_canaries_well_chosen_gain_nothing() -> None:
    rng, secret, known = world(5)
    baseline, guess = guesses_of(rng, secret, known, 0.3), guesses_of(rng, secret, known, 0.6)
    silent = known > 0.7
    found, filled = compared([np.where(silent, -1, guess), np.where(silent, baseline, guess)], [baseline], secret)
    assert (found["paired_p"], found["right"]) == (filled["paired_p"], filled["right"])
    assert (found["success"]["n"], filled["success"]["n"]) == (int((~silent).sum()), 1000)
    # Guessing only where both know, it is right every time, and so is the baseline there.
    [few] = compared([np.where(known < 0.3, secret, -1)], [baseline], secret)
    assert (few["success"]["value"], few["paired_p"], few["stronger"]) == (1.0, 1.0, False)


def test_the_baseline_that_is_beaten_least_decides() -> None:
    rng, secret, known = world(7)
    weak, strong = guesses_of(rng, secret, known, 0.1), guesses_of(rng, secret, known, 0.5)
    attack = guesses_of(rng, secret, known, 0.45)
    [both], [one] = compared([attack], [weak, strong], secret), compared([attack], [weak], secret)
    assert (both["baseline"], both["stronger"]) == ("LIA-Threshold, mean", False)
    assert (one["baseline"], one["stronger"]) == ("LIA-Threshold, fixed", True)


def test_equals_are_called_stronger_as_rarely_as_promised() -> None:
    """Two attacks of like strength that remember different canaries: 5% at most, and one in two of those leads."""
    called = 0
    for seed in range(200):
        rng, secret, known = world(100 + seed, 400)
        other = rng.random(400)
        [found] = compared([guesses_of(rng, secret, known, 0.4)], [guesses_of(rng, secret, other, 0.4)], secret)
        called += found["stronger"]
    assert called <= 14


def test_an_attack_that_only_abstains_is_not_stronger_and_without_thresholds_nothing_is_compared() -> None:
    _, secret, _ = world(8)
    [found] = compared([np.full(1000, -1)], [1 - secret], secret)
    assert (found["difference_p"], found["success"]["value"], found["paired_p"], found["stronger"]) == (
        None, None, 1.0, False)
    assert compared([secret], [], secret) == []
