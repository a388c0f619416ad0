from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import (
    CanaryRows,
    Guesses,
    LabelAttack,
    Settings,
    View,
    all_attacks,
    canary_rows,
    run,
)
from discreet.audit.labels.attacks.lia_delta_margin import DeltaMargin, delta_margins
from discreet.audit.labels.attacks.lia_threshold import CUTS, LiaThreshold
from discreet.audit.labels.null import Null, halves, redraw_nulls, redrawn, tuned, tuned_null
from discreet.audit.scores.table import UNKNOWN
from discreet.core.errors import InputError

RNG = np.random.default_rng
FLAWED = DeltaMargin("canary")
THRESHOLD_GRID: tuple[LabelAttack, ...] = tuple(map(LiaThreshold, CUTS))


def trial(seed: int = 0, **world: Any) -> CanaryRows:
    return canary_rows(simulated_labels(LabelWorld(**{"canaries": 50, "held_out": 50, **world}), RNG(seed)), 0)


def redraw_null(attack: Any, given: CanaryRows, seed: int = 1, **options: Any) -> Null:
    return redraw_nulls([attack], given, RNG(seed), **options)[0]


def slowly(attack: LabelAttack, given: CanaryRows, target: str, draws: tuple[np.ndarray, np.ndarray]) -> list[int]:
    """Hand the attack each draw, see what it says, count."""
    found = []
    for secret, trained in zip(*draws, strict=True):
        there = replace(given, canary=secret, trained=trained)
        found.append(int(run(attack, there).correct(secret if target == "canary" else trained).sum()))
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("target", ["canary", "trained"])
@pytest.mark.parametrize("redraw", ["permute", "shift"])
def test_every_attack_is_replayed_as_if_run_again(n_classes: int, target: Any, redraw: Any) -> None:
    given = trial(n_classes=n_classes, references=12, memory=1.0, epsilon=1.0)
    for attack in all_attacks(n_classes):
        if attack.needs(given.view) is not None:
            continue
        null = redraw_nulls([attack, FLAWED], given, RNG(1), draws=6, target=target, redraw=redraw)[0]
        again = redrawn(given, 6, RNG(1), redraw, need_trained=True)
        assert null.null_correct.tolist() == slowly(attack, given, target, again)
        found = run(attack, given)
        assert null.correct == found.correct(given.truth(target)).sum()
        assert null.made == found.made.sum()


def test_draws_are_shared_by_all_attacks() -> None:
    given = trial()
    attacks: list[LabelAttack] = [LiaThreshold(), FLAWED, LiaThreshold("median")]
    together = redraw_nulls(attacks, given, RNG(1), draws=20)
    for attack, null in zip(attacks, together, strict=True):
        alone = redraw_null(attack, given, 1, draws=20)
        assert (null.correct, null.null_correct.tolist()) == (alone.correct, alone.null_correct.tolist())
    assert redraw_nulls([], given, RNG(1)) == ()


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    given = trial()
    whole = redraw_null(FLAWED, given, 3, draws=40)
    monkeypatch.setattr("discreet.audit.labels.null.BLOCK", 50 * 7)
    parts = redraw_null(FLAWED, given, 3, draws=40)
    assert whole.null_correct.tolist() == parts.null_correct.tolist()
    assert parts.null_made.tolist() == [50] * 40


@pytest.mark.parametrize("redraw", ["permute", "shift"])
def test_what_a_draw_keeps(redraw: Any) -> None:
    given = trial(n_classes=3, epsilon=1.0)
    secret, trained = redrawn(given, 30, RNG(4), redraw, need_trained=True)
    pairs = np.stack([given.canary, given.trained])
    for one, other in zip(secret, trained, strict=True):
        if redraw == "permute":
            assert sorted(zip(one, other, strict=True)) == sorted(zip(*pairs, strict=True))
        else:
            shifts, kept = ((values - given.original) % 3 for values in (pairs, np.stack([one, other])))
            assert sorted(zip(*kept, strict=True)) == sorted(zip(*shifts, strict=True))
    assert len({tuple(one) for one in secret}) == 30


def test_groups_with_one_secret_are_drawn_as_one() -> None:
    given = trial(n_classes=3)
    group = np.arange(50) // 5
    shared = replace(given, group=group, canary=given.canary[group * 5])
    secret, trained = redrawn(shared, 20, RNG(6), "permute")
    assert (secret == secret[:, group * 5]).all()
    assert (trained == UNKNOWN).all()
    assert len({tuple(one) for one in secret}) == 20
    own = replace(given, group=group)
    assert redrawn(own, 20, RNG(6), "permute")[0].tolist() == redrawn(given, 20, RNG(6), "permute")[0].tolist()
    with pytest.raises(ValueError, match="in 10 groups of 50 rows"):
        redraw_null(DeltaMargin("trained"), shared, 0, draws=5)


