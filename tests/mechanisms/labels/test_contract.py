"""What holds of every label mechanism, a plug-in's too, and of every one that dp_accounting knows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.mechanisms.labels.base import epsilon_of, label_mechanism, label_mechanisms, truth_probability
from discreet.mechanisms.labels.rr import HalvedRandomisedResponse

NAMES = list(label_mechanisms)


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

    def test_its_matrix_has_no_more_than_its_exact_epsilon(self, name: str, n_classes: int) -> None:
        for epsilon in (0.3, 1.0, 4.0):
            mechanism = label_mechanism(name, epsilon, n_classes, allow_broken=True)
            prior = np.arange(1.0, n_classes + 1) if mechanism.takes_prior == "needed" else None
            matrix = mechanism.transition(prior)
            assert matrix is not None
            assert epsilon_of(matrix) <= mechanism.exact_epsilon(prior) + 1e-9
            assert (mechanism.exact_epsilon(prior) > epsilon + 1e-9) == mechanism.broken

    def test_it_keeps_what_conformance_expects_unless_it_is_broken(self, name: str, n_classes: int) -> None:
        mechanism = label_mechanism(name, 1.0, n_classes, allow_broken=True)
        prior = np.arange(1.0, n_classes + 1) if mechanism.takes_prior == "needed" else None
        matrix, labels = mechanism.transition(prior), np.arange(n_classes)
        stay = mechanism.should_stay(labels, prior)
        assert matrix is not None
        assert stay is not None
        assert np.allclose(np.diag(matrix), stay) != mechanism.broken


@pytest.mark.parametrize("n_classes", [2, 10, 100])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 4.0])
def test_dp_accounting_agrees(epsilon: float, n_classes: int) -> None:
    """Its randomised response draws from all K classes with probability `noise`; its ε is rounded up to 1e-4."""
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

    def oracle(noise: float) -> float:
        made = distributions.from_randomized_response(noise, n_classes)
        return float(made.get_epsilon_for_delta(0.0))

    lie = 1.0 - truth_probability(epsilon, n_classes)
    # Our lies come from the other classes: a draw from all K is the truth in one case of K.
    sound = label_mechanism("rr", epsilon, n_classes)
    assert oracle(lie * n_classes / (n_classes - 1)) == pytest.approx(sound.exact_epsilon(), abs=3e-4)
    assert lie * n_classes / (n_classes - 1) == pytest.approx(n_classes / (math.exp(epsilon) + n_classes - 1))
    assert oracle(lie) == pytest.approx(HalvedRandomisedResponse.at(epsilon, n_classes).exact_epsilon(), abs=3e-4)
