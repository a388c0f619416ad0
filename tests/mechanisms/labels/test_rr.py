from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.mechanisms.labels.base import LabelMechanism, epsilon_of
from discreet.mechanisms.labels.rr import HalvedRandomisedResponse, RandomisedResponse, randomised_response

EPSILONS = st.floats(0.01, 20.0)
CLASSES = st.integers(2, 60)


def fits(mechanism: LabelMechanism, n: int, seed: int) -> float:
    """Least chi-square p over labels of what became of n draws of each, times K."""
    k = mechanism.n_classes
    matrix = mechanism.transition()
    assert matrix is not None
    labels = np.repeat(np.arange(k), n)
    released = mechanism.apply(labels, np.random.default_rng(seed))
    seen = np.bincount(labels * k + released, minlength=k * k).reshape(k, k)
    return k * min(float(stats.chisquare(seen[y], n * matrix[y]).pvalue) for y in range(k))


class TestRandomisedResponse:
    @settings(deadline=None)
    @given(EPSILONS, CLASSES)
    def test_the_matrix_has_exactly_its_epsilon(self, epsilon: float, n_classes: int) -> None:
        mechanism = RandomisedResponse.at(epsilon, n_classes)
        matrix = mechanism.transition()
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
        # At ε = 20 the lies are 1e-9 of a chance that is 1 less that much.
        assert epsilon_of(matrix) == pytest.approx(epsilon, abs=1e-5)
        assert mechanism.exact_epsilon() == epsilon

    @pytest.mark.parametrize(("epsilon", "n_classes"), [(0.3, 2), (1.0, 2), (4.0, 2), (1.0, 10), (3.0, 4)])
    def test_draws_follow_the_matrix(self, epsilon: float, n_classes: int) -> None:
        assert fits(RandomisedResponse.at(epsilon, n_classes), 20_000, 1) > 0.001

    def test_the_check_would_notice_a_lie_from_all_classes(self) -> None:
        class Wrong(RandomisedResponse):
            def apply(self, labels: object, rng: np.random.Generator, prior: object = None) -> object:  # type: ignore[override]
                return HalvedRandomisedResponse.at(self.epsilon, self.n_classes).apply(labels, rng)  # type: ignore[arg-type]

        assert fits(Wrong(3.0, 10), 20_000, 1) < 1e-6

    def test_flips_are_independent_of_each_other(self) -> None:
        changed = randomised_response(np.zeros(100_000), 0.6, 2, np.random.default_rng(2)) == 1
        after = changed[1:][changed[:-1]]
        assert stats.binomtest(int(after.sum()), after.size, 0.4).pvalue > 0.001

    def test_no_noise_at_infinity(self) -> None:
        labels = np.arange(1000) % 7
        for kind in (RandomisedResponse, HalvedRandomisedResponse):
            assert (kind.at(inf, 7).apply(labels, np.random.default_rng(0)) == labels).all()
        assert HalvedRandomisedResponse.at(inf, 3).exact_epsilon() == inf


class TestHalved:
    @settings(deadline=None)
    @given(EPSILONS, CLASSES)
    def test_its_real_epsilon_is_that_of_its_matrix(self, epsilon: float, n_classes: int) -> None:
        mechanism = HalvedRandomisedResponse.at(epsilon, n_classes)
        assert epsilon_of(mechanism.transition()) == pytest.approx(mechanism.exact_epsilon(), abs=1e-5)
        assert mechanism.exact_epsilon() > mechanism.epsilon

    @pytest.mark.parametrize(("claimed", "real"), [(0.3, 1.31), (1.0, 1.86), (0.5, log(1 + 2 * exp(0.5)))])
    def test_known_values_of_two_classes(self, claimed: float, real: float) -> None:
        assert HalvedRandomisedResponse.at(claimed, 2).exact_epsilon() == pytest.approx(real, abs=0.005)

    @pytest.mark.parametrize(("epsilon", "n_classes"), [(0.3, 2), (2.0, 2), (1.0, 10)])
    def test_draws_follow_the_matrix(self, epsilon: float, n_classes: int) -> None:
        assert fits(HalvedRandomisedResponse.at(epsilon, n_classes), 20_000, 4) > 0.001
