"""The solver against libsvm, and against the conditions that define the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from discreet.guard.density import one_class
from discreet.guard.density.base import TooFewRowsError, median_gamma
from discreet.guard.density.one_class import NUS, TIE, GramRows, OneClassDual, solve, sweep_nu


def _data(n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, min(d, 10))) @ rng.standard_normal((min(d, 10), d)) + rng.standard_normal((n, d))


def _case(n: int, d: int) -> tuple[np.ndarray, float]:
    x = _data(n, d)
    return x, median_gamma(x, np.random.default_rng(0))


def _decision(dual: OneClassDual) -> np.ndarray:
    return dual.gradient - dual.rho


# With ν·n a whole number every row may be at a bound, and ρ is then any number of an interval.
@pytest.mark.parametrize("nu", [0.003, 0.021, 0.21, 0.71])
@pytest.mark.parametrize(("n", "d"), [(40, 3), (400, 5), (900, 60)])
def test_the_decision_function_is_libsvms(n: int, d: int, nu: float) -> None:
    x, gamma = _case(n, d)
    dual = solve(GramRows(x, gamma), nu, tol=1e-7)
    peer = OneClassSVM(gamma=gamma, nu=nu, tol=1e-8).fit(x)
    assert dual.converged
    np.testing.assert_allclose(_decision(dual), peer.decision_function(x), atol=2e-6, rtol=0)


def test_the_conditions_of_the_optimum_hold() -> None:
    (x, gamma), nu = _case(600, 8), 0.1
    dual = solve(GramRows(x, gamma), nu, tol=1e-6)
    gram = np.exp(-gamma * ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2))
    np.testing.assert_allclose(dual.gradient, gram @ dual.alpha, atol=1e-9)
    assert dual.alpha.sum() == pytest.approx(nu * 600, abs=1e-9)
    assert 0.0 <= dual.alpha.min() <= dual.alpha.max() <= 1.0
    decision = _decision(dual)
    assert decision[dual.alpha == 0.0].min() > -2e-6
    assert decision[dual.alpha == 1.0].max() < 2e-6
    assert np.abs(decision[(dual.alpha > 0.0) & (dual.alpha < 1.0)]).max() < 2e-6


def test_rows_left_out_are_scored_and_do_not_count() -> None:
    x, gamma = _case(500, 6)
    members = np.random.default_rng(1).random(500) < 0.7
    dual = solve(GramRows(x, gamma), 0.05, members=members, tol=1e-7)
    peer = OneClassSVM(gamma=gamma, nu=0.05, tol=1e-8).fit(x[members])
    assert (dual.alpha[~members] == 0.0).all()
    np.testing.assert_allclose(_decision(dual)[~members], peer.decision_function(x[~members]), atol=2e-6)


@pytest.mark.parametrize("before", [0.01, 0.4])
def test_a_start_changes_the_way_and_not_the_end(before: float) -> None:
    kernel = GramRows(*_case(500, 6))
    members = np.arange(500) % 5 != 0
    start = solve(kernel, before).alpha
    cold = solve(kernel, 0.1, members=members, tol=1e-7)
    warm = solve(kernel, 0.1, members=members, tol=1e-7, start=start)
    np.testing.assert_allclose(_decision(warm), _decision(cold), atol=1e-6)


def test_a_cache_that_overflows_finds_the_same() -> None:
    x, gamma = _case(700, 40)
    free = solve(GramRows(x, gamma), 0.3, tol=1e-6)
    tight = solve(GramRows(x, gamma, capacity=100 * 700 * 8), 0.3, tol=1e-6)
    assert tight.converged
    np.testing.assert_allclose(_decision(tight), _decision(free), atol=1e-5)


def test_single_precision_rows_reach_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    x, gamma = _case(1500, 30)
    double = solve(GramRows(x, 0.3 * gamma), 0.5, tol=1e-4)
    monkeypatch.setattr(one_class, "FULL_PRECISION_ROWS", 10)
    kernel = GramRows(x, 0.3 * gamma)
    single = solve(kernel, 0.5, tol=1e-4)
    assert kernel.row(0).dtype == np.float32
    assert single.converged
    # Steep kernels are computed in double precision.
    x[0] += 1e4
    assert (GramRows(x, 1.0).dtype, GramRows(x[1:], 0.01).dtype) == (np.float64, np.float32)
    # Σα is 750: a hundred-thousandth of it is what single precision leaves.
    np.testing.assert_allclose(_decision(single), _decision(double), atol=5e-4)


def test_all_rows_at_the_bound_and_rows_that_coincide() -> None:
    x = np.repeat(_data(10, 3), 6, axis=0)
    everything = solve(GramRows(x, 0.5), 1.0)
    assert (everything.alpha == 1.0).all()
    assert everything.converged
    some = solve(GramRows(x, 0.5), 0.2, tol=1e-6)
    peer = OneClassSVM(gamma=0.5, nu=0.2, tol=1e-8).fit(x)
    np.testing.assert_allclose(_decision(some), peer.decision_function(x), atol=2e-6)


def test_cross_sums_are_kernel_sums() -> None:
    x, y = _data(50, 4), _data(700, 4, 1)
    weights = np.random.default_rng(2).random((50, 3)) * (np.arange(50) % 2)[:, None]
    slow = np.exp(-0.2 * ((y[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)) @ weights
    np.testing.assert_allclose(GramRows(x, 0.2).cross(y, weights), slow, atol=1e-9)


def _sides(n_safe: int, n_unsafe: int, seed: int, outliers: float = 0.015) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes in few dimensions, a share of each far out, so that ν matters."""
    rng = np.random.default_rng(seed)
    sides = []
    for n, centre in ((n_safe, 0.0), (n_unsafe, 1.2)):
        sides.append(rng.standard_normal((n, 4)) + centre)
        sides[-1][: int(outliers * n)] = 4.0 * rng.standard_normal((int(outliers * n), 4))
    return sides[0], sides[1]


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
@pytest.mark.parametrize(("n_safe", "n_unsafe", "seed", "expected"), [
    (300, 300, 0, 0.005), (150, 500, 1, None), (600, 200, 2, None), (400, 400, 5, 0.05)])
