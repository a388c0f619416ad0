"""What every label attack promises, walked over the registry, and what attacks do on models with memory and without."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import exp, inf

import numpy as np
import pytest
from scipy import stats

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import CanaryRows, LabelAttack, View, all_attacks, canary_rows, run
from discreet.audit.labels.attacks.lia_delta_margin import DeltaMargin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.lira import LiraLabel
from discreet.audit.labels.attacks.reference import ReferenceCalibrated
from discreet.core.errors import InputError
from discreet.stats.intervals import clopper_pearson

CASES: list[tuple[int, LabelAttack]] = [(k, attack) for k in (2, 4) for attack in all_attacks(k)]
each = pytest.mark.parametrize(("n_classes", "attack"), CASES,
                               ids=[f"{k}-{'-'.join(str(v) for v in a.settings.to_json().values() if v is not None)}"
                                    for k, a in CASES])


def trial(n_classes: int, seed: int = 0, references: int = 16) -> CanaryRows:
    world = LabelWorld(canaries=60, held_out=60, n_classes=n_classes, memory=1.0, references=references, epsilon=1.0)
    return canary_rows(simulated_labels(world, np.random.default_rng(seed)), 0)


@each
def test_a_guess_and_a_confidence_for_every_row(n_classes: int, attack: LabelAttack) -> None:
    found = run(attack, trial(n_classes))
    assert found.label.shape == found.confidence.shape == (60,)
    assert found.label.dtype == np.int64
    assert found.confidence.dtype == np.float64
    assert np.isfinite(found.confidence).all()
    assert ((found.label >= -1) & (found.label < n_classes)).all()
    assert (found.confidence[~found.made] == 0.0).all()
    assert np.unique(found.label[found.made]).size > 1
    assert np.unique(found.confidence[found.made]).size > 3


@each
def test_without_being_shown_the_secret_it_does_not_matter(n_classes: int, attack: LabelAttack) -> None:
    """The one that decides what access means: other secrets behind the same outputs change nothing."""
    given, rng = trial(n_classes), np.random.default_rng(1)
    swapped = replace(given, canary=rng.integers(0, n_classes, 60), trained=rng.integers(0, n_classes, 60))
    moved = replace(given, original=rng.integers(0, n_classes, 60))
    before = run(attack, given).label.tolist()
    assert (run(attack, swapped).label.tolist() == before) == (attack.access != "oracle")
    assert (run(attack, moved).label.tolist() == before) == (attack.access != "privileged")


@each
def test_the_same_twice_and_nothing_changed(n_classes: int, attack: LabelAttack) -> None:
    given = trial(n_classes)
    assert given.view.references is not None
    assert given.view.pool is not None
    arrays = [given.view.log_p, given.view.references.log_p, given.view.references.label, given.view.pool.log_p,
              given.original, given.canary, given.trained]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    one, other = run(attack, given), run(attack, given)
    assert one.label.tolist() == other.label.tolist()
    assert one.confidence.tolist() == other.confidence.tolist()
    assert all((array == copy).all() for array, copy in zip(arrays, before, strict=True))


@each
def test_the_order_of_the_rows_does_not_matter(n_classes: int, attack: LabelAttack) -> None:
    given, order = trial(n_classes), np.random.default_rng(2).permutation(60)
    found, mixed = run(attack, given), run(attack, given.take(order))
    assert mixed.label.tolist() == found.label[order].tolist()
    assert mixed.confidence == pytest.approx(found.confidence[order])


@each
def test_what_is_absent_is_said_in_one_line(n_classes: int, attack: LabelAttack) -> None:
    bare = trial(n_classes, references=0)
    clause = attack.needs(bare.view)
    assert (clause is None) == (attack.settings.attack not in ("reference", "lira_label"))
    if clause is not None:
        assert clause.startswith("it ")
        assert not clause.endswith(".")
        with pytest.raises(InputError, match="cannot be run: it needs") as caught:
            run(attack, bare)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("attack", [attack for attack in all_attacks(2) if attack.classes == 2])
def test_an_attack_on_two_classes_refuses_more(attack: LabelAttack) -> None:
    with pytest.raises(InputError, match="is an attack on 2 classes and the target has 3; expected a binary target"):
        run(attack, trial(3))


RNG = np.random.default_rng
SEEDS = 120
QUIET = 105
"""Of 120 seeds, for a 95% method."""


@pytest.mark.slow
@pytest.mark.parametrize("world", [
    LabelWorld(canaries=200, held_out=20, references=8, spread=2.0),
    LabelWorld(canaries=200, held_out=20, references=8, epsilon=0.5, signal=6.0, noise=2.0),
    LabelWorld(canaries=200, held_out=20, references=24, n_classes=5),
], ids=["confident", "rr", "5 classes"])
def test_attacks_that_are_shown_no_secret_are_quiet_where_nothing_is_memorised(world: LabelWorld) -> None:
    quiet: Counter[LabelAttack] = Counter()
    guessed: Counter[LabelAttack] = Counter()
    attacks = [one for one in all_attacks(world.n_classes) if one.access != "oracle"]
    for seed in range(SEEDS):
        table = simulated_labels(world, RNG(seed))
        trial = canary_rows(table, 0)
        for attack in attacks:
            if attack.needs(trial.view) is not None:
                continue
            found = run(attack, trial)
            interval = clopper_pearson(int(found.correct(trial.canary).sum()), int(found.made.sum()))
            quiet[attack] += interval.low <= 1 / world.n_classes <= interval.high
            guessed[attack] += 1
    for attack in attacks:
        assert quiet[attack] >= guessed[attack] - (SEEDS - QUIET), attack
    assert sum(count == SEEDS for count in guessed.values()) >= len(attacks) - 1


def fixed_outputs(p1: np.ndarray, seed: int) -> CanaryRows:
    """Outputs that were fixed before the secrets were drawn."""
    log_p = np.log(np.stack([1 - p1, p1], axis=1))
    n = p1.size
    labels = RNG(seed).integers(0, 2, n)
    return CanaryRows(np.arange(n), View(log_p), (RNG(seed + 1).random(n) < p1).astype(np.int64), labels, labels)


@pytest.mark.parametrize(("high", "share", "ratio", "expected"), [
    (0.99, 0.5, 1.0, 0.75), (0.99, 0.5, 3.0, 0.75), (0.70, 0.5, 1.0, 0.75), (0.70, 0.5, 3.0, 0.5),
    (0.574, 0.5, 1.0, 0.5), (0.95, 0.66, 1.0, 0.83), (0.95, 0.66, 3.0, 0.83),
])
def test_the_flaw_succeeds_on_models_that_memorised_nothing(high: float, share: float, ratio: float, expected: float
                                                            ) -> None:
    """Confident and balanced models, and others: ½ + ½ P(p₁ > p* | label 1)."""
    p1 = np.where(np.arange(40_000) < share * 40_000, high, 1 - high)
    trial = fixed_outputs(p1, 0)
    flawed = DeltaMargin("canary", beta=ratio)
    right = int(run(flawed, trial).correct(trial.canary).sum())
    assert stats.binomtest(right, 40_000, expected).pvalue > 1e-4
    for honest in (DeltaMargin("predicted", beta=ratio), LiaThreshold(),
                   DeltaMargin("original", beta=ratio)):
        right = int(run(honest, trial).correct(trial.canary).sum())
        assert stats.binomtest(right, 40_000, 0.5).pvalue > 1e-4


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("memory", [0.5, 1.5])
def test_memory_is_found_and_references_find_more_of_it(n_classes: int, memory: float) -> None:
    world = LabelWorld(canaries=500, held_out=500, n_classes=n_classes, memory=memory, references=16)
    table = simulated_labels(world, RNG(5))
    canary, control = canary_rows(table, 0), canary_rows(table, 0, held_out=True)
    plain = next(one for one in all_attacks(n_classes) if one.settings.threshold == "fixed")
    wins = {}
    for attack in (plain, ReferenceCalibrated(), LiraLabel("shift"), *([LiraLabel("pooled"), LiraLabel("own")]
                                                                     if n_classes == 2 else [])):
        right = int(run(attack, canary).correct(canary.canary).sum())
        by_control = int(run(attack, control).correct(control.canary).sum())
        assert stats.binomtest(by_control, 500, 1 / n_classes).pvalue > 1e-4
        p = stats.fisher_exact([[right, 500 - right], [by_control, 500 - by_control]], "greater").pvalue
        assert p < 0.01 or (attack == plain and memory < 1.0)
        wins[attack] = right
    assert all(wins[attack] >= wins[plain] for attack in wins)
    # Of signal 2 with spread 1 the plain attack sees little, whoever has seen 16 like it nearly all.
    assert wins[LiraLabel("shift")] > wins[plain] + 40


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, inf])
def test_under_randomised_response_no_honest_attack_passes_the_ceiling(epsilon: float) -> None:
    table = simulated_labels(LabelWorld(canaries=2000, memory=8.0, references=16, epsilon=epsilon), RNG(7))
    trial = canary_rows(table, 0)
    ceiling = 1.0 if epsilon == inf else exp(epsilon) / (exp(epsilon) + 1.0)
    for attack in all_attacks(2):
        if attack.access != "oracle":
            right = int(run(attack, trial).correct(trial.canary).sum())
            assert right / 2000 < ceiling + 4 * np.sqrt(0.25 / 2000)
    best = run(LiraLabel("pooled"), trial)
    assert best.correct(trial.trained).mean() > 0.999
    assert best.correct(trial.canary).mean() == pytest.approx(ceiling, abs=0.04)
