from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from tests.audit.membership.conftest import MakeView

from discreet.audit.membership.attack import References, View
from discreet.audit.membership.attacks import probe
from discreet.audit.membership.attacks.probe import Probe, features
from discreet.audit.scores.table import ReferenceKind


def one_row(log_p: np.ndarray, y: int) -> list[float]:
    p = [math.exp(v) for v in log_p]
    others = [v for k, v in enumerate(p) if k != y]
    rank = sum(v > p[y] for v in p)
    return [*p, -sum(v * math.log(v) for v in p), max(p), rank, p[y] - max(others)]


@pytest.mark.parametrize("classes", [2, 5])
def test_features_are_the_papers(make_view: MakeView, classes: int) -> None:
    view = make_view(classes=classes)
    expected = [np.mean([one_row(view.target[i, q], y) for q in range(2)], axis=0) for i, y in enumerate(view.label)]
    np.testing.assert_allclose(features(view.target, view.label), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["population", "paired"])
def test_it_is_scalers_and_regressions_on_the_rows_that_may_be_used(make_view: MakeView, rng: Generator,
                                                                    kind: ReferenceKind) -> None:
    view = make_view(n=80)
    references, rows, truth = view.references[kind], [], []
    for r in range(len(references.member)):
        for i in range(80):
            if kind == "paired" or i not in view.judged:
                rows.append(np.mean([one_row(references.log_p[r, i, q], view.label[i]) for q in range(2)], axis=0))
                truth.append(references.member[r, i] == 1)
    scaler = StandardScaler().fit(rows)
    fitted = LogisticRegression(max_iter=1_000).fit(scaler.transform(rows), truth)
    expected = fitted.decision_function(scaler.transform(features(view.target, view.label)))
    np.testing.assert_allclose(Probe().scores(view, "p", kind, rng), expected, rtol=1e-3, atol=1e-4)


def test_many_rows_are_thinned(make_view: MakeView, monkeypatch: pytest.MonkeyPatch) -> None:
    view = make_view(n=400)
    whole = Probe().scores(view, "p", "population", np.random.default_rng(1))
    monkeypatch.setattr(probe, "MAX_ROWS", 300)
    thinned = [Probe().scores(view, "p", "population", np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert np.array_equal(thinned[0], thinned[1])
    assert not np.array_equal(thinned[0], thinned[2])
    assert not np.array_equal(thinned[0], whole)


def test_the_draw_does_not_depend_on_the_order_of_the_table(make_view: MakeView,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "MAX_ROWS", 300)
    view = make_view(n=400)
    given, order = view.references["population"], np.random.default_rng(2).permutation(400)
    place = np.argsort(order)
    moved = View(view.target[order], view.label[order],
                 {"population": References(given.log_p[:, order], given.member[:, order])}, place[view.population],
                 place[view.judged])
    one, other = (Probe().scores(each, "p", "population", np.random.default_rng(1)) for each in (view, moved))
    np.testing.assert_allclose(one[order], other, rtol=1e-12)


def test_what_is_missing_is_said(make_view: MakeView) -> None:
    view = make_view(n=40)
    assert Probe().requirements(view, "population") is None
    assert Probe().requirements(view, "paired") is None
    assert Probe().requirements(view, "neutral") == (
        "it needs 10 member and 10 non-member scores of neutral references outside the judged rows "
        "and there are 0 and 60")
    judged = replace(view, judged=np.arange(40))
    assert "there are 0 and 0" in (Probe().requirements(judged, "population") or "")
    assert Probe().requirements(judged, "paired") is None


def test_it_imports_without_scikit_learn_and_says_what_is_missing() -> None:
    program = """
import sys
sys.modules["sklearn"] = None
import numpy as np
from discreet.audit.membership.attacks.probe import Probe
from discreet.audit.membership.attack import References, View
from discreet.core.errors import MissingExtraError
log_p = np.full((30, 1, 2), np.log(0.5))
view = View(log_p, np.zeros(30, dtype=np.int64),
            {"paired": References(log_p[None], (np.arange(30)[None] % 2).astype(np.int8))},
            np.zeros(0, dtype=np.int64), np.arange(30))
try:
    Probe().scores(view, "p", "paired", np.random.default_rng(0))
except MissingExtraError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "the probe attack needs the package 'sklearn'" in ran.stdout
