from __future__ import annotations

from dataclasses import replace
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from discreet.audit.labels.attacker_view import References, View
from discreet.audit.labels.attacks.lira import FITS, LiraLabel, common, log_odds, moments
from discreet.core.arrays import log_softmax


def phi(log_p: np.ndarray) -> np.ndarray:
    return np.asarray(log_p - np.log1p(-np.exp(log_p)))


def sides(references: References, row: int, k: int) -> tuple[list[float], list[float]]:
    inside: list[float] = []
    outside: list[float] = []
    for log_p, label in zip(references.log_p, references.label, strict=True):
        (inside if label[row] == k else outside).append(float(phi(log_p[row, k])))
    return inside, outside


def pooled(references: References) -> tuple[float, float, float]:
    """Shift and the two deviations, cell by cell."""
    shifts, weights, squares, free = [], [], [0.0, 0.0], [0, 0]
    for row in range(references.log_p.shape[1]):
        for k in range(references.log_p.shape[2]):
            both = sides(references, row, k)
            for side, values in enumerate(both):
                if len(values) > 1:
                    squares[side] += len(values) * pstdev(values) ** 2
                    free[side] += len(values) - 1
            if all(both):
                shifts.append(fmean(both[0]) - fmean(both[1]))
                weights.append(1 / (1 / len(both[0]) + 1 / len(both[1])))
    shift = sum(s * w for s, w in zip(shifts, weights, strict=True)) / sum(weights)
    return shift, (squares[0] / free[0]) ** 0.5, (squares[1] / free[1]) ** 0.5


def slow_score(view: View, row: int, k: int, fit: str, spread: tuple[float, float, float]) -> float | None:
    assert view.references is not None
    inside, outside = sides(view.references, row, k)
    value, (shift, std_in, std_out) = float(phi(view.log_p[row, k])), spread
    if fit == "own":
        if min(len(inside), len(outside)) < 2:
            return None
        return float(norm.logpdf(value, fmean(inside), pstdev(inside)) - norm.logpdf(value, fmean(outside),
                                                                                     pstdev(outside)))
    if fit == "offline":
        return None if len(outside) < 2 else (value - fmean(outside)) / pstdev(outside)
    if not outside or (fit == "pooled" and not inside):
        return None
    mean_in = fmean(inside) if fit == "pooled" else fmean(outside) + shift
    return float(norm.logpdf(value, mean_in, std_in) - norm.logpdf(value, fmean(outside), std_out))


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(("classes", "models"), [(2, 7), (3, 12)])
def test_as_an_obvious_loop(make_view: Any, fit: Any, classes: int, models: int) -> None:
    view = make_view(n=30, classes=classes, models=models)
    found = LiraLabel(fit).guess(view)
    spread = pooled(view.pool)
    for row in range(30):
        scores = [slow_score(view, row, k, fit, spread) for k in range(classes)]
        known = [score for score in scores if score is not None]
        if len(known) < classes:
            assert (found.label[row], found.confidence[row]) == (-1, 0.0)
            continue
        assert found.label[row] == int(np.argmax(known))
        assert found.confidence[row] == pytest.approx(sorted(known)[-1] - sorted(known)[-2])
    assert found.made.sum() > 5
    if fit == "own":
        assert found.made.sum() < 30


def test_the_pool_is_where_deviations_come_from(make_view: Any) -> None:
    view = make_view(n=30)
    assert common(moments(view.pool)) == pytest.approx(pooled(view.pool))
    given, alone, own = (LiraLabel("shift").guess(replace(view, pool=pool)).confidence.tolist()
                         for pool in (view.pool, None, view.references))
    assert alone == own != given


@pytest.mark.parametrize("classes", [2, 5])
def test_log_odds(classes: int) -> None:
    log_p = log_softmax(np.random.default_rng(0).normal(0, 3, (50, classes)))
    assert log_odds(log_p) == pytest.approx(phi(log_p))
    sure = log_softmax(np.where(np.arange(classes) == 0, 60.0, 0.0)[None])
    assert log_odds(sure)[0] == pytest.approx([60.0 - np.log(classes - 1), *[-60.0] * (classes - 1)])


def test_references_that_saturate_are_no_trouble(make_view: Any) -> None:
    view = make_view(n=6, classes=2, models=8)
    label = np.tile(np.arange(8)[:, None] % 2, (1, 6))
    same = log_softmax(np.where(label[..., None] == np.arange(2), 50.0, 0.0))
    references = References(view.references.names, same, label)
    for fit in FITS:
        found = LiraLabel(fit).guess(View(view.log_p, references, references))
        assert np.isfinite(found.confidence).all()
        assert found.made.all()


@pytest.mark.parametrize("fit", FITS)
def test_what_it_needs(make_view: Any, fit: Any) -> None:
    attack = LiraLabel(fit)
    assert attack.needs(make_view(n=30)) is None
    assert attack.needs(make_view(models=0)) == "it needs references with draws of their own and none were brought"
    one = make_view(n=30, models=1)
    clause = attack.needs(one)
    assert clause is not None
    assert clause.startswith("it needs ")
    assert "\n" not in clause
    with pytest.raises(ValueError, match="does not suffice"):
        attack.guess(one)


def test_references_that_never_saw_the_row_serve_two_of_the_fits(make_view: Any) -> None:
    """As for controls that no reference was trained on either."""
    view = make_view(n=30, classes=2)
    away = replace(view, references=replace(view.references, label=np.full_like(view.references.label, -1)))
    assert [LiraLabel(fit).needs(away) is None for fit in FITS] == [False, False, True, True]
    with pytest.raises(ValueError, match="fit is 'best'"):
        LiraLabel("best")  # type: ignore[arg-type]
