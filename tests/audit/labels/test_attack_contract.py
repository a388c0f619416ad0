"""What every label attack promises, walked over the registry, and what attacks do on models with memory and without."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf

import numpy as np
import pytest

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import CanaryRows, LabelAttack, all_attacks, canary_rows, run
from discreet.audit.labels.attacks.lira import LiraLabel
from discreet.core.errors import InputError

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
