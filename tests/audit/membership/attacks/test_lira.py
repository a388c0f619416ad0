from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from scipy.stats import norm
from tests.audit.membership.conftest import MakeView

from discreet.audit.membership.attack import References, View
from discreet.audit.membership.attacks.lira import Lira, LiraFixed, LiraOffline
from discreet.audit.scores.table import ReferenceKind

EvaluationSets = tuple[list[float], list[float]]


def phi(log_p: np.ndarray, y: int) -> float:
    p = math.exp(log_p[y])
    return math.log(p) - math.log(1 - p)


def of(value: np.ndarray) -> np.ndarray:
    """Log probabilities of one query with these φ of class 1."""
    return np.stack([-np.log1p(np.exp(value)), -np.log1p(np.exp(-value))], axis=-1)[..., None, :]


def sides(references: References, i: int, q: int, y: int) -> EvaluationSets:
    found: EvaluationSets = ([], [])
    for r in range(len(references.member)):
        if references.member[r, i] >= 0:
            found[1 - references.member[r, i]].append(phi(references.log_p[r, i, q], y))
    return found


def online_by_hand(view: View, fixed: bool) -> list[float]:
    references, scores = view.references["population"], []
    cells = [sides(references, i, q, y) for i, y in enumerate(view.label) for q in range(view.target.shape[1])]
    all_in, all_out = (np.std([v for cell in cells for v in cell[side]]) for side in (0, 1))
    for i, y in enumerate(view.label):
        ratios = []
        for q in range(view.target.shape[1]):
            inside, outside = sides(references, i, q, y)
            if min(len(inside), len(outside)) < (1 if fixed else 2):
                continue
            value = phi(view.target[i, q], y)
            std_in, std_out = (all_in, all_out) if fixed else (np.std(inside), np.std(outside))
            ratios.append(norm.logpdf(value, np.mean(inside), std_in) - norm.logpdf(value, np.mean(outside), std_out))
        scores.append(float(np.mean(ratios)) if ratios else math.nan)
    return scores


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("fixed", [False, True])
def test_online_is_the_loop(make_view: MakeView, rng: Generator, classes: int, fixed: bool) -> None:
    """Seven models on halves: some rows have one model, or none, on a side."""
    view = make_view(classes=classes, n=300, models=5)
    expected = online_by_hand(view, fixed)
    assert 0 < np.isnan(expected).sum() < 150
    scores = (LiraFixed() if fixed else Lira()).scores(view, "logit", "population", rng)
    np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", ["population", "neutral"])
def test_offline_is_the_loop(make_view: MakeView, rng: Generator, kind: ReferenceKind) -> None:
    view = make_view(n=300, models=5)
    expected = []
    for i, y in enumerate(view.label):
        tails = []
        for q in range(2):
            outside = sides(view.references[kind], i, q, y)[1]
            if len(outside) > 1:
                tails.append(norm.logcdf(phi(view.target[i, q], y), np.mean(outside), np.std(outside)))
        expected.append(float(np.mean(tails)) if tails else math.nan)
    assert np.isnan(expected).any() == (kind == "population")
    np.testing.assert_allclose(LiraOffline().scores(view, "logit", kind, rng), expected, rtol=1e-7, atol=1e-12)


def test_unknown_membership_is_on_no_side(make_view: MakeView, rng: Generator) -> None:
    view = make_view(models=9)
    given = view.references["population"]
    codes = given.member.copy()
    codes[2:4] = -1
    partly = replace(view, references={"population": References(given.log_p, codes)})
    without = replace(view, references={
        "population": References(np.delete(given.log_p, [2, 3], axis=0), np.delete(codes, [2, 3], axis=0))})
    for attack in (Lira(), LiraFixed(), LiraOffline()):
        np.testing.assert_allclose(attack.scores(partly, "logit", "population", rng),
                                   attack.scores(without, "logit", "population", rng))


def test_references_that_agree_give_a_finite_score_without_noise(rng: Generator) -> None:
    """Means of three and of eleven equal numbers differ in the last bit, and so does a deviation from zero."""
    n, own = 200, np.random.default_rng(0).uniform(5, 15, 200)
    lower = own - np.where(np.arange(n) % 2, 0.2, 0.0)

    member = np.repeat([1, 0], [3, 11])[:, None].repeat(n, axis=1).astype(np.int8)
    references = References(of(np.tile(own, (14, 1))), member)
    view = View(of(lower), np.ones(n, dtype=np.int64), {"population": references}, np.zeros(0, np.int64), np.arange(n))
    same = np.arange(n) % 2 == 0
    scores = Lira().scores(view, "logit", "population", rng)
    assert np.isfinite(scores).all()
    assert np.abs(scores[same]).max() < 1e-3
    offline = LiraOffline().scores(view, "logit", "population", rng)
    assert np.isfinite(offline).all()
    np.testing.assert_allclose(offline[same], math.log(0.5), atol=1e-3)
    assert offline[~same].max() < -1e6


def test_too_few_models_everywhere_is_said(make_view: MakeView) -> None:
    view = make_view(models=1)
    assert Lira().requirements(view, "population") == (
        "it needs, of the population references of an example, at least 2 that trained on it and 2 that did not "
        "train on it, and no judged example has them")
    assert "at least 2 that did not" in (LiraOffline().requirements(view, "population") or "")
    assert Lira().requirements(view, "neutral") == "it works with population references and was asked for neutral"
