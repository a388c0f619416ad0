from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from discreet.audit.membership.attacks.confidence import Confidence, TrueClassConfidence
from discreet.audit.membership.view import View
from discreet.core.names import attack_name


def test_both_scales_are_the_definitions(make_view: Callable[..., View], rng: np.random.Generator) -> None:
    view = make_view(classes=4)
    p, logit = (Confidence().scores(view, scale, None, rng) for scale in ("p", "logit"))
    for i in range(view.label.size):
        tops = [max(math.exp(v) for v in view.target[i, q]) for q in range(2)]
        assert p[i] == pytest.approx(sum(tops) / 2, rel=1e-12)
        assert logit[i] == pytest.approx(sum(math.log(t / (1 - t)) for t in tops) / 2, rel=1e-9, abs=1e-12)


def test_the_label_does_not_matter(make_view: Callable[..., View], rng: np.random.Generator) -> None:
    view = make_view(classes=3)
    other = View(view.target, (view.label + 1) % 3, {}, view.population, view.judged)
    for scale in Confidence.scales:
        assert np.array_equal(
            Confidence().scores(view, scale, None, rng), Confidence().scores(other, scale, None, rng),
        )


def test_of_the_true_class_it_is_its_probability(make_view: Callable[..., View], rng: np.random.Generator) -> None:
    view = make_view(classes=4)
    scores = TrueClassConfidence().scores(view, "p", None, rng)
    for i, y in enumerate(view.label):
        assert scores[i] == pytest.approx(sum(math.exp(view.target[i, q, y]) for q in range(2)) / 2, rel=1e-12)
    assert not np.array_equal(np.argsort(scores), np.argsort(Confidence().scores(view, "p", None, rng)))


def test_both_are_named() -> None:
    row = {"scale": "p", "reference_kind": None}
    assert [attack_name({**row, "attack": name}) for name in ("confidence", "confidence_true")] == [
        "confidence, top class, p scale", "confidence, true class, p scale"]