def test_it_chooses_as_a_plain_loop_does(n_safe: int, n_unsafe: int, seed: int, expected: float | None,
                                         normalised: bool) -> None:
    safe, unsafe = _sides(n_safe, n_unsafe, seed)
    nu, table = _plainly(safe, unsafe, seed, normalised=normalised)
    found = sweep_nu(safe, unsafe, rng=np.random.default_rng(seed), normalised=normalised)
    np.testing.assert_allclose(found.auroc, table, atol=0.002)
    assert found.nu == nu
    assert found.converged
    # Different data choose different ν.
    assert expected in (None, nu) or not normalised


def test_of_equals_the_smallest_wins() -> None:
    rng = np.random.default_rng(0)
    safe, unsafe = rng.standard_normal((60, 3)), rng.standard_normal((60, 3)) + 50.0
    found = sweep_nu(safe, unsafe, rng=rng, nus=(0.01, 0.02, 0.05))
    assert found.mean == {0.01: 1.0, 0.02: 1.0, 0.05: 1.0}
    assert found.nu == 0.01


def test_above_the_limit_rows_are_drawn() -> None:
    safe, unsafe = _sides(350, 250, 3)
    rng = np.random.default_rng(3)
    kept = [np.sort(rng.permutation(n)[:200]) for n in (350, 250)]
    by_hand = sweep_nu(safe[kept[0]], unsafe[kept[1]], rng=rng)
    found = sweep_nu(safe, unsafe, rng=np.random.default_rng(3), most_rows=200)
    assert np.array_equal(found.auroc, by_hand.auroc)


def test_each_side_may_see_the_rows_in_its_own_way() -> None:
    safe, unsafe = _sides(350, 250, 3)
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((safe.shape[1],) * 2))[0]
    plain = sweep_nu(safe, unsafe, rng=np.random.default_rng(3), most_rows=200)
    turned = sweep_nu(safe @ turn, unsafe, others=(unsafe @ turn, safe), rng=np.random.default_rng(3), most_rows=200)
    np.testing.assert_allclose(turned.auroc, plain.auroc, atol=2e-3)


def test_few_rows_make_fewer_folds_and_too_few_none() -> None:
    rng = np.random.default_rng(0)
    assert sweep_nu(*_sides(6, 40, 0), rng=rng).auroc.shape == (4, 3)
    with pytest.raises(TooFewRowsError, match="n_samples=3 rows: at least 4"):
        sweep_nu(*_sides(3, 40, 0), rng=rng)
