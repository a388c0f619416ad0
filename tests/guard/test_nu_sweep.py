from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from discreet.guard.density import TooFewRowsError, median_gamma
from discreet.guard.one_class import NUS, TIE, View, sweep_nu
from discreet.guard.typicality import Typicality


def _sides(n_safe: int, n_unsafe: int, seed: int, outliers: float = 0.015) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes in few dimensions, a share of each far out, so that ν matters."""
    rng = np.random.default_rng(seed)
    sides = []
    for n, centre in ((n_safe, 0.0), (n_unsafe, 1.2)):
        x = rng.standard_normal((n, 4)) + centre
        x[: int(outliers * n)] = 4.0 * rng.standard_normal((int(outliers * n), 4))
        sides.append(x)
    return sides[0], sides[1]


def _views(safe: np.ndarray, unsafe: np.ndarray) -> tuple[View, View]:
    return View(safe, unsafe), View(unsafe, safe)


def _plainly(safe: np.ndarray, unsafe: np.ndarray, seed: int, *, normalised: bool) -> tuple[float, np.ndarray]:
    """Twenty fits a side with scikit-learn, on the folds and widths that `sweep_nu` draws."""
    rng = np.random.default_rng(seed)
    folds = [rng.permutation(np.arange(len(x)) % 5) for x in (safe, unsafe)]
    gammas = [median_gamma(x, rng) for x in (safe, unsafe)]
    table = np.empty((len(NUS), 5))
    for i, nu in enumerate(NUS):
        for fold in range(5):
            held = np.concatenate([safe[folds[0] == fold], unsafe[folds[1] == fold]])
            labels = np.repeat([0, 1], [(f == fold).sum() for f in folds])
            sigmas = []
            for x, among, gamma in zip((safe, unsafe), folds, gammas, strict=True):
                rows = x[among != fold]
                sigma = OneClassSVM(gamma=gamma, nu=nu, tol=1e-7).fit(rows).decision_function(held)
                sigmas.append(sigma / (nu * len(rows)) if normalised else sigma)
            table[i, fold] = roc_auc_score(labels, sigmas[1] - sigmas[0])
    means = table.mean(axis=1)
    return NUS[int(np.flatnonzero(means >= means.max() - TIE)[0])], table


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize(("n_safe", "n_unsafe", "seed"), [(300, 300, 0), (150, 500, 1), (600, 200, 2), (400, 400, 5)])
def test_it_chooses_as_a_plain_loop_does(n_safe: int, n_unsafe: int, seed: int, normalised: bool) -> None:
    safe, unsafe = _sides(n_safe, n_unsafe, seed)
    nu, table = _plainly(safe, unsafe, seed, normalised=normalised)
    found = sweep_nu(*_views(safe, unsafe), rng=np.random.default_rng(seed), normalised=normalised)
    np.testing.assert_allclose(found.auroc, table, atol=0.002)
    assert found.nu == nu
    assert found.converged


def test_different_data_choose_different_nu() -> None:
    chosen = [
        sweep_nu(*_views(*_sides(n, n, seed)), rng=np.random.default_rng(seed)).nu for n, seed in ((300, 0), (400, 5))
    ]
    assert chosen == [0.005, 0.05]


def test_of_equals_the_smallest_wins() -> None:
    rng = np.random.default_rng(0)
    safe, unsafe = rng.standard_normal((60, 3)), rng.standard_normal((60, 3)) + 50.0
    found = sweep_nu(*_views(safe, unsafe), rng=rng, nus=(0.05, 0.01, 0.02))
    assert found.mean == {0.01: 1.0, 0.02: 1.0, 0.05: 1.0}
    assert found.nu == 0.01


def test_the_same_draws_choose_the_same() -> None:
    views = _views(*_sides(103, 57, 4))
    first, second = (sweep_nu(*views, rng=np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first.auroc, second.auroc)


def test_above_the_limit_rows_are_drawn() -> None:
    safe, unsafe = _sides(350, 250, 3)
    rng = np.random.default_rng(3)
    kept = [np.sort(rng.permutation(n)[:200]) for n in (350, 250)]
    by_hand = sweep_nu(*_views(safe[kept[0]], unsafe[kept[1]]), rng=rng)
    found = sweep_nu(*_views(safe, unsafe), rng=np.random.default_rng(3), most_rows=200)
    assert np.array_equal(found.auroc, by_hand.auroc)


def test_each_side_may_see_rows_in_its_own_way() -> None:
    safe, unsafe = _sides(120, 120, 5)
    sides = [Typicality.fit(x, (2, 2), np.random.default_rng(0)) for x in (safe, unsafe)]
    views = (
        View(sides[0].own(), sides[0].transform(sides[1].rows())),
        View(sides[1].own(), sides[1].transform(sides[0].rows())),
    )
    found = sweep_nu(*views, rng=np.random.default_rng(0), nus=(0.02, 0.2))
    assert found.auroc.shape == (2, 5)
    assert found.auroc.mean() > 0.6


def test_few_rows_make_fewer_folds_and_too_few_none() -> None:
    rng = np.random.default_rng(0)
    assert sweep_nu(*_views(*_sides(6, 40, 0)), rng=rng).auroc.shape == (4, 3)
    with pytest.raises(TooFewRowsError, match="n_samples=3 rows: at least 4"):
        sweep_nu(*_views(*_sides(3, 40, 0)), rng=rng)


def test_wrong_input_is_refused() -> None:
    views = _views(*_sides(20, 20, 0))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="nu is 2"):
        sweep_nu(*views, rng=rng, nus=(2.0,))
    with pytest.raises(ValueError, match="expected at least 1 and 2"):
        sweep_nu(*views, rng=rng, nus=())
    with pytest.raises(ValueError, match="expected at least 1 and 2"):
        sweep_nu(*views, rng=rng, folds=1)
    with pytest.raises(ValueError, match="other has shape"):
        sweep_nu(View(views[0].own, views[0].other[:, 1:]), views[1], rng=rng)
