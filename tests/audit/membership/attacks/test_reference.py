from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.random import Generator
from tests.audit.membership.conftest import MakeView

from discreet.audit.membership.attack import References, Scale, View
from discreet.audit.membership.attacks.reference import Reference
from discreet.audit.scores.table import ReferenceKind


def signal(log_p: np.ndarray, y: int, scale: Scale) -> float:
    p = math.exp(log_p[y])
    return math.log(min(max(p, 1e-7), 1 - 1e-7)) if scale == "p" else math.log(p / (1 - p))


def by_hand(view: View, scale: Scale, kind: ReferenceKind) -> list[float]:
    """Row by row, query by query, model by model."""
    references = view.references[kind]
    scores = []
    for i, y in enumerate(view.label):
        gaps = []
        for q in range(view.target.shape[1]):
            others = [signal(references.log_p[r, i, q], y, scale) for r in range(len(references.member))
                      if kind != "population" or references.member[r, i] == 0]
            if others:
                gaps.append(signal(view.target[i, q], y, scale) - sum(others) / len(others))
        scores.append(sum(gaps) / len(gaps) if gaps else math.nan)
    return scores


@pytest.mark.parametrize("scale", Reference.scales)
@pytest.mark.parametrize("kind", Reference.kinds)
def test_it_is_the_loop(make_view: MakeView, rng: Generator, scale: Scale, kind: ReferenceKind) -> None:
    view = make_view(classes=3)
    np.testing.assert_allclose(Reference().scores(view, scale, kind, rng), by_hand(view, scale, kind), rtol=1e-9,
                               atol=1e-12)


def test_one_paired_reference_is_the_papers_score(rng: Generator) -> None:
    """log p_y(target) − log p_y(reference), both clipped: 1e-9 counts as 1e-7."""
    target, other = np.array([0.9, 1e-9, 0.5]), np.array([0.6, 0.5, 1e-9])

    def of(p: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(np.stack([p, 1 - p], axis=-1)))[:, None, :]

    paired = References(of(other)[None], np.array([[0, 1, 1]], np.int8))
    view = View(of(target), np.zeros(3, dtype=np.int64), {"paired": paired}, np.zeros(0, np.int64), np.arange(3))
    expected = [math.log(0.9 / 0.6), math.log(1e-7 / 0.5), math.log(0.5 / 1e-7)]
    np.testing.assert_allclose(Reference().scores(view, "p", "paired", rng), expected, rtol=1e-12)
