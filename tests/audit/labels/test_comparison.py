from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.audit.labels.comparison import Comparison, compare_attacks

RNG = np.random.default_rng
Labels = NDArray[np.int64]


def guesses_of(rng: np.random.Generator, secret: Labels, known: NDArray[np.float64], share: float) -> Labels:
    """Right where `known` falls under `share`, by chance elsewhere; two attacks with one `known` know alike."""
    return np.where(known < share, secret, rng.integers(0, 2, secret.size))


def world(seed: int, n: int = 1000) -> tuple[np.random.Generator, Labels, Any]:
    rng = RNG(seed)
    return rng, rng.integers(0, 2, n), rng.random(n)


def compared(attack: Labels, baseline: Labels, secret: Labels, placebo_right: float = 0.5) -> Comparison:
    m = secret.size
    placebo = np.where(np.arange(m) < placebo_right * m, 0, 1)
    return compare_attacks({"a": attack}, secret, {"a": placebo}, np.zeros(m, dtype=np.int64), {"t": baseline})[0]


def test_who_knows_more_is_stronger() -> None:
    rng, secret, known = world(0)
    found = compared(guesses_of(rng, secret, known, 0.6), guesses_of(rng, secret, known, 0.3), secret)
    assert found.stronger
    assert found.right - found.baseline_right == found.only_attack - found.only_baseline > 50


def test_the_figures_are_those_of_scipy() -> None:
    rng, secret, known = world(1, 300)
    a, t = guesses_of(rng, secret, known, 0.4), guesses_of(rng, secret, known, 0.2)
    found = compared(a, t, secret)
    only_a, only_t = int(((a == secret) & (t != secret)).sum()), int(((a != secret) & (t == secret)).sum())
    assert (found.only_attack, found.only_baseline) == (only_a, only_t)
    assert found.paired_p == found.holm_p == pytest.approx(stats.binomtest(only_a, only_a + only_t).pvalue)
    won = int((a == secret).sum())
    assert found.difference_p == pytest.approx(stats.fisher_exact([[won, 300 - won], [150, 150]])[1])
    assert (found.right, found.baseline_right) == (won, (t == secret).sum())
    assert found.success.n == found.held_out.n == 300


def test_what_it_knows_of_placebos_too_is_no_memory() -> None:
    rng, secret, known = world(2)
    a = guesses_of(rng, secret, known, 0.6)
    found = compared(a, guesses_of(rng, secret, known, 0.3), secret, placebo_right=float((a == secret).mean()))
    assert found.holm_p < 1e-6
    assert not found.stronger


def test_who_lags_is_not_stronger_however_clearly() -> None:
    rng, secret, known = world(3)
    found = compared(guesses_of(rng, secret, known, 0.3), guesses_of(rng, secret, known, 0.9), secret)
    assert found.difference_p is not None
    assert found.difference_p < 0.01
    assert (found.paired_p, found.stronger) == (1.0, False)


def test_a_lag_does_not_cost_another_attack_a_step_of_holm() -> None:
    rng, secret, known = world(4)
    attacks = {"good": guesses_of(rng, secret, known, 0.4), "bad": 1 - secret}
    placebos = dict.fromkeys(attacks, rng.integers(0, 2, 1000))
    good, bad = compare_attacks(attacks, secret, placebos, rng.integers(0, 2, 1000), {"t": secret[::-1].copy()})
    assert good.holm_p == pytest.approx(2 * good.paired_p)
    assert bad.holm_p == 1.0


def test_where_it_abstains_the_baseline_speaks() -> None:
    rng, secret, known = world(5)
    baseline, guess = guesses_of(rng, secret, known, 0.3), guesses_of(rng, secret, known, 0.6)
    silent = known > 0.7
    found = compared(np.where(silent, -1, guess), baseline, secret)
    filled = compared(np.where(silent, baseline, guess), baseline, secret)
    assert (found.paired_p, found.right) == (filled.paired_p, filled.right)
    assert (found.success.n, filled.success.n) == (int((~silent).sum()), 1000)


def test_a_few_canaries_well_chosen_do_not_make_an_attack_stronger() -> None:
    """It guesses only where both know: right every time, and so is the baseline there."""
    rng, secret, known = world(6)
    found = compared(np.where(known < 0.3, secret, -1), guesses_of(rng, secret, known, 0.3), secret)
    assert found.success.value == 1.0
    assert (found.paired_p, found.stronger) == (1.0, False)


def test_the_baseline_that_is_beaten_least_decides() -> None:
    rng, secret, known = world(7)
    baselines = {"fixed": guesses_of(rng, secret, known, 0.1), "mean": guesses_of(rng, secret, known, 0.5),
                 "median": guesses_of(rng, secret, known, 0.2)}
    attack, placebo = {"a": guesses_of(rng, secret, known, 0.45)}, {"a": rng.integers(0, 2, 500)}
    rest = (placebo, rng.integers(0, 2, 500))
    [all_three] = compare_attacks(attack, secret, *rest, baselines)
    [two] = compare_attacks(attack, secret, *rest, {name: baselines[name] for name in ("fixed", "median")})
    assert (all_three.baseline, all_three.stronger) == ("mean", False)
    assert (two.baseline, two.stronger) == ("median", True)


def test_equals_are_called_stronger_as_rarely_as_promised() -> None:
    """Two attacks of like strength that remember different canaries: 5% at most, and one in two of those leads."""
    called = 0
    for seed in range(200):
        rng, secret, known = world(100 + seed, 400)
        other = rng.random(400)
        called += compared(guesses_of(rng, secret, known, 0.4), guesses_of(rng, secret, other, 0.4), secret).stronger
    assert called <= 14


def test_an_attack_that_only_abstains_is_not_stronger() -> None:
    _, secret, _ = world(8)
    found = compared(np.full(1000, -1), 1 - secret, secret)
    assert (found.difference_p, found.success.resolved, found.paired_p, found.stronger) == (None, False, 1.0, False)


def test_as_json() -> None:
    rng, secret, known = world(9, 100)
    plain = compared(guesses_of(rng, secret, known, 0.9), guesses_of(rng, secret, known, 0.1), secret).to_json()
    assert set(plain) == {*Comparison.__slots__, "placebo"} - {"held_out"}
    assert plain["success"]["n"] == 100
    assert plain["stronger"] is True


@pytest.mark.parametrize(("change", "message"), [
    ({"baselines": {}}, "0 baselines"), ({"held_out": {}}, "expected a canary, a baseline and the same attacks"),
    ({"labels": [[0, 1, 0]]}, r"labels has shape \(1, 3\)"),
    ({"labels": np.zeros(0, dtype=int), "canaries": {"a": np.zeros(0, dtype=int)}}, "0 canaries"),
    ({"baselines": {"t": [0, -1, -1]}}, "baseline 't' abstains on 2 canaries"),
    ({"canaries": {"a": [0, 1]}}, r"a has shape \(2,\)"), ({"held_out": {"a": [0.5, 1.0]}}, "type float64"),
    ({"alpha": 0.0}, "alpha is 0"), ({"control_alpha": 1.0}, "control_alpha is 1"),
])
def test_what_cannot_be(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"canaries": {"a": [0, 1, 1]}, "labels": [0, 1, 0], "held_out": {"a": [0, 1]},
                             "held_out_labels": [1, 1], "baselines": {"t": [0, 0, 0]}}
    with pytest.raises(ValueError, match=message):
        compare_attacks(**(given | change))
