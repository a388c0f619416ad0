from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import integrate, stats

from discreet.stats.mechanisms.labels.alibi import Alibi, map_truth
from discreet.stats.mechanisms.labels.base import epsilon_of

Floats = NDArray[np.float64]
RNG = np.random.default_rng


def by_bayes(x: Floats, prior: Floats, scale: float) -> Floats:
    """The posterior from the densities of the whole noisy vector, one candidate after another."""
    weights = np.empty(prior.size)
    for label in range(prior.size):
        one_hot = np.arange(prior.size) == label
        weights[label] = np.log(prior[label]) + stats.laplace.logpdf(x, one_hot, scale).sum()
    weights = np.exp(weights - weights.max())
    return np.asarray(weights / weights.sum())


class TestPosterior:
    @settings(deadline=None)
    @given(st.integers(2, 6).flatmap(lambda k: st.tuples(
        hnp.arrays(np.float64, (4, k), elements=st.floats(-5.0, 6.0)),
        hnp.arrays(np.float64, (4, k), elements=st.floats(0.01, 1.0)))), st.floats(0.05, 10.0))
    def test_is_bayes_rule(self, drawn: tuple[Floats, Floats], epsilon: float) -> None:
        x, weights = drawn
        mechanism = Alibi.at(epsilon, x.shape[1])
        found = mechanism.posterior(x, weights)
        slow = [by_bayes(row, prior / prior.sum(), 2.0 / epsilon) for row, prior in zip(x, weights, strict=True)]
        np.testing.assert_allclose(found, slow, atol=1e-10)
        assert (found[np.arange(4), mechanism.likeliest(x, weights)] >= found.max(axis=1) - 1e-12).all()

    def test_one_prior_for_all_and_none_at_all(self) -> None:
        x = RNG(0).normal(size=(5, 3))
        mechanism = Alibi.at(1.0, 3)
        np.testing.assert_allclose(mechanism.posterior(x), mechanism.posterior(x, [2.0, 2.0, 2.0]))
        tilted = mechanism.posterior(x, [1.0, 2.0, 4.0])
        np.testing.assert_allclose(tilted, mechanism.posterior(x, np.tile([1.0, 2.0, 4.0], (5, 1))))
        assert not np.allclose(tilted, mechanism.posterior(x))
        # A class that cannot be stays so.
        assert mechanism.posterior([[9.0, 0.0, 0.0]], [0.0, 1.0, 1.0])[0].tolist() == [0.0, 0.5, 0.5]

    def test_no_noise_gives_the_labels(self) -> None:
        mechanism = Alibi.at(inf, 3)
        x = mechanism.observe([2, 0], RNG(0))
        assert mechanism.posterior(x, [0.9, 0.05, 0.05]).tolist() == [[0, 0, 1], [1, 0, 0]]
        assert mechanism.likeliest(x, [0.9, 0.05, 0.05]).tolist() == [2, 0]
        assert mechanism.apply([2, 0], RNG(0)).tolist() == [2, 0]


class TestNoise:
    def test_is_laplace_of_scale_two_over_epsilon_round_the_one_hot(self) -> None:
        labels = np.arange(20_000) % 4
        noise = Alibi.at(1.5, 4).observe(labels, RNG(2)) - np.eye(4)[labels]
        for column in noise.T:
            assert stats.kstest(column, "laplace", args=(0, 2 / 1.5)).pvalue > 0.001
        assert np.abs(np.corrcoef(noise.T) - np.eye(4)).max() < 0.03

    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
    def test_its_epsilon_is_attained_and_not_exceeded(self, epsilon: float) -> None:
        mechanism = Alibi.at(epsilon, 3)
        x = np.vstack([[2.0, -1.0, 0.3], RNG(3).normal(0, 3, (500, 3))])
        density = np.stack([stats.laplace.logpdf(x, np.eye(3)[y], mechanism.scale).sum(axis=1) for y in range(3)])
        loss = density.max(axis=0) - density.min(axis=0)
        assert loss[0] == pytest.approx(epsilon)
        assert loss.max() <= epsilon + 1e-9
        assert mechanism.exact_epsilon() == epsilon


class TestHardLabels:
    @pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 9.0, 60.0])
    @pytest.mark.parametrize("n_classes", [2, 7, 300])
    def test_how_often_they_are_true(self, epsilon: float, n_classes: int) -> None:
        d = epsilon / 2
        laplace = stats.laplace

        def density(u: float) -> float:
            return float(laplace.pdf(u) * laplace.cdf(u + d) ** (n_classes - 1))

        slow = sum(integrate.quad(density, a, b, epsabs=1e-12, limit=200)[0]
                   for a, b in ((-d - 40, -d), (-d, 0), (0, 8), (8, 60)))
        assert map_truth(epsilon, n_classes) == pytest.approx(slow, abs=1e-9)

    @settings(deadline=None)
    @given(st.floats(0.05, 12.0), st.integers(2, 50))
    def test_their_epsilon_is_below_that_of_what_is_released(self, epsilon: float, n_classes: int) -> None:
        matrix = Alibi.at(epsilon, n_classes).transition()
        assert matrix is not None
        assert 0.0 < epsilon_of(matrix) < epsilon

    def test_a_prior_moves_them_and_has_no_matrix(self) -> None:
        mechanism, labels = Alibi.at(1.0, 3), np.arange(3000) % 3
        x = mechanism.observe(labels, RNG(4))
        sure = mechanism.likeliest(x, np.eye(3)[labels] * 0.9 + 0.03)
        assert (sure == labels).mean() > (mechanism.likeliest(x) == labels).mean() + 0.2
        assert mechanism.transition([1.0, 1.0, 1.0]) is None
        assert mechanism.should_stay(labels, [1.0, 1.0, 1.0]) is None


@pytest.mark.parametrize(("observed", "message"), [
    ([[0.0, 1.0]], r"shape \(1, 2\): expected \(N, 3\)"), ([0.0, 1.0, 0.0], r"shape \(3,\)"),
    ([[np.nan, 0.0, 0.0]], "NaN"),
])
def test_what_was_never_released_is_refused(observed: list[object], message: str) -> None:
    for ask in (Alibi.at(1.0, 3).posterior, Alibi.at(1.0, 3).likeliest):
        with pytest.raises(ValueError, match=message):
            ask(observed)  # type: ignore[arg-type]
