from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.labels.access import Trial, halves, run, trial_of
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.tune import CUTS, GRID, delta_margin_grid, threshold_grid, tuned, tuned_threshold
from discreet.core.errors import InputError

RNG = np.random.default_rng


def trial(world: LabelWorld, seed: int = 0) -> Trial:
    return trial_of(simulated_labels(world, RNG(seed)), 0)


def right(attack: object, given: Trial) -> int:
    return int(run(attack, given).correct(given.secret).sum())  # type: ignore[arg-type]


def test_the_best_on_the_first_half_is_chosen() -> None:
    first, _ = halves(trial(LabelWorld(memory=1.0)), RNG(1))
    for attacks in (threshold_grid(), delta_margin_grid("predicted", 2), delta_margin_grid("original", 2)):
        best = tuned(attacks, first)
        assert right(best, first) == max(right(attack, first) for attack in attacks)
        assert best == next(attack for attack in attacks if right(attack, first) == right(best, first))
    assert tuned(attacks[:1], first) == attacks[0]
    with pytest.raises(ValueError, match="attacks are empty"):
        tuned([], first)


def test_the_tuned_threshold_is_no_worse_than_a_grid() -> None:
    first, second = halves(trial(LabelWorld(memory=1.0)), RNG(2))
    best = tuned_threshold(first)
    assert right(best, first) >= right(tuned(threshold_grid(), first), first)
    assert run(best, second).made.all()
    with pytest.raises(InputError, match="expected a binary target"):
        tuned_threshold(trial(LabelWorld(n_classes=3)))


def test_a_threshold_may_be_tuned_to_what_was_trained() -> None:
    given = trial(LabelWorld(memory=2.0, epsilon=0.5))
    found = tuned_threshold(given, "trained")
    assert run(found, given).correct(given.trained).sum() > run(found, given).correct(given.secret).sum()


def test_tuning_on_the_rows_that_are_judged_flatters_an_innocent_model() -> None:
    """Why there are halves: the other half's success is one half, its own is above it."""
    own, other, n = 0, 0, 0
    for seed in range(200):
        first, second = halves(trial(LabelWorld(canaries=60, placebos=1), seed), RNG(seed))
        best = tuned_threshold(first)
        own, other, n = own + right(best, first), other + right(best, second), n + 30
    assert own / n > 0.58
    # Deviation .0065.
    assert other / n == pytest.approx(0.5, abs=0.025)


def test_grids_begin_with_the_paper_s_settings() -> None:
    assert threshold_grid()[0] == LiaThreshold(0.5)
    assert len(set(threshold_grid())) == len(threshold_grid()) == len(CUTS)
    first = delta_margin_grid("predicted", 2)[0].settings
    assert (first.alpha, first.beta, first.margin) == (1.0, 1.0, "p1-second")
    assert len(set(delta_margin_grid("secret", 2))) == 2 * len(GRID)
    assert len(delta_margin_grid("secret", 3)) == len(GRID)
