from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from discreet.audit.membership.attacks.loss import Loss
from discreet.audit.membership.view import View


def test_both_scales_are_the_definitions(make_view: Callable[..., View], rng: np.random.Generator) -> None:
    view = make_view(classes=4)
    p, logit = (Loss().scores(view, scale, None, rng) for scale in ("p", "logit"))
    for i, y in enumerate(view.label):
        chosen = [float(np.exp(view.target[i, q, y])) for q in range(2)]
        assert p[i] == pytest.approx(sum(map(math.log, chosen)) / 2, rel=1e-12)
        assert logit[i] == pytest.approx(sum(math.log(c / (1 - c)) for c in chosen) / 2, rel=1e-9, abs=1e-12)


def test_a_likelier_true_class_scores_higher(rng: np.random.Generator) -> None:
    p = np.array([0.2, 0.5, 0.8])
    target = np.log(np.stack([1 - p, p], axis=-1))[:, None, :]
    view = View(target, np.ones(3, dtype=np.int64), {}, np.zeros(0, dtype=np.int64), np.arange(3))
    for scale in Loss.scales:
        assert (np.diff(Loss().scores(view, scale, None, rng)) > 0).all()


def test_other_scales_and_references_are_refused(make_view: Callable[..., View], rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="scale is 'log'"):
        Loss().scores(make_view(), "log", None, rng)  # type: ignore[arg-type]
    assert Loss().needs(make_view(), "neutral") == "it works with no references and was asked for neutral"
    with pytest.raises(ValueError, match="no references"):
        Loss().scores(make_view(), "p", "neutral", rng)
