"""Mechanisms that draw nothing: none, rounding, top label."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.arrays import log_softmax
from discreet.stats.mechanisms.base import canonical
from discreet.stats.mechanisms.outputs.deterministic import Rounding, TopLabel, Undefended

RNG = np.random.default_rng(0)
P = np.array([[0.7349, 0.2651], [0.0041, 0.9959], [0.996, 0.004], [0.5, 0.5]])
LOGITS = np.log(P)
INPUTS = canonical("abcd")


@pytest.mark.parametrize(("decimals", "released", "read"), [
    (2, [[0.73, 0.27], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], [[0.73, 0.27], [0.0025, 0.9975], [0.9975, 0.0025],
                                                             [0.5, 0.5]]),
    (1, [[0.7, 0.3], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], [[0.7, 0.3], [0.025, 0.975], [0.975, 0.025], [0.5, 0.5]]),
])
def test_rounding_and_how_it_is_read(decimals: int, released: list[list[float]], read: list[list[float]]) -> None:
    np.testing.assert_allclose(Rounding(decimals).release(LOGITS, INPUTS, RNG), released)
    np.testing.assert_allclose(np.exp(log_softmax(Rounding(decimals).pooled(LOGITS, INPUTS, 5, RNG))), read)


def test_the_end_is_read_as_the_mean_of_what_rounds_to_it() -> None:
    p = (np.arange(10_000) + 0.5) / 10_000
    logits = np.log(np.stack([p, 1 - p], axis=1))
    inputs = canonical(["x"] * p.size)
    read = np.exp(Rounding(1).pooled(logits, inputs, 1, RNG))[:, 0]
    zero = Rounding(1).release(logits, inputs, RNG)[:, 0] == 0
    assert read[zero][0] == pytest.approx(p[zero].mean(), abs=1e-4)


@pytest.mark.parametrize("decimals", [-1, 16, 1.5])
def test_decimals_that_cannot_be(decimals: float) -> None:
    with pytest.raises(ValueError, match="expected a whole number from 0 to 15"):
        Rounding(decimals)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected a whole number from 0 to 15"):
        Rounding.at(decimals, None, RNG)


def test_none_releases_the_softmax_and_top_label_says_which_and_nothing_else() -> None:
    np.testing.assert_allclose(Undefended().release(LOGITS, INPUTS, RNG), P)
    np.testing.assert_allclose(Undefended().pooled(LOGITS + 3.0, INPUTS, 7, RNG), np.log(P))
    logits = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0], [-1.0, -2.0, 9.0]])
    np.testing.assert_array_equal(TopLabel().release(logits, INPUTS[:3], RNG), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    read = np.exp(TopLabel().pooled(logits, INPUTS[:3], 4, RNG))
    np.testing.assert_allclose(read.sum(axis=1), 1.0)
    np.testing.assert_allclose(read[0], [2 / 3, 1 / 6, 1 / 6])