def test_drawn_again_the_flaw_is_no_discovery_held_fixed_it_is() -> None:
    """Notes, section 1: guesses that stay as they are against permuted secrets, and the same with the loss anew."""
    again, fixed = [], []
    for seed in range(20):
        given = trial(seed, canaries=400, spread=2.0)
        again.append(redraw_null(FLAWED, given, seed, draws=300).p_value)
        found = run(FLAWED, given)
        right = found.correct(given.canary).sum()
        permuted = [found.correct(one).sum() for one in redrawn(given, 300, RNG(seed), "permute")[0]]
        fixed.append((1 + sum(one >= right for one in permuted)) / 301)
    assert np.median(fixed) == pytest.approx(1 / 301)
    assert 0.2 < np.median(again) < 0.8
    assert min(again) > 1 / 301


@pytest.mark.parametrize("attack", [LiaThreshold(), FLAWED, DeltaMargin("canary", beta=0.1)])
def test_p_values_hold_where_nothing_leaks(attack: LabelAttack) -> None:
    p = [redraw_null(attack, trial(seed, canaries=60, signal=1.0), seed, draws=99).p_value for seed in range(300)]
    for level in (0.05, 0.2, 0.5):
        assert stats.binomtest(sum(one <= level for one in p), 300, level, alternative="greater").pvalue > 1e-3
    assert np.mean(p) < 0.62


class Silent(LabelAttack):
    """Abstains on all rows but the first few."""

    def __init__(self, made: int) -> None:
        self.made = made

    settings = Settings("silent")

    def guess(self, view: View) -> Guesses:
        made = np.arange(len(view)) < self.made
        return Guesses(np.where(made, 1, -1), np.where(made, 1.0, 0.0))


def test_abstentions_are_no_guesses() -> None:
    given = trial()
    null = redraw_null(Silent(10), given, 0, draws=50)
    assert null.made == 10
    assert null.null_made.tolist() == [10] * 50
    assert null.null_correct.max() <= 10
    mute = redraw_null(Silent(0), given, 0, draws=50)
    assert (mute.correct, mute.p_value) == (0, 1.0)
    # The excess of right guesses decides.
    assert Null(6, 10, 2, np.array([5, 60, 6]), np.array([10, 120, 12])).p_value == 0.25


@pytest.mark.parametrize("attacks", [THRESHOLD_GRID, delta_margins("predicted", 2),
                                     delta_margins("canary", 2)])
def test_tuning_is_done_again_in_every_draw(attacks: tuple[LabelAttack, ...]) -> None:
    first, second = halves(trial(canaries=61, memory=1.0), RNG(7))
    null = tuned_null(attacks, first, second, RNG(8), draws=12)
    rng, slow, chosen = RNG(8), [], set()
    before, after = redrawn(first, 12, rng, "permute"), redrawn(second, 12, rng, "permute")
    for place in range(12):
        best = tuned(attacks, replace(first, canary=before[0][place]))
        chosen.add(best)
        slow.append(int(run(best, replace(second, canary=after[0][place])).correct(after[0][place]).sum()))
    assert null.null_correct.tolist() == slow
    assert len(chosen) > 1
    assert null.correct == run(tuned(attacks, first), second).correct(second.canary).sum()


def test_what_is_not_known_is_refused() -> None:
    given = replace(trial(), trained=np.full(50, UNKNOWN))
    with pytest.raises(InputError, match="'label_trained' is not known"):
        redraw_null(LiaThreshold(), given, 0, target="trained")
    with pytest.raises(ValueError, match="attacks are empty"):
        tuned_null([], given, given, RNG(0))
    with pytest.raises(ValueError, match="draws is 0"):
        redraw_null(LiaThreshold(), trial(), 0, draws=0)


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


def test_the_best_on_the_first_half_is_chosen() -> None:
    first, _ = halves(trial(memory=1.0, canaries=400), RNG(1))
    for attacks in (THRESHOLD_GRID, delta_margins("predicted", 2), delta_margins("original", 2)):
        right = [int(run(attack, first).correct(first.canary).sum()) for attack in attacks]
        assert tuned(attacks, first) == attacks[right.index(max(right))]
    with pytest.raises(ValueError, match="attacks are empty"):
        tuned([], first)
