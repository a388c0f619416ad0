from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import stats

from discreet.stats.mechanisms.labels.base import epsilon_of
from discreet.stats.mechanisms.labels.rr import RandomisedResponse
from discreet.stats.mechanisms.labels.rr_top_k import RRTopK, RRWithPrior, best_k, truth_by_k

Floats = NDArray[np.float64]
WEIGHTS = st.integers(2, 8).flatmap(lambda k: hnp.arrays(np.float64, k, elements=st.floats(0.01, 1.0)))
EPSILONS = st.floats(0.05, 8.0)
PRIOR = np.array([0.05, 0.4, 0.1, 0.3, 0.15])


def slow_matrix(prior: Floats, k: int, epsilon: float) -> Floats:
    """Algorithm 1 word for word."""
    n_classes = prior.size
    top = sorted(range(n_classes), key=lambda y: (-prior[y], y))[:k]
    matrix = np.zeros((n_classes, n_classes))
    for label in range(n_classes):
        for released in top:
            if label not in top:
                matrix[label, released] = 1 / k
            else:
                matrix[label, released] = (exp(epsilon) if released == label else 1.0) / (exp(epsilon) + k - 1)
    return matrix


class TestRRTopK:
    @settings(deadline=None)
    @given(WEIGHTS, EPSILONS, st.data())
    def test_the_matrix_is_algorithm_1_and_has_its_epsilon(self, prior: Floats, epsilon: float, data: st.DataObject
                                                           ) -> None:
        k = data.draw(st.integers(1, prior.size))
        mechanism = RRTopK.at(epsilon, prior.size, k)
        matrix = mechanism.transition(prior)
        np.testing.assert_allclose(matrix, slow_matrix(prior, k, epsilon), atol=1e-12)
        assert epsilon_of(matrix) == pytest.approx(mechanism.exact_epsilon(prior), abs=1e-9)
        assert mechanism.exact_epsilon() == (epsilon if k > 1 else 0.0)

    def test_a_prior_for_each_example_is_its_own(self) -> None:
        n = 20_000
        prior = np.tile([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], (n, 1))
        labels = np.zeros(2 * n, dtype=int)
        released = RRTopK.at(1.0, 3, 2).apply(labels, np.random.default_rng(0), prior)
        first, second = released[::2], released[1::2]
        assert set(first.tolist()) == {0, 1}
        assert set(second.tolist()) == {1, 2}
        assert stats.binomtest(int((first == 0).sum()), n, exp(1) / (exp(1) + 1)).pvalue > 0.001
        assert stats.binomtest(int((second == 1).sum()), n, 0.5).pvalue > 0.001

    def test_the_default_k_and_those_that_are_refused(self) -> None:
        assert [RRTopK.at(1.0, n_classes).k for n_classes in (2, 3, 9, 10)] == [2, 2, 5, 5]
        for k in (0, 6, 1.5):
            with pytest.raises(ValueError, match=f"k is {k}: expected a whole number from 1 to 5"):
                RRTopK.at(1.0, 5, k)  # type: ignore[arg-type]

    def test_it_needs_a_prior_and_one_for_each_example_has_no_one_matrix(self) -> None:
        mechanism = RRTopK.at(1.0, 5)
        for ask in (lambda: mechanism.apply([0], np.random.default_rng(0)), mechanism.transition,
                    lambda: mechanism.should_stay([0])):
            with pytest.raises(ValueError, match="given no prior"):
                ask()
        with pytest.raises(ValueError, match=r"shape \(2, 5\)"):
            mechanism.transition(np.tile(PRIOR, (2, 1)))


class TestRRWithPrior:
    @settings(deadline=None)
    @given(WEIGHTS, EPSILONS)
    def test_no_k_tells_the_truth_more_often(self, weights: Floats, epsilon: float) -> None:
        prior = weights / weights.sum()
        truth = [float(prior @ np.diag(slow_matrix(prior, k, epsilon))) for k in range(1, prior.size + 1)]
        np.testing.assert_allclose(truth_by_k(prior, epsilon), truth, atol=1e-12)
        matrix = RRWithPrior.at(epsilon, prior.size).transition(weights)
        assert float(prior @ np.diag(matrix)) == pytest.approx(max(truth), abs=1e-12)
        mechanism = RRWithPrior.at(epsilon, prior.size)
        assert epsilon_of(matrix) == pytest.approx(mechanism.exact_epsilon(weights), abs=1e-9)

    @settings(deadline=None)
    @given(EPSILONS, st.integers(2, 50))
    def test_without_a_prior_it_is_randomised_response(self, epsilon: float, n_classes: int) -> None:
        np.testing.assert_allclose(RRWithPrior.at(epsilon, n_classes).transition(),
                                   RandomisedResponse.at(epsilon, n_classes).transition())

    def test_a_sure_prior_looks_at_no_label(self) -> None:
        mechanism, prior = RRWithPrior.at(0.5, 3), np.array([0.9, 0.05, 0.05])
        assert int(best_k(prior, 0.5)) == 1
        assert mechanism.exact_epsilon(prior) == 0.0
        assert (mechanism.apply([0, 1, 2] * 100, np.random.default_rng(0), prior) == 0).all()

    def test_each_example_has_its_own_k(self) -> None:
        prior = np.array([[0.9, 0.05, 0.05], [1 / 3, 1 / 3, 1 / 3], [0.49, 0.49, 0.02]])
        assert best_k(prior, 0.5).tolist() == [1, 3, 2]
        # Equals go to the larger: both tell .75 of the truth, k = 1 by the prior, k = 2 by e^ε / (e^ε + 1).
        assert int(best_k(np.array([0.75, 0.25]), float(np.log(3.0)))) == 2
        mechanism = RRWithPrior.at(0.5, 3)
        e = exp(0.5)
        np.testing.assert_allclose(mechanism.should_stay([0, 0, 2], prior), [1.0, e / (e + 2), 0.0])
        assert mechanism.exact_epsilon(prior) == 0.5
        assert mechanism.exact_epsilon(prior[:1]) == 0.0

    def test_draws_with_several_k_follow_their_chances(self) -> None:
        n = 30_000
        prior = np.tile([[0.49, 0.49, 0.02], [1 / 3, 1 / 3, 1 / 3]], (n, 1))
        labels = np.tile([1, 2], n)
        mechanism = RRWithPrior.at(0.5, 3)
        kept = mechanism.apply(labels, np.random.default_rng(5), prior) == labels
        chance = mechanism.should_stay(labels, prior)
        for part in (slice(0, None, 2), slice(1, None, 2)):
            assert stats.binomtest(int(kept[part].sum()), n, float(chance[part][0])).pvalue > 0.001
