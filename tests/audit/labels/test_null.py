"""Laws of canary labels, and the test of all attacks together, against slow loops and simulated models."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import CanaryRows, LabelAttack, canary_rows, run
from discreet.audit.labels.attacks.lia_delta_margin import delta_margins
from discreet.audit.labels.attacks.lia_threshold import CUTS, LiaThreshold
from discreet.audit.labels.null import Columns, RedrawTest, column, halves, law_of, one_draw, redraw_test, tuned
from discreet.audit.scores.table import UNKNOWN, Model
from discreet.core.errors import InputError
from discreet.stats.mechanisms.labels.rr import RandomisedResponse
from discreet.stats.redraw import Exchangeable, Independent
from discreet.stats.testing import permutation_p, step_down_p

RNG = np.random.default_rng
THRESHOLDS: tuple[LabelAttack, ...] = tuple(map(LiaThreshold, CUTS))


def trial(seed: int = 0, **world: Any) -> CanaryRows:
    return canary_rows(simulated_labels(LabelWorld(**{"canaries": 50, "held_out": 50, **world}), RNG(seed)), 0)


def model(mechanism: str = "none", epsilon: float = inf) -> Model:
    return Model("one", "target", mechanism=mechanism, epsilon=epsilon)


def redrawn(guesses: np.ndarray, given: CanaryRows, seed: int = 1, **options: Any) -> RedrawTest | None:
    law = law_of(model(), given, "uniform")[1]
    assert law is not None
    return redraw_test([Columns(one[:, None]) for one in guesses.T], given.canary, given, law, RNG(seed), **{
        "assignment": "uniform", **options})


class TestLaw:
    @pytest.mark.parametrize(("named", "assignment", "about", "null"), [
        (model(), "uniform", "canary", "chance"), (model(), "balanced", "canary", "chance"),
        (model(), "unknown", "canary", "held_out"), (model("rr", 1.0), "uniform", "canary", "mechanism"),
        (model("rr", 1.0), "balanced", "canary", "held_out"),
        (model("rr_with_prior", 1.0), "uniform", "canary", "ceiling"),
        (model("home-made", 1.0), "uniform", "canary", "ceiling"), (model("home-made"), "uniform", "canary", "chance"),
        # Whoever knows the mechanism knows how the label that was trained on was drawn.
        (model("rr", 1.0), "uniform", "trained", "chance"),
        (model("rr_with_prior", 1.0), "uniform", "trained", "held_out")])
    def test_is_what_is_known_of_the_draw(self, named: Model, assignment: Any, about: Any, null: str) -> None:
        found, law = law_of(named, trial(), assignment, about)
        assert found == null
        assert (law is None) == (null in ("ceiling", "held_out"))

    def test_without_the_trained_labels_the_ceiling_is_all_that_is_known(self) -> None:
        given = replace(trial(), trained=np.full(50, UNKNOWN))
        assert law_of(model("rr", 1.0), given, "uniform") == ("ceiling", None)

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_canary_labels_given_trained_ones_are_as_the_mechanism_leaves_them(self, n_classes: int) -> None:
        given = trial(n_classes=n_classes, epsilon=1.0, canaries=40_000)
        law = law_of(model("rr", 1.0), given, "uniform")[1]
        assert isinstance(law, Independent)
        assert law.chances.sum(axis=1) == pytest.approx(np.ones(len(given)))
        for trained in range(n_classes):
            rows = given.trained == trained
            seen = np.bincount(given.canary[rows], minlength=n_classes) / rows.sum()
            assert seen == pytest.approx(law.chances[rows][0], abs=4.5 * 0.5 / rows.sum() ** 0.5)

    def test_balanced_labels_are_drawn_again_as_shifts(self) -> None:
        given = trial(n_classes=3)
        law = law_of(model(), given, "balanced")[1]
        assert isinstance(law, Exchangeable)
        assert law.values.tolist() == ((given.canary - given.original) % 3).tolist()


def combined_slowly(guess: np.ndarray, secrets: np.ndarray, moments: Any) -> tuple[np.ndarray, np.ndarray]:
    """Standardised successes and the statistic of each row of secrets, one number at a time."""
    z = np.zeros((len(secrets), guess.shape[1]))
    for place, secret in enumerate(secrets):
        for number, (mean, deviation) in enumerate(zip(*moments, strict=True)):
            right = sum(int(one == other) for one, other in zip(secret, guess[:, number], strict=True))
            z[place, number] = (right - mean) / deviation
    return z, np.array([max(row) + sum(row) / len(row) for row in z])


class TestRedraw:
    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("assignment", ["uniform", "balanced"])
    def test_is_that_of_the_slow_loop(self, n_classes: int, assignment: Any) -> None:
        given = trial(n_classes=n_classes)
        guess = RNG(3).integers(-1, n_classes, (50, 4))
        law = law_of(model(), given, assignment)[1]
        assert law is not None
        found = redraw_test([Columns(one[:, None]) for one in guess.T], given.canary, given, law, RNG(5), draws=99,
                            assignment=assignment)
        drawn = law.draw(99, RNG(5)).astype(np.int64)
        told = guess
        if assignment == "balanced":
            told = np.where(guess < 0, -1, (guess - given.original[:, None]) % n_classes)
            # A shift that is drawn is a label of its row.
            labels = (drawn + given.original) % n_classes
            assert ((labels[:, :, None] == guess) == (drawn[:, :, None] == told)).all()
        secret = given.canary if assignment == "uniform" else (given.canary - given.original) % n_classes
        secrets = np.vstack([secret, drawn])
        z, statistic = combined_slowly(told, secrets, law.moments(told))
        assert found is not None
        assert found.p == pytest.approx((1 + sum(statistic[1:] >= statistic[0] - 1e-9)) / 100)
        assert found.step_down == pytest.approx(tuple(step_down_p(z[0] - 1e-9, z[1:])))
        assert found.alone == pytest.approx([
            permutation_p(one - 1e-9, null) for one, null in zip(z[0], z[1:].T, strict=True)])

    def test_attacks_that_guess_alike_are_one_and_constant_guesses_are_none(self) -> None:
        given = trial(canaries=200)
        one, other = RNG(1).integers(0, 2, (2, 200))
        found = redrawn(np.stack([one, one, other, np.ones(200, int)], axis=1), given)
        alone = redrawn(np.stack([one, other], axis=1), given)
        assert found is not None
        assert alone is not None
        assert (found.distinct, found.p, found.alone[3], found.step_down[3]) == (2, alone.p, None, None)
        assert found.alone[0] == found.alone[1]
        assert found.needed == (alone.needed[0], alone.needed[0], alone.needed[1])
        assert redrawn(np.ones((200, 1), dtype=np.int64), given) is None

    def test_blocks_do_not_show(self, monkeypatch: pytest.MonkeyPatch) -> None:
        given, guess = trial(), RNG(3).integers(0, 2, (50, 3))
        whole = redrawn(guess, given, draws=40)
        monkeypatch.setattr("discreet.audit.labels.null.BLOCK", 50 * 7)
        assert redrawn(guess, given, draws=40) == whole

    @pytest.mark.parametrize("grid", [THRESHOLDS, delta_margins("predicted", 2)])
    def test_tuning_is_done_again_in_every_draw(self, grid: tuple[LabelAttack, ...]) -> None:
        given = trial(canaries=61, memory=1.0)
        first, second = halves(given, RNG(7))
        columns = Columns(*(np.stack([column(one, given, part) for one in grid], axis=1) for part in (second, first)))
        law = law_of(model(), given, "uniform")[1]
        assert law is not None
        found = redraw_test([columns], given.canary, given, law, RNG(8), assignment="uniform", draws=12)
        z, chosen = [], set()
        for labels in (given.canary, *law.draw(12, RNG(8)).astype(np.int64)):
            best = tuned(grid, replace(first, canary=labels[np.searchsorted(given.rows, first.rows)]))
            chosen.add(best)
            guess = column(best, given, second)[:, None]
            (mean,), (deviation,) = law.moments(guess)
            z.append(((guess[:, 0] == labels).sum() - mean) / deviation if deviation > 1e-9 else 0.0)
        assert found is not None
        [alone] = found.alone
        assert alone == pytest.approx((1 + sum(np.array(z[1:]) >= z[0] - 1e-9)) / 13)
        assert len(chosen) > 1

    def test_the_attack_that_knows_is_the_one_that_is_named(self) -> None:
        rng, given = RNG(4), trial(canaries=200)
        guess = rng.integers(0, 2, (200, 6))
        guess[:, 3] = np.where(rng.random(200) < 0.7, given.canary, guess[:, 3])
        found = redrawn(guess, given)
        assert found is not None
        assert [p < 0.05 for p in found.step_down if p is not None] == [False, False, False, True, False, False]

    def test_needed_is_found_about_as_often_as_it_says(self) -> None:
        """An attack with `needed` right guesses, the others at chance, has p about at its level."""
        rng, given = RNG(4), trial(canaries=300)
        first = redrawn(rng.integers(0, 2, (300, 5)), given)
        assert first is not None
        p = []
        for _ in range(60):
            guess = rng.integers(0, 2, (300, 5))
            right = rng.permutation(np.arange(300) < first.needed[0])
            guess[:, 0] = np.where(right, given.canary, 1 - given.canary)
            found = redrawn(guess, given, draws=999)
            assert found is not None
            p.append(found.p)
        assert np.median(p) < 0.055


class TestMechanism:
    """Whoever knows every released label is right as often as ε allows, and no leak. 400 canaries each."""

    @pytest.mark.parametrize(("epsilon", "n_classes"), [(0.5, 2), (1.0, 2), (3.0, 2), (1.0, 5)])
    def test_knowing_all_released_labels_is_a_false_alarm_in_five_of_a_hundred_at_most(self, epsilon: float,
                                                                                      n_classes: int) -> None:
        alarms = 0
        for seed in range(300):
            given = trial(seed, canaries=400, epsilon=epsilon, n_classes=n_classes)
            law = law_of(model("rr", epsilon), given, "uniform")[1]
            assert law is not None
            found = redraw_test([Columns(given.trained[:, None])], given.canary, given, law, RNG(seed), draws=199,
                                assignment="uniform")
            assert found is not None
            alarms += found.p < 0.05
        assert stats.binomtest(alarms, 300, 0.05, alternative="greater").pvalue > 0.01

    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
    def test_a_model_that_was_trained_on_the_canary_labels_themselves_is_found(self, epsilon: float) -> None:
        given = trial(canaries=400)
        released = RandomisedResponse.at(epsilon, 2).apply(given.canary, RNG(2))
        given = replace(given, trained=released)
        law = law_of(model("rr", epsilon), given, "uniform")[1]
        assert law is not None
        # It knows four in five of them.
        knows = np.where(RNG(3).random(400) < 0.8, given.canary, RNG(4).integers(0, 2, 400))
        found = redraw_test([Columns(knows[:, None])], given.canary, given, law, RNG(5), assignment="uniform")
        assert found is not None
        assert found.p < 0.001


def test_halves_are_disjoint_and_whole_and_so_are_groups() -> None:
    given = trial(canaries=41, references=2)
    one, two = halves(given, RNG(1))
    assert (len(one), len(two)) == (20, 21)
    assert sorted([*one.rows, *two.rows]) == given.rows.tolist()
    assert halves(given, RNG(1))[0].rows.tolist() == one.rows.tolist() != halves(given, RNG(2))[0].rows.tolist()
    for part in (one, two):
        place = np.searchsorted(given.rows, part.rows)
        assert part.view.log_p.tolist() == given.view.log_p[place].tolist()
        assert part.canary.tolist() == given.canary[place].tolist()
        mine, all_of = part.view.references, given.view.references
        assert mine is not None
        assert all_of is not None
        assert mine.label.tolist() == all_of.label[:, place].tolist()
        assert part.view.pool is given.view.pool
    group = np.arange(41) // 4
    one, two = halves(replace(given, group=group), RNG(1))
    assert not set(group[one.rows]) & set(group[two.rows])
    with pytest.raises(InputError, match="41 rows in 1 groups cannot be halved"):
        halves(replace(given, group=np.zeros(41, dtype=np.int64)), RNG(1))


def test_groups_with_one_label_are_one_draw() -> None:
    given, group = trial(n_classes=3), np.arange(50) // 5
    shared = replace(given, group=group, canary=given.canary[group * 5])
    firsts = one_draw(shared, shared.canary)
    assert firsts is not None
    assert firsts.tolist() == list(range(0, 50, 5))
    assert one_draw(replace(given, group=group), given.canary) is None
    assert one_draw(given, given.canary) is None


def test_the_best_on_the_first_half_is_chosen() -> None:
    first, _ = halves(trial(memory=1.0, canaries=400), RNG(1))
    for attacks in (THRESHOLDS, delta_margins("predicted", 2), delta_margins("original", 2)):
        right = [int(run(attack, first).correct(first.canary).sum()) for attack in attacks]
        assert tuned(attacks, first) == attacks[right.index(max(right))]
    with pytest.raises(ValueError, match="attacks are empty"):
        tuned([], first)
