from __future__ import annotations

from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.core.arrays import log_softmax
from discreet.stats.mechanisms.base import canonical
from discreet.stats.mechanisms.outputs.laplace import Laplace, clipped, laplace_epsilon, mean_laplace

Floats = NDArray[np.float64]


class TestMeanOfDraws:
    @pytest.mark.parametrize("k", [1, 2, 5, 16, 64, 256])
    def test_has_the_distribution_of_a_mean_of_k_draws(self, k: int) -> None:
        rng = np.random.default_rng(k)
        fast = mean_laplace((20_000,), k, rng)
        slow = rng.laplace(size=(5_000, k)).mean(axis=1)
        assert stats.ks_2samp(fast, slow).pvalue > 0.001
        assert fast.var() == pytest.approx(2 / k, rel=0.1)

    def test_draws_are_independent_over_cells(self) -> None:
        noise = mean_laplace((20_000, 3), 4, np.random.default_rng(2))
        assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 0.03


class TestAnswers:
    def test_averaging_real_answers_leaves_what_pooled_draws(self) -> None:
        """An attacker sees softmax outputs only: the mean of their logs, renormalised, is the noisy mean of logits."""
        rng = np.random.default_rng(3)
        row, k, n = np.array([1.0, -0.5, 0.2]), 16, 4_000
        logits = np.tile(row, (n, 1))
        inputs = canonical(["x"] * n)
        mechanism = Laplace(0.7)
        answers = np.stack([np.log(mechanism.release(logits, inputs, rng)) for _ in range(k)])
        slow = log_softmax(answers.mean(axis=0))
        fast = log_softmax(mechanism.pooled(logits, inputs, k, rng))
        for label in range(3):
            assert stats.ks_2samp(slow[:, label], fast[:, label]).pvalue > 0.001
        assert np.abs(fast.mean(axis=0) - log_softmax(row)).max() < 0.05

    def test_no_noise_is_the_softmax_and_clipping_bounds_what_noise_is_added_to(self) -> None:
        inputs, rng = canonical("ab"), np.random.default_rng(0)
        released = Laplace(0.0).release(np.array([[2.0, 0.0], [0.0, 0.0]]), inputs, rng)
        np.testing.assert_allclose(released, [[1 / (1 + exp(-2)), 1 / (1 + exp(2))], [0.5, 0.5]])
        logits = np.array([[30.0, 10.0], [5.0, 4.0]])
        np.testing.assert_array_equal(clipped(logits, None), logits)
        np.testing.assert_allclose(clipped(logits, 3.0), [[3.0, -3.0], [0.5, -0.5]])
        np.testing.assert_allclose(Laplace(0.0, clip=3.0).pooled(logits, inputs, 1, rng), clipped(logits, 3.0))


def two_class_loss(shift: float, sigma: float, grid: Floats) -> float:
    """Largest log ratio of densities of the released log odds, whose noise is a difference of two Laplace variates."""

    def log_density(x: Floats) -> Floats:
        return np.log1p(np.abs(x) / sigma) - np.abs(x) / sigma

    return float(np.abs(log_density(grid) - log_density(grid - shift)).max())


class TestLocalEpsilon:
    @pytest.mark.parametrize(("clip", "sigma"), [(1.0, 1.0), (2.0, 0.5), (0.3, 2.0)])
    def test_two_classes_by_the_density_of_the_log_odds(self, clip: float, sigma: float) -> None:
        epsilon = 4 * clip / sigma
        assert laplace_epsilon(2, sigma, clip) == pytest.approx(epsilon)
        # Log odds of centred logits in [-c, c]^2 move by 4c at the most.
        near = two_class_loss(4 * clip, sigma, np.linspace(-40, 40, 20_001))
        far = two_class_loss(4 * clip, sigma, np.array([1e7]))
        assert near < epsilon
        assert far == pytest.approx(epsilon, rel=1e-4)

    def test_it_adds_up_over_fresh_answers_and_may_not_be_finite(self) -> None:
        assert Laplace(0.5, clip=2.0).epsilon(2, 10) == pytest.approx(160.0)
        assert Laplace(0.5, clip=2.0).epsilon(5) == pytest.approx(32.0)
        assert Laplace(1.0).epsilon(2) is Laplace(0.0, clip=1.0).epsilon(2) is None


@pytest.mark.parametrize(("sigma", "clip"), [(-1.0, None), (np.nan, None), (np.inf, None), (1.0, 0.0), (1.0, -2.0),
                                             (1.0, np.nan), (1.0, np.inf)])
def test_scales_that_cannot_be(sigma: float, clip: float | None) -> None:
    with pytest.raises(ValueError, match="expected a finite number"):
        Laplace(sigma, clip)
