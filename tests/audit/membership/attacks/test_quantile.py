from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from tests.audit.membership.conftest import MakeView
from tests.audit.membership.scenes import sure

from discreet.audit.membership.attack import References, View
from discreet.audit.membership.attacks import quantile
from discreet.audit.membership.attacks.quantile import MIN_ROWS, Quantile
from discreet.core.types import FloatArray


def pinball(line: FloatArray, x: FloatArray, y: FloatArray, level: float) -> float:
    away = y - x @ line
    return float(np.where(away > 0, level * away, (level - 1) * away).sum())


def line_of(x: FloatArray, y: FloatArray, level: float) -> FloatArray:
    """The line with the least pinball loss, among all that go through as many points as it has coefficients: one of
    them is optimal, since the loss is a linear program."""
    k, found = x.shape[1], []
    for rows in itertools.combinations(range(len(x)), k):
        if abs(np.linalg.det(x[list(rows)])) > 1e-9:
            line = np.linalg.solve(x[list(rows)], y[list(rows)])
            found.append((pinball(np.asarray(line, np.float64), x, y, level), tuple(line)))
    return np.array(min(found)[1])


def test_it_is_the_best_of_all_lines(make_view: MakeView, rng: Generator) -> None:
    view = make_view(n=120, queries=1, classes=2)
    log_odds = view.target[:, 0, 1] - view.target[:, 0, 0]
    sign = np.where(view.label == 1, 1.0, -1.0)
    given = view.references["population"]
    of_references = sign * (given.log_p[:, :, 0, 1] - given.log_p[:, :, 0, 0])
    about = np.array([np.mean(of_references[given.member[:, row] == 0, row]) for row in range(120)])
    x, y = np.column_stack([np.ones(120), about, view.label]).astype(float), sign * log_odds
    # Every third population record, so that all lines through three of them can be tried.
    few = view.population[::3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantile, "MIN_ROWS", 10)
        scores = Quantile().scores(replace(view, population=few), "logit", "population", rng)
    middle, upper = (x @ line_of(x[few], y[few], level) for level in (0.5, 0.9))
    width = np.maximum(upper - middle, 0.1 * np.median((upper - middle)[few]))
    np.testing.assert_allclose(scores, (y - middle) / width, rtol=1e-7, atol=1e-9)


def test_what_the_target_says_of_judged_rows_teaches_nothing(make_view: MakeView, rng: Generator) -> None:
    view = make_view(n=160)
    target = view.target.copy()
    target[view.judged[5:]] = np.log(1 / 3)
    one, other = (Quantile().scores(each, "logit", "population", rng) for each in (view, replace(view, target=target)))
    np.testing.assert_array_equal(one[view.judged[:5]], other[view.judged[:5]])


def test_few_population_records_are_said(make_view: MakeView) -> None:
    view = make_view(n=160)
    assert Quantile().requirements(view, "population") is None
    few = replace(view, population=view.population[: MIN_ROWS - 1])
    assert Quantile().requirements(few, "population") == (
        "it needs 50 population records that nobody judges and some population reference did not train on, and there "
        "are 49")
    seen = view.references["neutral"]
    assert "there are 0" in sure(Quantile().requirements(replace(view, references={"neutral": References(
        seen.log_p, np.where(np.isin(np.arange(160), view.population), 1, seen.member).astype(np.int8))}), "neutral"))


def test_a_target_that_scored_too_few_population_records_scores_nothing(make_view: MakeView, rng: Generator) -> None:
    view: View = make_view(n=160)
    target = view.target.copy()
    target[view.population[: view.population.size - MIN_ROWS + 1]] = np.nan
    assert np.isnan(Quantile().scores(replace(view, target=target), "logit", "population", rng)).all()


def test_many_rows_are_thinned_whatever_their_order(make_view: MakeView, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile, "MAX_ROWS", 60)
    view = make_view(n=300)
    given, order = view.references["population"], np.random.default_rng(2).permutation(300)
    place = np.argsort(order)
    moved = View(view.target[order], view.label[order],
                 {"population": References(given.log_p[:, order], given.member[:, order])}, place[view.population],
                 place[view.judged])
    one, other = (Quantile().scores(each, "logit", "population", np.random.default_rng(1)) for each in (view, moved))
    np.testing.assert_allclose(one[order], other, rtol=1e-9)


def test_quantiles_that_cross_divide_by_no_zero(make_view: MakeView, rng: Generator,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    class Crossing:
        def __init__(self, level: float) -> None:
            self.level = level

        def predict(self, about: FloatArray) -> FloatArray:
            # The upper one is below the middle one, and at the middle one for one record in four.
            away = 0.0 if self.level == quantile.QUANTILES[0] else np.where(np.arange(len(about)) % 4, -1.0, 0.0)
            return about[:, 0] + away

    monkeypatch.setattr(quantile, "_quantile", lambda _about, _own, level: Crossing(level))
    with np.errstate(all="raise"):
        scores = Quantile().scores(make_view(n=160), "logit", "population", rng)
    assert np.isfinite(scores).all()
