from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import chi, kstest, spearmanr

from discreet.guard.density.base import Density, DensityOptions
from discreet.guard.density.densities.ocsvm import OneClassSvm
from discreet.guard.density.densities.rff import RandomFeatures, RandomFourier, chi_lengths, walsh_hadamard
from discreet.stats import auroc

# Written down once: a saved guard holds the seed only, so these numbers must never change.
PINNED = [-0.1914556562702444, -0.4999507343968356, -0.4109400889779158, 0.34280776653726214, 0.46189255426141046,
          0.007018773116770911, 0.284830200770253, -0.3639819160366816]


@pytest.mark.parametrize("p", [2, 64, 512])
def test_the_fast_transform_is_the_matrix(p: int) -> None:
    x = np.random.default_rng(0).standard_normal((5, p))
    np.testing.assert_allclose(walsh_hadamard(x.copy()), x @ hadamard(p), atol=1e-10)


def test_lengths_are_those_of_gaussian_vectors() -> None:
    words = np.asarray(np.random.Philox(3).random_raw(40_000), dtype=np.uint64)
    assert kstest(chi_lengths(words, 64), chi(64).cdf).pvalue > 0.001


@pytest.mark.parametrize("d", [1, 2, 12, 100])
def test_features_are_an_unbiased_kernel_with_less_error_than_independent_rows(d: int) -> None:
    x = np.random.default_rng(d).standard_normal((80, d))
    gamma, m, draws = 0.5 / d, 512, 40
    true = np.exp(-gamma * ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2))
    maps = (RandomFeatures(seed, gamma, d, m).transform(x) for seed in range(draws))
    errors = np.stack([z @ z.T for z in maps]) - true
    apart = np.triu_indices(80, 1)
    mean_square = (errors[:, apart[0], apart[1]] ** 2).mean()
    # The mean of 40 draws has a fortieth of the variance, and more if the draws shared a bias.
    assert (errors.mean(axis=0)[apart] ** 2).mean() < 2.0 * mean_square / draws
    independent = ((1.0 - true[apart] ** 2) ** 2 / (2.0 * m)).mean()
    assert mean_square < 0.8 * independent


def test_rows_have_length_one_and_depend_on_themselves_alone() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.standard_normal((70, 37)), 1e8 * rng.standard_normal((3, 37)), np.zeros((1, 37))])
    features = RandomFeatures(9, 0.3, 37, 200)
    batch = features.transform(x)
    np.testing.assert_allclose((batch**2).sum(axis=1), 1.0, atol=1e-12)
    assert np.array_equal(np.concatenate([features.transform(row[None, :]) for row in x]), batch)


def test_a_seed_is_a_feature_map_for_good() -> None:
    found = RandomFeatures(12345, 0.7, 3, 4).transform(np.array([[0.5, -1.0, 2.0]]))[0]
    np.testing.assert_allclose(found, PINNED, atol=1e-12)
    other = RandomFeatures(12346, 0.7, 3, 4).transform(np.array([[0.5, -1.0, 2.0]]))[0]
    assert np.abs(other - found).max() > 0.01


def test_one_seed_is_one_matrix_for_every_gamma() -> None:
    x = np.random.default_rng(2).standard_normal((5, 8))
    wide, narrow = RandomFeatures(1, 0.1, 8, 64), RandomFeatures(1, 0.4, 8, 64)
    np.testing.assert_allclose(wide.transform(2.0 * x), narrow.transform(x), atol=1e-12)


def _class(n: int, seed: int, which: int, d: int = 96) -> np.ndarray:
    fixed = np.random.default_rng(100 + which)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 12)) @ fixed.standard_normal((12, d)) + 2.0 * rng.standard_normal((n, d)) + 1.0
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _normalised(kind: type[Density], x: np.ndarray, new: np.ndarray, **options: Any) -> np.ndarray:
    return kind.fit(x, DensityOptions(**options), rng=np.random.default_rng(0)).normalised(new)


NEW = np.concatenate([_class(300, 2, 0), _class(300, 3, 1)])


@pytest.mark.parametrize("nu", [0.02, 0.2])
def test_scores_rank_as_those_of_the_one_class_svm(nu: float) -> None:
    x = _class(600, 1, 0)
    exact, ours = _normalised(OneClassSvm, x, NEW, nu=nu), _normalised(RandomFourier, x, NEW, nu=nu, seed=7)
    assert spearmanr(exact, ours).statistic > 0.97
    np.testing.assert_allclose(ours, exact, atol=0.03)


def test_more_frequencies_are_nearer() -> None:
    x = _class(400, 1, 0)
    exact = _normalised(OneClassSvm, x, NEW, nu=0.1)
    errors = [np.sqrt(np.mean([
        (_normalised(RandomFourier, x, NEW, nu=0.1, n_frequencies=m, seed=s) - exact) ** 2 for s in range(4)
    ])) for m in (128, 2048)]
    # The error falls with the root of the frequencies: by 4 here.
    assert errors[0] / errors[1] > 2.5


def test_shared_frequencies_cancel_in_the_difference() -> None:
    sides = [_class(600, 1, 0), _class(600, 2, 1)]
    new = np.concatenate([_class(300, 3, 0), _class(300, 4, 1)])
    exact = np.subtract(*(_normalised(OneClassSvm, x, new, nu=0.05) for x in sides))
    shared, apart = (
        np.std(np.subtract(*(_normalised(RandomFourier, x, new, nu=0.05, n_frequencies=512, seed=s)
                             for x, s in zip(sides, seeds, strict=True))) - exact) for seeds in ((1, 1), (1, 2)))
    assert shared < 0.7 * apart
    assert auroc(-exact, np.repeat([0, 1], 300)) > 0.9


def test_it_keeps_a_weight_vector_and_a_seed_whatever_the_number_of_rows() -> None:
    found = [RandomFourier.fit(_class(n, 1, 0), DensityOptions(nu=0.1, n_frequencies=256),
                               rng=np.random.default_rng(n)) for n in (50, 500)]
    assert [{n: a.shape for n, a in one.state().items()} for one in found] == [{"weights": (512,)}] * 2
    assert [one.stored_rows() for one in found] == [0, 0]
    # Where no seed is given one is drawn.
    assert found[0].seed != found[1].seed
