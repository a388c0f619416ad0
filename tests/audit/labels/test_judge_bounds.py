from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.labels.access import trial_of
from discreet.audit.labels.bounds import guess_epsilon, ladder_bound, two_rate_epsilon
from discreet.audit.labels.judge_bounds import bounds_of
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.view import ABSTAINED, Guesses

TRIAL = trial_of(simulated_labels(LabelWorld(canaries=120, placebos=10), np.random.default_rng(0)), 0)


def guesses(right: int, abstained: int = 0) -> Guesses:
    label = TRIAL.secret.copy()
    label[right:] = 1 - label[right:]
    label[len(label) - abstained:] = ABSTAINED
    confidence = np.linspace(1.0, 0.1, label.size)
    return Guesses(label, np.where(label == ABSTAINED, 0.0, confidence))


def test_all_three_are_those_of_the_counts() -> None:
    given = guesses(90, 20)
    found = bounds_of("outputs", "secret", given, TRIAL, vetoed=False, bounded=True)
    right = np.arange(100) < 90
    assert found.ladder.value == ladder_bound(right, given.confidence[:100], 2).epsilon
    assert found.one_run.value == guess_epsilon(90, 100, 2)
    secret, label = TRIAL.secret[:100], given.label[:100]
    assert found.two_rate.value == two_rate_epsilon(
        int(((label == 1) & (secret == 1)).sum()), int((secret == 1).sum()),
        int(((label == 1) & (secret == 0)).sum()), int((secret == 0).sum()))
    for one in (found.ladder, found.one_run, found.two_rate):
        assert (one.low, one.high, one.level) == (one.value, None, 0.95)
    assert set(found.to_json()) == {"epsilon_lower", "epsilon_lower_one_run", "epsilon_lower_two_rate"}


@pytest.mark.parametrize(("access", "truth", "given", "vetoed", "bounded", "said"), [
    ("oracle", "secret", guesses(90), False, True, "shown the label"),
    ("outputs", "trained", guesses(90), False, True, "no ceiling"),
    ("outputs", "secret", guesses(90), True, True, "on placebos"),
    ("outputs", "secret", guesses(90), False, False, "equal numbers"),
    ("outputs", "secret", None, False, True, "no guess"),
    ("outputs", "secret", guesses(0, 120), False, True, "no guess"),
])
def test_where_nothing_is_proven_a_reason_stands(access: str, truth: str, given: Guesses | None, vetoed: bool,
                                                 bounded: bool, said: str) -> None:
    found = bounds_of(access, truth, given, TRIAL, vetoed=vetoed, bounded=bounded)  # type: ignore[arg-type]
    for one in (found.ladder, found.one_run, found.two_rate):
        assert one.value is None
        assert said in (one.reason or "")


def test_two_rates_are_of_two_classes() -> None:
    trial = trial_of(simulated_labels(LabelWorld(canaries=60, placebos=10, n_classes=3), np.random.default_rng(0)), 0)
    found = bounds_of("outputs", "secret", Guesses(trial.secret, np.ones(60)), trial, vetoed=False, bounded=True)
    assert found.ladder.value is not None
    assert "two classes" in (found.two_rate.reason or "")
