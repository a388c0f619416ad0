"""What holds of every label mechanism, a plug-in's too, and of every one that dp_accounting knows."""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.stats.mechanisms.labels.alibi import Alibi
from discreet.stats.mechanisms.labels.base import (
    LabelMechanism,
    epsilon_of,
    label_mechanism,
    label_mechanisms,
    truth_probability,
)
from discreet.stats.mechanisms.labels.rr import HalvedRandomisedResponse, RandomisedResponse, randomised_response
from discreet.stats.mechanisms.labels.rr_top_k import RRTopK

NAMES = list(label_mechanisms)
PRIOR = np.array([0.05, 0.4, 0.1, 0.3, 0.15])


def test_the_built_ins() -> None:
    assert {"alibi", "rr", "rr_halved", "rr_top_k", "rr_with_prior"} <= set(NAMES)
    assert [name for name in NAMES if label_mechanisms[name].broken] == ["rr_halved"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 10])
class TestEvery:
    def test_releases_labels_and_keeps_its_input(self, name: str, n_classes: int) -> None:
        mechanism = label_mechanism(name, 1.0, n_classes, allow_broken=True)
        assert (mechanism.epsilon, mechanism.n_classes) == (1.0, n_classes)
        labels = np.arange(200) % n_classes
        before = labels.copy()
        prior = None if mechanism.takes_prior == "no" else np.arange(1.0, n_classes + 1)
        released = mechanism.apply(labels, np.random.default_rng(0), prior)
        assert released.shape == (200,)
        assert released.dtype == np.int64
        assert set(released.tolist()) <= set(range(n_classes))
        assert (released != labels).any()
        assert (labels == before).all()

    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
    def test_its_matrix_has_its_exact_epsilon_and_keeps_what_conformance_expects(
            self, name: str, n_classes: int, epsilon: float) -> None:
        mechanism = label_mechanism(name, epsilon, n_classes, allow_broken=True)
        prior = np.arange(1.0, n_classes + 1) if mechanism.takes_prior == "needed" else None
        matrix, stay = mechanism.transition(prior), mechanism.should_stay(np.arange(n_classes), prior)
        assert matrix is not None
        assert stay is not None
        assert epsilon_of(matrix) <= mechanism.exact_epsilon(prior) + 1e-9
        assert (mechanism.exact_epsilon(prior) > epsilon + 1e-9) == mechanism.broken
        assert np.allclose(np.diag(matrix), stay) != mechanism.broken


def fit_of(mechanism: LabelMechanism, prior: Any = None, n: int = 20_000) -> float:
    """Least chi-square p over labels of what became of n draws of each, times K; 0 for a draw of probability 0."""
    k, matrix = mechanism.n_classes, mechanism.transition(prior)
    assert matrix is not None
    labels = np.repeat(np.arange(k), n)
    released = mechanism.apply(labels, np.random.default_rng(1), prior)
    seen, found = np.bincount(labels * k + released, minlength=k * k).reshape(k, k), [1.0]
    for row, due in zip(seen, n * matrix, strict=True):
        can = due > 0
        if row[~can].any():
            return 0.0
        if can.sum() > 1:
            found.append(float(stats.chisquare(row[can], due[can]).pvalue))
    return k * min(found)


# A rule of ALIBI's that gave ties to the first class would fail: above 1 all x are equally telling.
@pytest.mark.parametrize("mechanism", [
    *(RandomisedResponse.at(*at) for at in ((0.3, 2), (1.0, 2), (4.0, 2), (1.0, 10), (3.0, 4))),
    *(HalvedRandomisedResponse.at(*at) for at in ((0.3, 2), (2.0, 2), (1.0, 10))),
    *(Alibi.at(*at) for at in ((1.0, 2), (2.0, 5), (6.0, 10))), *(RRTopK.at(1.2, 5, k) for k in (1, 2, 3, 5))], ids=str)
def test_draws_follow_the_matrix(mechanism: LabelMechanism) -> None:
    assert fit_of(mechanism, PRIOR if isinstance(mechanism, RRTopK) else None) > 0.001


class TestRandomisedResponse:
    @pytest.mark.parametrize("kind", [RandomisedResponse, HalvedRandomisedResponse])
    @settings(deadline=None)
    @given(st.floats(0.01, 20.0), st.integers(2, 60))
    def test_the_matrix_has_exactly_its_epsilon(self, kind: type[RandomisedResponse], epsilon: float, n_classes: int
                                                ) -> None:
        mechanism = kind.at(epsilon, n_classes)
        np.testing.assert_allclose(mechanism.transition().sum(axis=1), 1.0)
        # At ε = 20 the lies are 1e-9 of a chance that is 1 less that much.
        assert epsilon_of(mechanism.transition()) == pytest.approx(mechanism.exact_epsilon(), abs=1e-5)
        assert (mechanism.exact_epsilon() > epsilon) == kind.broken
        assert kind.broken or mechanism.exact_epsilon() == epsilon

    def test_flips_are_independent_of_each_other(self) -> None:
        changed = randomised_response(np.zeros(100_000), 0.6, 2, np.random.default_rng(2)) == 1
        after = changed[1:][changed[:-1]]
        assert stats.binomtest(int(after.sum()), after.size, 0.4).pvalue > 0.001

    def test_no_noise_at_infinity(self) -> None:
        labels = np.arange(1000) % 7
        for kind in (RandomisedResponse, HalvedRandomisedResponse):
            assert (kind.at(inf, 7).apply(labels, np.random.default_rng(0)) == labels).all()
            assert kind.at(inf, 3).exact_epsilon() == inf

    @pytest.mark.parametrize(("claimed", "real"), [(0.3, 1.31), (1.0, 1.86), (0.5, log(1 + 2 * exp(0.5)))])
    def test_known_values_of_the_halved_one(self, claimed: float, real: float) -> None:
        assert HalvedRandomisedResponse.at(claimed, 2).exact_epsilon() == pytest.approx(real, abs=0.005)


@pytest.mark.parametrize("n_classes", [2, 10, 100])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 4.0])
def test_dp_accounting_agrees(epsilon: float, n_classes: int) -> None:
    """Its randomised response draws from all K classes with probability `noise`; its ε is rounded up to 1e-4."""
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

    def oracle(noise: float) -> float:
        return float(distributions.from_randomized_response(noise, n_classes).get_epsilon_for_delta(0.0))

    lie = 1.0 - truth_probability(epsilon, n_classes)
    # Our lies come from the other classes: a draw from all K is the truth in one case of K.
    sound = label_mechanism("rr", epsilon, n_classes)
    assert oracle(lie * n_classes / (n_classes - 1)) == pytest.approx(sound.exact_epsilon(), abs=3e-4)
    assert lie * n_classes / (n_classes - 1) == pytest.approx(n_classes / (exp(epsilon) + n_classes - 1))
    assert oracle(lie) == pytest.approx(HalvedRandomisedResponse.at(epsilon, n_classes).exact_epsilon(), abs=3e-4)
