from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import entropy as scipy_entropy

from discreet.audit.membership.attacks.confidence import Confidence
from discreet.audit.membership.attacks.entropy import Entropy
from discreet.audit.membership.view import View


def test_it_is_minus_the_entropy(make_view: Callable[..., View], rng: np.random.Generator) -> None:
    view = make_view(classes=5)
    scores = Entropy().scores(view, "p", None, rng)
    for i, score in enumerate(scores):
        assert score == pytest.approx(-np.mean([scipy_entropy(np.exp(view.target[i, q])) for q in range(2)]))


def test_two_classes_are_ordered_as_by_confidence(make_view: Callable[..., View], rng: np.random.Generator) -> None:
    view = make_view(classes=2, queries=1)
    ours, confidence = Entropy().scores(view, "p", None, rng), Confidence().scores(view, "p", None, rng)
    assert np.array_equal(np.argsort(ours), np.argsort(confidence))
    assert (ours < 0).all()
    assert (ours >= -np.log(2)).all()
