from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from discreet.stats.redraw import Exchangeable, Independent, Law, combined, hits, standardised
from discreet.stats.testing import permutation_p, step_down_p

RNG = np.random.default_rng


def guesses(n: int, columns: int, n_classes: int, seed: int = 0) -> np.ndarray:
    """Some of them abstain."""
    return RNG(seed).integers(-1, n_classes, (n, columns))


def right_slowly(secret: np.ndarray, guess: np.ndarray) -> list[int]:
    return [sum(int(one == other) for one, other in zip(secret, column, strict=True)) for column in guess.T]


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_hits_are_counts(n_classes: int) -> None:
    guess, secrets = guesses(17, 5, n_classes), RNG(1).integers(0, n_classes, (9, 17))
    assert hits(secrets, guess, n_classes).tolist() == [right_slowly(one, guess) for one in secrets]


def test_moments_of_secrets_in_any_order_are_those_of_all_orders() -> None:
    values, guess = np.array([0, 2, 1, 1, 0, 1]), guesses(6, 7, 3)
    every = np.array([right_slowly(np.array(one), guess) for one in permutations(values)])
    mean, deviation = Exchangeable(values, 3).moments(guess)
    assert mean == pytest.approx(every.mean(axis=0))
    assert deviation == pytest.approx(every.std(axis=0))


def test_moments_of_independent_secrets_are_those_of_all_secrets() -> None:
    chances, guess = RNG(2).dirichlet(np.ones(3), 4), guesses(4, 6, 3)
    every = np.array(list(product(range(3), repeat=4)))
    weight = chances[np.arange(4), every].prod(axis=1)
    right = hits(every, guess, 3)
    mean, deviation = Independent(chances).moments(guess)
    assert mean == pytest.approx(weight @ right)
    assert deviation**2 == pytest.approx(weight @ (right - weight @ right) ** 2)


@pytest.mark.parametrize("law", [
    Exchangeable(RNG(3).integers(0, 4, 40), 4), Independent(RNG(3).dirichlet(np.ones(4), 40))])
def test_draws_have_the_moments_of_the_law(law: Law) -> None:
    guess = guesses(40, 6, 4)
    right = hits(law.draw(20_000, RNG(4)), guess, 4)
    mean, deviation = law.moments(guess)
    assert np.abs((right.mean(axis=0) - mean) / deviation).max() < 4.5 / 20_000**0.5
    assert right.std(axis=0) == pytest.approx(deviation, rel=0.03)


def test_a_draw_keeps_what_was_drawn_and_follows_certain_chances() -> None:
    values = RNG(5).integers(0, 3, 30)
    drawn = Exchangeable(values, 3).draw(50, RNG(6))
    assert all(sorted(one) == sorted(values.tolist()) for one in drawn.tolist())
    assert len({tuple(one) for one in drawn.tolist()}) == 50
    assert (Independent(np.eye(3)[values]).draw(5, RNG(7)) == values).all()


def test_what_has_no_room_is_no_success() -> None:
    right, mean, deviation = np.array([[3.0, 5.0]]), np.array([3.0, 4.0]), np.array([1e-9, 0.5])
    assert standardised(right, mean, deviation).tolist() == [[0.0, 2.0]]
    # A column of one guess everywhere is right as often in every order.
    assert Exchangeable(np.array([0, 1, 1, 0]), 2).moments(np.ones((4, 1), dtype=np.int64))[1] == pytest.approx([0.0])


def test_the_statistic_is_the_largest_plus_the_mean() -> None:
    assert combined(np.array([[1.0, 3.0, -1.0], [0.0, 0.0, 0.0]])).tolist() == [4.0, 0.0]


def step_down_slowly(seen: np.ndarray, null: np.ndarray) -> list[float]:
    order, found, most = sorted(range(seen.size), key=lambda one: -seen[one]), [0.0] * seen.size, 0.0
    for place, one in enumerate(order):
        beaten = sum(max(row[other] for other in order[place:]) >= seen[one] for row in null)
        most = max(most, (1 + beaten) / (len(null) + 1))
        found[one] = most
    return found


def test_step_down_is_that_of_the_slow_loop_and_no_larger_than_single_step() -> None:
    null = RNG(8).normal(size=(60, 5)) @ RNG(9).normal(size=(5, 5))
    for seed in range(10):
        seen = 2.0 * RNG(seed).normal(size=5).round(1)
        p = step_down_p(seen, null)
        assert p.tolist() == pytest.approx(step_down_slowly(seen, null))
        assert p[seen.argmax()] == pytest.approx(permutation_p(seen.max(), null.max(axis=1)))
    with pytest.raises(ValueError, match="finite"):
        step_down_p([1.0, np.nan], np.zeros((3, 2)))
